"""The options of every command line of bubblewrap, and a trial of them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from nanocoder_kit_process import SYSTEM_PATH, find_program

from nanocoder_kit_sandbox.filter import filter_program
from nanocoder_kit_sandbox.limits import SHELL
from nanocoder_kit_sandbox.mounts import Mount, MountAccess
from nanocoder_kit_sandbox.probe import problem_of

NAMESPACES: Final = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
NO_NETWORK: Final = "--unshare-net"
NO_MORE_NAMESPACES: Final = "--disable-userns"  # not known to versions before 0.8
# The memory of bubblewrap's own process, which is the first inside, by both of its names.
OF_INIT: Final = ("1/mem", "1/task/1/mem")
# Files of /proc that root may write to without any capability; no other user may.
OF_ROOT: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
LOCK: Final = "/run/nanocoder.lock"
FILTER: Final = "9"
# nsenter and bubblewrap find the working directory by PWD in another mount namespace.
OPEN_FILTER: Final = f'exec {FILTER}<"$0" && export PWD && exec "$@"'
OPTIONS: Final = {
    MountAccess.WRITE: ("--bind",),
    MountAccess.READ: ("--ro-bind",),
    MountAccess.NOTHING: ("--perms", "0000", "--tmpfs"),
    MountAccess.PASSABLE: ("--perms", "0111", "--tmpfs"),
}
_TRY_S: Final = 10.0


@cache
def program() -> str:
    """Return the path of bubblewrap, which is never one of the workspace, or ""."""
    return find_program("bwrap", os.environ.get("PATH", SYSTEM_PATH), Path.cwd())


@cache
def base() -> tuple[str, ...]:
    """Return the beginning of each command line; empty where nothing works."""
    for options in ((*NAMESPACES, NO_MORE_NAMESPACES), NAMESPACES):
        if not _failure(options):
            return (program(), *options)
    return ()


@cache
def system() -> tuple[str, ...]:
    """Return the options for what is seen of the system, none of which can be changed."""
    own = [f"/proc/{name}" for name in OF_ROOT] if os.getuid() == 0 else []
    proc = [word for path in own if os.path.lexists(path) for word in ("--ro-bind", path, path)]
    proc += [word for name in OF_INIT for word in ("--ro-bind", os.devnull, f"/proc/{name}")]
    return ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *proc, "--tmpfs", "/run")


def filtered(file: Path, enter: Sequence[str] = ()) -> list[str]:
    """Return the beginning of a command line: a shell that opens the filter of calls for it.

    The filter is written to *file*, which has to stay as long as commands start. *enter* are the
    words that start bubblewrap in namespaces that are there already.
    """
    # The user of those namespaces is 0, which a program must not take for its own.
    own = ("--uid", str(os.getuid()), "--gid", str(os.getgid())) if enter else ()
    if not file.exists():
        file.write_bytes(filter_program())
    if not file.stat().st_size:  # a processor that the filter does not know
        file = Path(os.devnull)
    seccomp = ("--seccomp", FILTER) if file.stat().st_size else ()
    return [SHELL, "-c", OPEN_FILTER, str(file), *enter, *base(), *own, *seccomp]


def mount_options(mounts: Iterable[Mount]) -> Iterator[str]:
    """Yield the options for *mounts*, in their order."""
    for mount in mounts:
        yield from OPTIONS[mount.access]
        yield from (mount.source, mount.path) if mount.source else (mount.path,)


def lock_options(file: Path) -> tuple[str, ...]:
    """Return the options by which all that runs inside holds the lock *file*."""
    return ("--ro-bind", str(file), LOCK, "--lock-file", LOCK)


@cache
def problem() -> str:
    """Return the reason bubblewrap cannot be used here, or "" if it can."""
    if not program():
        return "bubblewrap is not installed; install the package bubblewrap (program bwrap)"
    return "" if base() else _failure(NAMESPACES)


def _failure(options: tuple[str, ...]) -> str:
    argv = [program(), *options, NO_NETWORK, *system(), "/bin/true"]
    why = problem_of(program(), argv, {"PATH": SYSTEM_PATH}, _TRY_S)
    return f"{why} (does this system forbid user namespaces?)" if why else ""
