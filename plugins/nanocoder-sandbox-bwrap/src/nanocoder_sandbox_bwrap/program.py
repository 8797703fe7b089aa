"""Whether bubblewrap is here and works: tried once, with the options that every command gets."""

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from nanocoder_kit_process import SYSTEM_PATH, find_program

NAMESPACES: Final = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
NO_NETWORK: Final = "--unshare-net"
NO_MORE_NAMESPACES: Final = "--disable-userns"  # not known to versions before 0.8
# Files of /proc that root may write to without any capability; nobody else may.
OF_ROOT: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
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
    return ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *proc, "--tmpfs", "/run")


@cache
def problem() -> str:
    """Return why bubblewrap cannot be used here, or ""."""
    if not program():
        return "there is no program bwrap; install the package bubblewrap"
    return "" if base() else _failure(NAMESPACES)


def _failure(options: tuple[str, ...]) -> str:
    if not program():
        return "there is no program bwrap"
    argv = [program(), *options, NO_NETWORK, *system(), "/bin/true"]
    try:
        process = subprocess.run(
            argv,
            env={"PATH": SYSTEM_PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRY_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program()} did not start: {error}"
    lines = process.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
    return f"{lines[-1]} (does this system forbid user namespaces?)" if process.returncode else ""
