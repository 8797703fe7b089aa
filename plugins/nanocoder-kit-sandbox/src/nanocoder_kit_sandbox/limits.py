"""Limits of the processes inside: processor, memory, processes, open files, size of a file."""

import os
import resource
from functools import cache
from typing import Final, NamedTuple

from nanocoder_kit_sandbox.settings import Settings

SHELL: Final = "/bin/sh"
_MEGABYTE: Final = 1 << 20
_BLOCK: Final = 512
_KILOBYTE: Final = 1_024


class _Limit(NamedTuple):
    """A *limit* by the system's number of its *kind*, and a shell's option, in units of *unit*."""

    kind: int
    limit: int
    option: str
    unit: int = 1

    def is_lower(self) -> bool:
        """Tell whether it is one, and does not hold already."""
        most = resource.getrlimit(self.kind)[1]
        return self.limit > 0 and (most == resource.RLIM_INFINITY or self.limit < most)


def limits_of(settings: Settings) -> dict[int, int]:
    """Return the limits by the system's numbers, without those that hold already."""
    return {each.kind: each.limit for each in _limits(settings)}


def limit_script(settings: Settings) -> str:
    """Return the commands of a shell that set the limits, which nothing can raise, or ""."""
    return " && ".join(
        f"ulimit {each.option} {each.limit // each.unit}" for each in _limits(settings)
    )


def limited(argv: list[str], settings: Settings) -> list[str]:
    """Return the argv that sets the limits, which nothing can raise, and runs *argv*."""
    limits = limit_script(settings)
    return [SHELL, "-c", f'{limits} && exec "$@"', SHELL, *argv] if limits else argv


def _limits(settings: Settings) -> list[_Limit]:
    data, size = settings.memory_mb * _MEGABYTE, settings.file_mb * _MEGABYTE
    limits = (
        _Limit(resource.RLIMIT_CPU, settings.cpu_s, "-t"),
        # Only memory that is written to counts: engines of JavaScript and Java reserve terabytes.
        _Limit(resource.RLIMIT_DATA, data, "-d", _KILOBYTE),
        _Limit(resource.RLIMIT_NPROC, settings.processes, _of_processes()),
        _Limit(resource.RLIMIT_NOFILE, settings.open_files, "-n"),
        _Limit(resource.RLIMIT_FSIZE, size, "-f", _BLOCK),
    )
    return [each for each in limits if each.is_lower()]


@cache
def _of_processes() -> str:
    """Return the option for processes, on which shells do not agree."""
    return "-u" if os.path.basename(os.path.realpath(SHELL)) == "bash" else "-p"
