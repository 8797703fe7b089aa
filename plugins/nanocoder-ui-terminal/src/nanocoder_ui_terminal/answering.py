"""A line that a person types in answer to a question."""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from nanocoder_ui_terminal.terminal import Terminal

MAX_ANSWER_BYTES: Final = 4_096


class StoppedError(BaseException):
    """A signal ended the question; no `except Exception` may swallow it."""


def read_line(terminal: Terminal, words: str, rest: str, deadline: float | None = None) -> str:
    """Return a line that was typed after *words* and *rest* appeared.

    *deadline* is on the monotonic clock, in seconds. Raises: EOFError, TimeoutError.
    """
    terminal.write(f"{terminal.paint(words, 'bold')} {rest} ")
    _forget_typed()
    descriptor = sys.stdin.fileno()
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([descriptor], [], [], wait)[0]:
            raise TimeoutError
        piece = os.read(descriptor, MAX_ANSWER_BYTES)
        if not piece:
            raise EOFError
        line += piece
    if b"\0" in line or line.count(b"\n") > 1:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _forget_typed() -> None:
    """Take back what was typed before the question could be read."""
    import termios  # only terminals have it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def line_mode() -> Iterator[None]:
    """Have the terminal edit and show a line and make signals of keys, whatever it did before."""
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    wanted = list(before)
    wanted[0] |= termios.ICRNL
    wanted[3] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, wanted)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a signal end the question instead of the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        handler = before[signal.Signals(number)]
        if number == signal.SIGTERM and callable(handler):
            handler(number, frame)
        raise StoppedError

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
