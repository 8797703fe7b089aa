"""Limits of the processes inside: processor, memory, processes, open files, size of a file."""

import os
import resource
from typing import Final

from nanocoder_kit_sandbox.settings import Settings

SHELL: Final = "/bin/sh"
_MEGABYTE: Final = 1 << 20
_BLOCK: Final = 512
_KILOBYTE: Final = 1_024


def limits_of(settings: Settings) -> dict[int, int]:
    """Return the limits by the system's numbers, without those that hold already."""
    limits = {
        resource.RLIMIT_CPU: settings.cpu_s,
        # Only memory that is written to counts: engines of JavaScript and Java reserve terabytes.
        resource.RLIMIT_DATA: settings.memory_mb * _MEGABYTE,
        resource.RLIMIT_NPROC: settings.processes,
        resource.RLIMIT_NOFILE: settings.open_files,
        resource.RLIMIT_FSIZE: settings.file_mb * _MEGABYTE,
    }
    return {kind: limit for kind, limit in limits.items() if limit and _is_lower(kind, limit)}


def limit_script(settings: Settings) -> str:
    """Return the commands of a shell that set the limits, which nothing can raise, or ""."""
    options = _options()
    units = {resource.RLIMIT_DATA: _KILOBYTE, resource.RLIMIT_FSIZE: _BLOCK}
    return " && ".join(
        f"ulimit {options[kind]} {limit // units.get(kind, 1)}"
        for kind, limit in limits_of(settings).items()
    )


def limited(argv: list[str], settings: Settings) -> list[str]:
    """Return the argv that sets the limits, which nothing can raise, and runs *argv*."""
    limits = limit_script(settings)
    return [SHELL, "-c", f'{limits} && exec "$@"', SHELL, *argv] if limits else argv


def _options() -> dict[int, str]:
    # The option for processes is the one on which shells do not agree.
    is_bash = os.path.basename(os.path.realpath(SHELL)) == "bash"
    return {
        resource.RLIMIT_CPU: "-t",
        resource.RLIMIT_DATA: "-d",
        resource.RLIMIT_NPROC: "-u" if is_bash else "-p",
        resource.RLIMIT_NOFILE: "-n",
        resource.RLIMIT_FSIZE: "-f",
    }


def _is_lower(kind: int, limit: int) -> bool:
    most = resource.getrlimit(kind)[1]
    return most == resource.RLIM_INFINITY or limit < most
