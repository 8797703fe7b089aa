"""The command line of bubblewrap for one session: what is seen, what may be changed."""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanocoder import Access, SessionInfo
from nanocoder_kit_sandbox import (
    Inside,
    Mount,
    MountAccess,
    Settings,
    bridge,
    hidden_places,
    listening_sockets,
    long_outputs,
    readable_in_empty_places,
)
from nanocoder_kit_sandbox.bubblewrap import (
    NO_NETWORK,
    filtered,
    lock_options,
    mount_options,
    system,
)
from nanocoder_kit_sandbox.hidden import EMPTY_PLACES, KEPT_IN_RUN
from nanocoder_kit_sandbox.layers import OwnTmp, describe_changes
from nanocoder_kit_sandbox.settings import UNSET, variables

from nanocoder_sandbox_bwrap.leftovers import telling
from nanocoder_sandbox_bwrap.namespaces import Namespaces

if TYPE_CHECKING:
    from nanocoder_kit_sandbox.proxy import Proxy

TMP: Final = "/tmp"  # noqa: S108 - a folder of the session is mounted there
CACHES: Final = {
    ".cache": "XDG_CACHE_HOME",
    ".npm": "npm_config_cache",
    ".cargo": "CARGO_HOME",
    "go": "GOPATH",
    ".gradle": "GRADLE_USER_HOME",
    ".m2": "",
}
"""Caches in a home, and the variables that move them; what programs write there is thrown away."""
KNOWN_BY_TIME: Final = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.checkStat",
    "GIT_CONFIG_VALUE_0": "minimal",
}
"""Git takes what hides a tracked file for that file, by its size and time."""
SOCKET: Final = "/run/nanocoder.socket"
BRIDGE: Final = "/run/nanocoder.bridge.py"
PORT: Final = 3128
PROXY_VARIABLES: Final = ("http_proxy", "https_proxy", "all_proxy")


class Bubblewrap:
    """The sandbox of one session; methods may be called from any thread."""

    def __init__(self, session: SessionInfo, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self._root = str(session.cwd)
        self._inside = Inside(session, settings)
        self._files = self._inside.files
        self._own_tmp = OwnTmp(self._files.tmp, self._root)
        places = hidden_places(session, settings)
        own = str(self._files.base)
        self._hidden = [self._inside.hidden(path) for path in places]
        if not own.startswith(tuple(f"{folder}/" for folder in EMPTY_PLACES)):
            self._hidden.append(self._inside.hidden(own))
        self._apart = (*places, self._root, own)
        # Where nanocoder is installed may be hidden inside; the interpreter is of the system.
        self._python = os.path.realpath(sys.executable)
        home = str(Path.home())
        caches = [path for name in CACHES if os.path.isdir(path := f"{home}/{name}")]
        self._namespaces = Namespaces(
            self._files.layers, self._root, caches, network=settings.network
        )
        self._proxy: Proxy | None = None
        self._starting = threading.Lock()

    def wrap(
        self,
        argv: Sequence[str],
        ports: Sequence[int],  # noqa: ARG002
        access: Access = Access.WRITE,
    ) -> list[str]:
        """Return the argv that runs *argv* inside; raises ToolError."""
        self._open_way_out()
        enter = self._namespaces.enter(self._bridge(str(self._files.socket), bridge.__file__))
        is_read_only = access is Access.READ
        layer = self._namespaces.add_layer() if enter and is_read_only else None
        workspace = layer.path if layer else self._root
        is_bound_read_only = is_read_only and layer is None
        return [
            *filtered(self._files.filter, (*enter, *(layer.enter if layer else ()))),
            *(() if enter or self._settings.network else (NO_NETWORK,)),
            *self._surroundings(),
            *("--ro-bind" if is_bound_read_only else "--bind", workspace, self._root),
            *(() if is_read_only else _repeated("--bind-try", self._inside.writable_elsewhere())),
            *mount_options(self._inside.mounts(access)),
            *mount_options(self._hidden),
            *self._long_outputs(),
            *mount_options(self._sockets()),
            *_variables(self._all_variables(is_read_only=is_read_only)),
            *(word for name in UNSET for word in ("--unsetenv", name)),
            *self._way_out(is_shared=bool(enter)),
            *(() if is_read_only else lock_options(self._files.lock)),
            "--",
            *(() if enter else self._bridge(SOCKET, BRIDGE)),
            *telling(argv, self._settings),
        ]

    def changes(self) -> list[str]:
        """Undo what programs inside left that others outside would act by; a line for each.

        A line also says what was written to a /tmp that only programs inside see.
        """
        lines = self._inside.changes() + self._own_tmp.describe_new()
        lines += [describe_changes(paths) for paths in self._namespaces.ended() if paths]
        return lines

    def close(self) -> None:
        """End what runs inside, and remove the session's files."""
        self._namespaces.close()
        if self._proxy is not None:
            self._proxy.close()
        self._inside.close()

    def _surroundings(self) -> Iterator[str]:
        """Yield the options for all but the workspace."""
        yield from system()
        yield from _repeated("--ro-bind-try", KEPT_IN_RUN)
        yield from ("--bind", str(self._files.tmp), TMP)
        # Before the workspace: what a command left in its /tmp leads these over nothing of it.
        yield from _repeated("--ro-bind-try", readable_in_empty_places(self._apart))
        for path, layer in self._namespaces.caches():
            yield from ("--bind", layer, path)

    def _long_outputs(self) -> Iterator[str]:
        """Show the outputs that were too long for the model, in the hidden folder around them."""
        for folder in long_outputs(self._session):
            above = next((path for path in self._apart if folder.startswith(f"{path}/")), "")
            if above:
                yield from mount_options([Mount(MountAccess.PASSABLE, above)])
            yield from ("--ro-bind", folder, folder)

    def _all_variables(self, *, is_read_only: bool) -> dict[str, str]:
        home = str(Path.home())
        layered = {path for path, _ in self._namespaces.caches()}
        moved = {
            variable: f"{TMP}/{name}"
            for name, variable in CACHES.items()
            if variable and f"{home}/{name}" not in layered
        }
        return moved | KNOWN_BY_TIME | variables(TMP, self._settings, is_read_only=is_read_only)

    def _open_way_out(self) -> None:
        """Start the proxy, if there are hosts that may be reached."""
        settings = self._settings
        if not settings.hosts or settings.network:
            return
        with self._starting:
            if self._proxy is None:
                from nanocoder_kit_sandbox.proxy import Proxy  # it brings the network's kit

                self._proxy = Proxy(self._files.socket, settings.hosts, settings.addresses)

    def _way_out(self, *, is_shared: bool) -> Iterator[str]:
        if self._proxy is None:
            return
        if not is_shared:
            yield from ("--ro-bind", str(self._files.socket), SOCKET)
            yield from ("--ro-bind", bridge.__file__, BRIDGE)
        address = f"http://127.0.0.1:{PORT}"
        names = (*PROXY_VARIABLES, *map(str.upper, PROXY_VARIABLES))
        yield from _variables(dict.fromkeys(names, address))
        yield from _variables(dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1"))

    def _bridge(self, socket: str, file: str) -> tuple[str, ...]:
        if self._proxy is None:
            return ()
        return (self._python, "-I", "-S", file, socket, str(PORT))

    def _sockets(self) -> list[Mount]:
        """Hide the sockets of services: what is shown read-only can still be connected to."""
        # With the network of this machine those in the workspace may be of programs inside.
        besides = (self._root,) if self._settings.network else ()
        elsewhere = (*readable_in_empty_places(self._apart), *self._inside.writable_elsewhere())
        visible = (self._root, *KEPT_IN_RUN, *elsewhere)
        return [self._inside.hidden(path) for path in listening_sockets(besides, visible)]


def _repeated(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


def _variables(values: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        yield from ("--setenv", name, value)
