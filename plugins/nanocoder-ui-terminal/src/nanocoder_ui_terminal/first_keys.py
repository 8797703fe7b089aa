"""Take the keyboard over before anything slow is imported, so that nothing typed is lost or cut.

A terminal that hands over whole lines cuts them at 4,096 characters, and shows what is typed where
the prompt is drawn later.
"""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from nanocoder_ui_terminal.terminal import Terminal, is_terminal

READ_BYTES: Final = 65_536
PASTE_ON: Final = "\x1b[?2004h"
PASTE_OFF: Final = "\x1b[?2004l"
"""The terminal marks where a paste begins and ends, or stops doing so."""


@contextmanager
def keep_first_keys() -> Iterator[bytes]:
    """Have the terminal hand over each key as it is, Enter and Ctrl-J apart, and show none.

    Yields what was entered before: several lines at once are a paste, and stay together.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        yield b""
        return
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    entered = _entered_lines(descriptor) if before[3] & termios.ICANON else b""
    attributes = [*before[:6], list(before[6])]
    attributes[0] &= ~termios.ICRNL
    attributes[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    moves = Terminal.of_process().moves
    try:
        termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
        if moves:
            os.write(sys.stdout.fileno(), PASTE_ON.encode())
        yield entered
    finally:
        with suppress(termios.error, OSError):  # the terminal may have gone
            if moves:
                os.write(sys.stdout.fileno(), PASTE_OFF.encode())
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _entered_lines(descriptor: int) -> bytes:
    """Return the whole lines that wait in the terminal, where Enter has become a line feed."""
    lines = b""
    with suppress(OSError):
        while select.select([descriptor], [], [], 0)[0]:
            line = os.read(descriptor, READ_BYTES)
            if not line:
                break
            lines += line
    return lines.removesuffix(b"\n") + b"\r" if lines else b""
