"""The command line of bubblewrap for one session: what is seen, what may be changed."""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanocoder import SessionInfo
from nanocoder_kit_sandbox import (
    Inside,
    Mount,
    Settings,
    bridge,
    environments_on_path,
    hidden_places,
    listening_sockets,
)
from nanocoder_kit_sandbox.bubblewrap import (
    NO_NETWORK,
    filtered,
    lock_options,
    mount_options,
    system,
)
from nanocoder_kit_sandbox.leftovers import telling

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
        self._hidden = [self._inside.hidden(path) for path in places]
        self._apart = (*places, self._root, os.path.dirname(self._inside.place.tmp))
        self._filter = self._inside.place.tmp.with_suffix(".filter")
        self._proxy: Proxy | None = None
        self._starting = threading.Lock()

    def wrap(self, argv: Sequence[str], ports: Sequence[int]) -> list[str]:  # noqa: ARG002
        """Return the argument vector that runs *argv* inside; raises ToolError."""
        mounts, place = self._inside.mounts(), self._inside.place
        return [
            *filtered(self._filter),
            *(() if self._settings.network else (NO_NETWORK,)),
            *system(),
            *_repeated("--ro-bind-try", KEPT_IN_RUN),
            *("--bind", str(place.tmp), "/tmp"),  # noqa: S108
            # Before the workspace: what a command left in its /tmp leads these over nothing of it.
            *_repeated("--ro-bind-try", environments_on_path(self._apart)),
            *("--bind", self._root, self._root),
            *self._writable(),
            *mount_options(mounts),
            *mount_options(self._hidden),
            *mount_options(self._sockets()),
            *lock_options(place.lock),
            *VARIABLES,
            *self._way_out(),
            "--",
            *(self._bridge if self._settings.hosts and not self._settings.network else ()),
            *telling(argv, self._settings),
        ]

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each."""
        return self._inside.changes()

    def close(self) -> None:
        """Remove the session's /tmp, and what is held in the workspace."""
        if self._proxy is not None:
            self._proxy.close()
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
        # Where nanocoder is installed may be hidden inside; the interpreter is of the system.
        return (os.path.realpath(sys.executable), "-I", "-S", BRIDGE, SOCKET, str(PORT))

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
