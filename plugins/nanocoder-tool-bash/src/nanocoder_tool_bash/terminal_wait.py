"""Detection of a program that waits for a terminal, by its input and not by its name.

A command has no terminal: its input is empty, /dev/tty cannot be opened, and nearly every
interactive program exits because of that. Editors such as vim do not: they read keys from their
standard error as if it were the terminal. It is the write end of a pipe, so they wait forever.
"""

import os
from contextlib import suppress
from pathlib import Path

from nanocoder_kit_process.process_tree import ProcessTree


def find_wait(tree: ProcessTree) -> str:
    """Return the name of a program of *tree* that waits for a terminal in vain, or ""."""
    return next((each.name for each in tree.members() if _reads_output(each.pid)), "")


def _reads_output(pid: int) -> bool:
    """Return True if the standard input of a process is open for writing alone."""
    with suppress(OSError, ValueError, StopIteration):  # it has ended, or is another user's
        lines = Path(f"/proc/{pid}/fdinfo/0").read_text("ascii").splitlines()
        flags = next(line for line in lines if line.startswith("flags:"))
        return int(flags.split()[1], 8) & os.O_ACCMODE == os.O_WRONLY
    return False
