"""Take the keyboard over before anything slow is imported, so that nothing typed is lost or cut.

A terminal that hands over whole lines cuts them at 4,095 bytes, and shows what is typed where
the prompt is drawn later.
"""

import os
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from attrs import frozen

from nanocoder_ui_terminal.foreground import taking_back
from nanocoder_ui_terminal.terminal import Terminal, is_terminal

READ_BYTES: Final = 65_536
LINE_BYTES: Final = 4_095
"""A terminal that gathers lines drops the bytes of a line behind these."""
PASTE_ON: Final = "\x1b[?2004h"
PASTE_OFF: Final = "\x1b[?2004l"
"""The terminal marks where a paste begins and ends, or stops doing so."""
PASTE_BEGINS: Final = b"\x1b[200~"
PASTE_ENDS: Final = b"\x1b[201~"


@frozen
class FirstKeys:
    """Keys typed before the terminal was in raw mode, as pieces for the queue of prompts.

    *is_cut* says that the terminal has dropped the end of a line.
    """

    pieces: tuple[bytes, ...] = ()
    is_cut: bool = False

    @classmethod
    def of_lines(cls, typed: bytes) -> "FirstKeys":
        """Separate keys that were typed and entered from a paste, which waits for Enter.

        Enter has become a line feed. A text longer than a line of the terminal is a paste, and so
        are several lines with a begun one behind them.
        """
        entered, enter, begun = typed.rpartition(b"\n")
        # A line of that length may have been longer; its Enter is lost, too, if it came later.
        is_cut = any(len(line) >= LINE_BYTES for line in typed.split(b"\n"))
        if is_cut or len(typed) > LINE_BYTES or (begun and b"\n" in entered):
            return cls((PASTE_BEGINS + typed.removesuffix(b"\n") + PASTE_ENDS,), is_cut)
        pieces = (entered + b"\r", begun) if enter else (begun,)
        return cls(tuple(piece for piece in pieces if piece))


@contextmanager
def keep_first_keys() -> Iterator[FirstKeys]:
    """Have the terminal hand over each key as it is, Enter and Ctrl-J apart, and show none.

    Yields what was typed before.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        yield FirstKeys()
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    attributes = _attributes_for_keys(before)

    def take() -> None:
        with suppress(termios.error, OSError):
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)

    moves = Terminal.of_process().moves
    try:
        with taking_back(take):
            take()
            if moves:
                os.write(sys.stdout.fileno(), PASTE_ON.encode())
            gathers_lines = before[3] & termios.ICANON
            yield FirstKeys.of_lines(_waiting(descriptor)) if gathers_lines else FirstKeys()
    finally:
        with suppress(termios.error, OSError):  # the terminal may have gone
            if moves:
                os.write(sys.stdout.fileno(), PASTE_OFF.encode())
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def keys_that_wait() -> Iterator[None]:
    """Have Ctrl-C and Ctrl-Z wait for a prompt that is in sight and still loads, as other keys."""
    if not is_terminal(sys.stdin):
        yield
        return
    descriptor = sys.stdin.fileno()
    with suppress(termios.error, OSError):
        attributes = termios.tcgetattr(descriptor)
        attributes[3] &= ~termios.ISIG
        termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    try:
        yield
    finally:
        with suppress(termios.error, OSError):
            attributes = termios.tcgetattr(descriptor)
            attributes[3] |= termios.ISIG
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)


def _attributes_for_keys(before: list[Any]) -> list[Any]:
    attributes = [*before[:6], list(before[6])]
    attributes[0] &= ~termios.ICRNL
    attributes[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    return attributes


def _waiting(descriptor: int) -> bytes:
    """Return the pending input of the terminal, including an unfinished line."""
    typed = b""
    with suppress(OSError):
        while select.select([descriptor], [], [], 0)[0]:
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                break
            typed += piece
    return typed
