"""The command line of bubblewrap for one session: what is seen, what may be changed."""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanocoder import SessionInfo
from nanocoder_kit_sandbox import (
    Place,
    Settings,
    Survey,
    Surveyed,
    bridge,
    hidden_places,
    limited,
)
from nanocoder_kit_sandbox.place import COMMONDIR
from nanocoder_kit_sandbox.survey import ancestors

from nanocoder_sandbox_bwrap.program import NO_NETWORK, base, system

if TYPE_CHECKING:
    from nanocoder_kit_sandbox.proxy import Proxy

LOCK: Final = "/run/nanocoder.lock"
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
UNREADABLE: Final = ("--perms", "0000", "--tmpfs")
HELD: Final = ("--perms", "0555", "--tmpfs")


class Bubblewrap:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session = session
        self._settings = settings
        self._root = str(session.cwd)
        self._place = Place(session)
        self._survey = Survey(session.cwd)
        self._hidden = hidden_places(session, settings)
        self._proxy: Proxy | None = None
        self._starting = threading.Lock()

    def wrap(self, argv: Sequence[str], ports: Sequence[int]) -> list[str]:  # noqa: ARG002
        """Return the argument vector that runs *argv* inside; raises ToolError."""
        writable = frozenset(self._settings.writable)
        names = self._survey.look(self._session.readable.now(), writable)
        names = self._place.without_held(names)
        self._place.hold(names.missing, git=names.git)
        return [
            *base(),
            *(() if self._settings.network else (NO_NETWORK,)),
            *system(),
            *_repeated("--ro-bind-try", KEPT_IN_RUN),
            *("--bind", str(self._place.tmp), "/tmp"),  # noqa: S108
            *("--bind", self._root, self._root),
            *self._writable(),
            *self._protected(names),
            *self._unreadable(names),
            *("--ro-bind", str(self._place.lock), LOCK, "--lock-file", LOCK),
            *VARIABLES,
            *self._way_out(),
            "--",
            *(self._bridge if self._settings.hosts and not self._settings.network else ()),
            *limited(list(argv), self._settings),
        ]

    def close(self) -> None:
        """Remove the session's /tmp, and what is held in the workspace."""
        if self._proxy is not None:
            self._proxy.close()
        self._place.close()

    def _way_out(self) -> Iterator[str]:
        """Show the proxy inside, if there are hosts that may be reached."""
        if not self._settings.hosts or self._settings.network:
            return
        with self._starting:
            if self._proxy is None:
                from nanocoder_kit_sandbox.proxy import Proxy  # it brings the network's kit

                settings = self._settings
                self._proxy = Proxy(self._place.socket, settings.hosts, settings.addresses)
        yield from ("--ro-bind", str(self._place.socket), SOCKET)
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

    def _writable(self) -> Iterator[str]:
        for name in self._settings.writable:
            path = os.path.realpath(Path(name).expanduser()) if name[:1] in "/~" else ""
            if path and not self._root.startswith(f"{path}/"):
                yield from ("--bind-try", path, path)

    def _protected(self, names: Surveyed) -> Iterator[str]:
        """Keep what exists as it is, and where it is, and hold the names of what does not."""
        below = [f"{self._root}/{path}" for path in names.protected]
        own = [path for path in below if not os.path.islink(path)]
        # A folder above could be moved away, and another one put in its place.
        for folder in ancestors((*names.protected, *names.missing)):
            yield from _repeated("--bind", [f"{self._root}/{folder}"])
        yield from _repeated("--ro-bind", own)
        if names.git:
            yield from ("--ro-bind", str(self._place.commondir), f"{self._root}/{COMMONDIR}")
        for path in names.missing:
            yield from (*HELD, f"{self._root}/{path}")

    def _unreadable(self, names: Surveyed) -> Iterator[str]:
        secret = (os.path.realpath(f"{self._root}/{path}") for path in names.secret)
        for path in (*self._hidden, *secret):
            if os.path.isdir(path):
                yield from (*UNREADABLE, path)
            elif os.path.lexists(path):
                yield from ("--ro-bind", str(self._place.nothing), path)


def _repeated(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)
