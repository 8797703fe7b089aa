"""Find a program that waits for a terminal, by what it reads from and not by its name.

A command has no terminal: its input is empty, /dev/tty cannot be opened, and nearly every program
that wants to be typed at ends by that. Editors such as vim go on: they take their standard error
for the terminal and wait for keys from it. It is the end of a pipe that can only be written to, so
they wait for ever.
"""

import os
from contextlib import suppress
from pathlib import Path

from nanocoder_kit_process.family import Family


def find_wait(family: Family) -> str:
    """Return the name of a program of *family* that waits for a terminal in vain, or ""."""
    return next((each.name for each in family.members() if _reads_output(each.pid)), "")


def _reads_output(pid: int) -> bool:
    """Tell whether the standard input of a process is open for writing alone."""
    with suppress(OSError, ValueError, StopIteration):  # it has ended, or is another user's
        lines = Path(f"/proc/{pid}/fdinfo/0").read_text("ascii").splitlines()
        flags = next(line for line in lines if line.startswith("flags:"))
        return int(flags.split()[1], 8) & os.O_ACCMODE == os.O_WRONLY
    return False
