"""The sandbox of one call: bubblewrap restricted to the plugin's capabilities."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo
from nanocoder_kit_process import SYSTEM_PATH, environment
from nanocoder_kit_process.capabilities import Capabilities
from nanocoder_kit_sandbox import (
    Inside,
    Settings,
    Survey,
    bridge,
    hidden_places,
    limited,
    listening_sockets,
    unavailable,
)
from nanocoder_kit_sandbox.bubblewrap import (
    NO_NETWORK,
    filtered,
    lock_options,
    mount_options,
    problem,
    system,
)
from nanocoder_kit_sandbox.mounts import read_only
from nanocoder_kit_sandbox.proxy import Proxy

SOCKET: Final = "/run/nanocoder.socket"
BRIDGE: Final = "/run/nanocoder.bridge.py"
PORT: Final = 3128
TMP: Final = "/tmp"  # noqa: S108 - a folder of its own is mounted there
PLAIN_VARIABLES: Final = ("LANG", "LC_ALL", "TZ")


def variables(capabilities: Capabilities) -> dict[str, str]:
    """Return the environment of a process with *capabilities*."""
    names = capabilities.variables
    if "*" in names:
        return environment(os.environ)
    allowed = environment(os.environ, names)
    chosen = {*names, *PLAIN_VARIABLES} & allowed.keys()
    return {"PATH": SYSTEM_PATH, "HOME": TMP, **{name: allowed[name] for name in sorted(chosen)}}


@contextmanager
def jailed(
    session: SessionInfo,
    argv: Sequence[str],
    capabilities: Capabilities,
    visible: Iterable[Path],
    memory_mb: int,
    undone: list[str],
) -> Iterator[list[str]]:
    """Yield the argv that runs *argv* with *capabilities*; it is valid inside the block.

    *visible* are the folders of the program itself. *undone* gets a line for each change that is
    not copied out of the sandbox.
    Raises: ToolError (sandbox_unavailable).
    """
    if why := problem():
        raise unavailable("tool-isolated", why)
    limits = Settings(memory_mb=memory_mb, cpu_s=0, file_mb=1_024, processes=256)
    inside = Inside(session, limits)
    with ExitStack() as at_end:
        at_end.callback(inside.close)
        at_end.callback(lambda: undone.extend(inside.changes()))
        way_out = at_end.enter_context(_way_out(inside, capabilities))
        filter_file = inside.files.filter
        at_end.callback(filter_file.unlink, missing_ok=True)
        yield [
            *filtered(filter_file),
            *(() if "*" in capabilities.hosts else (NO_NETWORK,)),
            *system(),
            *("--tmpfs", str(Path.home())),
            *("--bind", str(inside.files.tmp), TMP),
            *_workspace(session, inside, capabilities),
            *_programs(session, inside, capabilities, visible, limits),
            *lock_options(inside.files.lock),
            *way_out,
            *("--chdir", str(session.cwd) if "fs.read" in capabilities else TMP),
            "--",
            *(_bridge() if way_out else ()),
            *limited(list(argv), limits),
        ]


def _workspace(session: SessionInfo, inside: Inside, capabilities: Capabilities) -> Iterator[str]:
    """Yield the options for the workspace: protected paths stay protected, secrets are hidden."""
    root = str(session.cwd)
    if "fs.write" in capabilities:
        yield from ("--bind", root, root)
        yield from mount_options(inside.mounts())
    elif "fs.read" in capabilities:
        yield from ("--ro-bind", root, root)
        secret = Survey(session.cwd).look(session.readable.now()).secret
        real = (os.path.realpath(f"{root}/{path}") for path in secret)
        yield from mount_options(inside.hidden(path) for path in real)
    else:
        yield from ("--tmpfs", root)


def _programs(
    session: SessionInfo,
    inside: Inside,
    capabilities: Capabilities,
    visible: Iterable[Path],
    limits: Settings,
) -> Iterator[str]:
    """Yield the options that mount programs, and hide credentials and sockets among them."""
    ours = _interpreter()
    # Their contents are there already, and nothing can be mounted on a link among them.
    programs = [*ours, *(each for each in map(str, visible) if not _is_below(each, ours))]
    real = list(map(os.path.realpath, programs))
    empty = [str(Path.home()), *(() if "fs.read" in capabilities else (str(session.cwd),))]
    in_sight = [*real, *((str(session.cwd),) if "fs.read" in capabilities else ())]
    hidden = [
        path
        for path in (*hidden_places(session, limits), *listening_sockets())
        if _is_below(path, in_sight) or not _is_below(path, empty)
    ]
    # A hidden folder with a program stays traversable; the rest of it is hidden.
    passable = [path for path in hidden if any(_is_below(each, [path]) for each in real)]
    for path in passable:
        yield from ("--perms", "0555", "--tmpfs", path)
    yield from mount_options(map(read_only, programs))
    yield from mount_options(inside.hidden(path) for path in hidden if path not in passable)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _way_out(inside: Inside, capabilities: Capabilities) -> AbstractContextManager[tuple[str, ...]]:
    """Return the options by which the hosts of *capabilities* are reached, none for no host."""
    hosts = capabilities.hosts
    return nullcontext(()) if not hosts or "*" in hosts else _proxied(inside, hosts)


@contextmanager
def _proxied(inside: Inside, hosts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    proxy = Proxy(inside.files.socket, hosts)
    address = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    words = [word for name in names for word in ("--setenv", name, address)]
    try:
        yield (
            *("--ro-bind", str(inside.files.socket), SOCKET),
            *("--ro-bind", bridge.__file__, BRIDGE),
            *words,
        )
    finally:
        proxy.close()


def _bridge() -> tuple[str, ...]:
    return (os.path.realpath(sys.executable), "-I", "-S", BRIDGE, SOCKET, str(PORT))


def _interpreter() -> list[str]:
    """Return the folders of Python and of its import path."""
    folders = [sys.base_prefix, sys.prefix, *(path for path in sys.path if os.path.isdir(path))]
    return list(dict.fromkeys(map(os.path.realpath, folders)))
