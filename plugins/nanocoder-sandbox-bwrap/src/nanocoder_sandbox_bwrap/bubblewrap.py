"""The command line of bubblewrap for one session: what is seen, what may be changed."""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import (
    Inside,
    Mount,
    MountAccess,
    Settings,
    bridge,
    environments_on_path,
    hidden_places,
    listening_sockets,
)
from nanocoder_kit_sandbox.bubblewrap import (
    NO_NETWORK,
    base,
    filtered,
    lock_options,
    mount_options,
    system,
)
from nanocoder_kit_sandbox.foresight import Foresight
from nanocoder_kit_sandbox.hidden import EMPTY_PLACES
from nanocoder_kit_sandbox.leftovers import NAME_OF_SANDBOX, NOTE, telling
from nanocoder_kit_sandbox.limits import limits_of
from nanocoder_kit_sandbox.standby import Standby
from nanocoder_kit_sandbox.survey import MISSING, MISSING_REPOSITORY

if TYPE_CHECKING:
    from nanocoder_kit_sandbox.proxy import Proxy

KEPT_IN_RUN: Final = ("/run/current-system", "/run/wrappers", "/run/systemd/resolve")
"""Folders that programs and look-ups need on some systems; sockets of services are elsewhere."""
VARIABLES: Final = (
    *("--setenv", "TMPDIR", "/tmp", "--setenv", "TMP", "/tmp", "--setenv", "TEMP", "/tmp"),  # noqa: S108
    # Caches at home are not writable, and what is in them would be trusted outside.
    *("--setenv", "XDG_CACHE_HOME", "/tmp/.cache", "--setenv", "npm_config_cache", "/tmp/.npm"),  # noqa: S108
    *("--unsetenv", "XDG_RUNTIME_DIR", "--unsetenv", "DOCKER_HOST"),
)
SOCKET: Final = "/run/nanocoder.socket"
BRIDGE: Final = "/run/nanocoder.bridge.py"
PORT: Final = 3128
PROXY_VARIABLES: Final = ("http_proxy", "https_proxy", "all_proxy")


class Bubblewrap:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._settings = settings
        self._root = str(session.cwd)
        self._inside = Inside(session, settings)
        places = hidden_places(session, settings)
        own = os.path.dirname(self._inside.place.tmp)
        # Here are the pipes to the sandbox that is ready; a place that is read-only has them work.
        is_seen = not own.startswith(tuple(f"{place}/" for place in EMPTY_PLACES))
        hidden = (*places, own) if is_seen else places
        self._hidden = [self._inside.hidden(path) for path in hidden]
        self._apart = (*places, self._root, own)
        self._filter = self._inside.place.tmp.with_suffix(".filter")
        self._proxy: Proxy | None = None
        self._starting = threading.Lock()
        # Where nanocoder is installed may be hidden inside; the interpreter is of the system.
        self._python = os.path.realpath(sys.executable)
        self._standby = Standby(self._python, self._inside.place.tmp.with_suffix(".rules"))
        self._foresight = Foresight(self._prepare)

    def wrap(
        self,
        argv: Sequence[str],
        ports: Sequence[int],  # noqa: ARG002
        access: Access,  # noqa: ARG002
    ) -> list[str]:
        """Return the argument vector that runs *argv* inside; raises ToolError."""
        mounts, place = self._inside.mounts(), self._inside.place
        names = [mount for mount in mounts if mount.access is MountAccess.HELD]
        described = self._described(mounts)
        fresh = [
            *filtered(self._filter),
            *described["options"],
            *mount_options(names),
            *lock_options(place.lock),
            "--",
            *described["bridge"],
            *telling(argv, self._settings),
        ]
        relative = [mount.path.removeprefix(f"{self._root}/") for mount in names]
        return self._standby.through(described, relative, len(argv), fresh)

    def _options(self, mounts: Iterable[Mount]) -> Iterator[str]:
        """Yield the options of a sandbox, but for what is there only while a command runs."""
        if not self._settings.network:
            yield NO_NETWORK
        yield from system()
        yield from _repeated("--ro-bind-try", KEPT_IN_RUN)
        yield from ("--bind", str(self._inside.place.tmp), "/tmp")  # noqa: S108
        # Before the workspace: what a command left in its /tmp leads these over nothing of it.
        yield from _repeated("--ro-bind-try", environments_on_path(self._apart))
        yield from ("--bind", self._root, self._root)
        yield from self._writable()
        yield from mount_options(mounts)
        yield from mount_options(self._hidden)
        yield from mount_options(self._sockets())
        yield from VARIABLES
        yield from self._way_out()

    def _described(self, mounts: list[Mount]) -> dict[str, Any]:
        """Describe a sandbox with *mounts* as `standby_attendant` makes it ahead."""
        has_filter = filtered(self._filter) != [*base()]
        bridge = self._bridge if self._settings.hosts and not self._settings.network else ()
        return {
            "base": base(),
            "filter": str(self._filter) if has_filter else "",
            "options": [
                *self._options(each for each in mounts if each.access is not MountAccess.HELD)
            ],
            "lock": str(self._inside.place.lock),
            "root": self._root,
            "most_names": len((*MISSING, *MISSING_REPOSITORY)),
            "bridge": bridge,
            "limits": limits_of(self._settings),
            "python": self._python,
            "note": NOTE.encode(),
            "sandbox": NAME_OF_SANDBOX.encode(),
        }

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each."""
        lines = self._inside.changes()
        if self._standby.is_used:
            self._standby.prepare()
            self._foresight.wake()
        return lines

    def foresee(self) -> None:
        """Have a sandbox made for the next command, in a moment; no error is raised."""
        self._foresight.wake()

    def _prepare(self) -> None:
        """Have a sandbox made for the next command, as the workspace is now."""
        self._standby.prepare(self._described(self._inside.foresee()))

    def close(self) -> None:
        """Remove the session's /tmp, and what is held in the workspace."""
        self._foresight.close()
        if self._proxy is not None:
            self._proxy.close()
        self._standby.close()
        self._inside.close()

    def _way_out(self) -> Iterator[str]:
        """Show the proxy inside, if there are hosts that may be reached."""
        if not self._settings.hosts or self._settings.network:
            return
        with self._starting:
            if self._proxy is None:
                from nanocoder_kit_sandbox.proxy import Proxy  # it brings the network's kit

                settings = self._settings
                self._proxy = Proxy(self._inside.place.socket, settings.hosts, settings.addresses)
        yield from ("--ro-bind", str(self._inside.place.socket), SOCKET)
        yield from ("--ro-bind", bridge.__file__, BRIDGE)
        address = f"http://127.0.0.1:{PORT}"
        for name in PROXY_VARIABLES:
            yield from ("--setenv", name, address, "--setenv", name.upper(), address)
        for name in ("no_proxy", "NO_PROXY"):
            yield from ("--setenv", name, "localhost,127.0.0.1")

    @property
    def _bridge(self) -> tuple[str, ...]:
        return (self._python, "-I", "-S", BRIDGE, SOCKET, str(PORT))

    def _sockets(self) -> list[Mount]:
        """Hide the sockets of services: what is shown read-only can still be connected to."""
        # With the network of this machine those in the workspace may be of programs inside.
        besides = (self._root,) if self._settings.network else ()
        return [self._inside.hidden(path) for path in listening_sockets(besides)]

    def _writable(self) -> Iterator[str]:
        for name in self._settings.writable:
            path = os.path.realpath(Path(name).expanduser()) if name[:1] in "/~" else ""
            if path and not self._root.startswith(f"{path}/"):
                yield from ("--bind-try", path, path)


def _repeated(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)
