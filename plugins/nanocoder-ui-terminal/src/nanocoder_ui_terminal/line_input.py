"""A line that a person types to answer a question."""

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nanocoder import Cancel

from nanocoder_ui_terminal.terminal import Terminal

MAX_ANSWER_BYTES: Final = 4_096
LOOK_S: Final = 0.1
CTRL_C: Final = b"\x03"
ESCAPE: Final = b"\x1b"
ESCAPE_S: Final = 0.15
"""How soon the rest of a key follows its escape; Esc alone has none."""


class StoppedError(Exception):
    """The question was ended: by Ctrl-C, or because the run was interrupted."""


class LeftError(StoppedError):
    """The question was left with Esc."""


def read_line(
    terminal: Terminal, words: str, rest: str, cancelled: Cancel, deadline: float | None = None
) -> str:
    """Return a line that was typed after *words* and *rest* appeared.

    *deadline* is on the monotonic clock, in seconds. Raises: EOFError, TimeoutError, StoppedError
    for Ctrl-C or when *cancelled* is set, LeftError for Esc.
    """
    terminal.write(f"{terminal.paint(words, 'bold')} {rest} ")
    _discard_typed()
    descriptor = sys.stdin.fileno()
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES:
        _wait_for_input(descriptor, cancelled, deadline)
        piece = os.read(descriptor, MAX_ANSWER_BYTES)
        if piece.endswith(CTRL_C):
            raise StoppedError
        if piece.endswith(ESCAPE) and _is_alone(descriptor):
            terminal.write("\b\b  \b\b")  # the system has shown it as ^[
            raise LeftError
        if not piece:
            raise EOFError
        line += piece
    if b"\0" in line or line.count(b"\n") > 1:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _wait_for_input(descriptor: int, cancelled: Cancel, deadline: float | None) -> None:
    # A signal only sets *cancelled*, which does not wake select; so the wait is short.
    while not select.select([descriptor], [], [], LOOK_S)[0]:
        if cancelled.is_set():
            raise StoppedError
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError


def _is_alone(descriptor: int) -> bool:
    """Tell whether nothing follows an escape: it is the key Esc and no arrow or other key."""
    import termios

    before = termios.tcgetattr(descriptor)
    attributes = [*before[:6], list(before[6])]
    attributes[3] &= ~(termios.ICANON | termios.ECHO)
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    try:
        return not select.select([descriptor], [], [], ESCAPE_S)[0]
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _discard_typed() -> None:
    """Discard keys that were typed before the question could be read."""
    import termios  # only terminals have it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def line_mode() -> Iterator[None]:
    """Have the terminal edit and show a line, whatever it did before.

    Ctrl-C ends the line instead of the run, and so does an escape.
    """
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    attributes = list(before)
    attributes[0] |= termios.ICRNL
    attributes[3] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG
    attributes[3] |= termios.IEXTEN | termios.ECHOCTL
    attributes[6] = list(before[6])
    attributes[6][termios.VINTR] = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes()
    attributes[6][termios.VEOL], attributes[6][termios.VEOL2] = CTRL_C, ESCAPE
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, attributes)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
