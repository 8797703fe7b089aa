"""Limits of the processes inside: processor, memory, processes, open files, size of a file."""

import os
import resource
from functools import cache
from typing import Final

from nanocoder_kit_sandbox.settings import Settings

SHELL: Final = "/bin/sh"
_MEGABYTE: Final = 1 << 20
_OPTIONS: Final = {
    resource.RLIMIT_CPU: ("-t", 1),
    resource.RLIMIT_DATA: ("-d", 1_024),
    resource.RLIMIT_NOFILE: ("-n", 1),
    resource.RLIMIT_FSIZE: ("-f", 512),
}
"""The option of a shell for each limit, and its unit."""


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
    return {kind: limit for kind, limit in limits.items() if 0 < limit < _most(kind)}


def limit_script(settings: Settings) -> str:
    """Return the commands of a shell that set the limits, which nothing can raise, or ""."""
    options = {resource.RLIMIT_NPROC: (_of_processes(), 1), **_OPTIONS}
    limits = ((*options[kind], limit) for kind, limit in limits_of(settings).items())
    return " && ".join(f"ulimit {option} {limit // unit}" for option, unit, limit in limits)


def limited(argv: list[str], settings: Settings) -> list[str]:
    """Return the argv that sets the limits, which nothing can raise, and runs *argv*."""
    limits = limit_script(settings)
    return [SHELL, "-c", f'{limits} && exec "$@"', SHELL, *argv] if limits else argv


def _most(kind: int) -> float:
    most = resource.getrlimit(kind)[1]
    return float("inf") if most == resource.RLIM_INFINITY else most


@cache
def _of_processes() -> str:
    """Return the option for processes, on which shells do not agree."""
    return "-u" if os.path.basename(os.path.realpath(SHELL)) == "bash" else "-p"
