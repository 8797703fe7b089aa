"""A line that a person types to answer a question.

The terminal hands over each key at once and shows none itself: it would show an arrow as `^[[D` and
take that for a part of the answer.
"""

import codecs
import os
import re
import select
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from attrs import define
from nanocoder import Cancel, for_terminal
from rich.cells import cell_len

from nanocoder_ui_terminal.terminal import Terminal

MAX_ANSWER_CHARS: Final = 4_096
LOOK_S: Final = 0.1
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
ESCAPE: Final = "\x1b"
ESCAPE_S: Final = 0.15
"""How soon the rest of a key follows its escape; Esc alone has none."""
ENTER: Final = ("\n", "\r")
ERASE: Final = ("\x7f", "\b")
ERASE_WORD: Final = "\x17"
ERASE_LINE: Final = "\x15"
SEQUENCE: Final = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # an arrow, Shift-Tab, F5; an answer of the terminal itself
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # a longer one of these answers
    r"|O?[^\x00-\x1f\x7f])"  # F1, Alt and a letter
)
KEY: Final = re.compile(f"{SEQUENCE}|.", re.DOTALL)
NO_TEXT: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-FHPQSZ~]|O.|[^]\[OPX^_])")
"""Keys that a person presses and that type nothing. A sequence that only a terminal sends is none
of them: it stays in the line, which then is no clear yes."""
PARTIAL: Final = re.compile(r"\x1b(?:O|\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?)?\Z")


class StoppedError(Exception):
    """The question was ended: by Ctrl-C, or because the run was interrupted."""


class LeftError(StoppedError):
    """The question was left with Esc."""


ENDS: Final[Mapping[str, type[Exception]]] = {
    CTRL_C: StoppedError,
    ESCAPE: LeftError,
    CTRL_D: EOFError,
}


@define
class _Line:
    """The line so far, which the terminal shows."""

    terminal: Terminal
    text: str = ""

    def press(self, key: str) -> None:
        """Do what *key* means; one that means nothing here changes nothing.

        Raises: EOFError for Ctrl-D on an empty line, StoppedError for Ctrl-C, LeftError for Esc.
        """
        if key in ENDS and not (key == CTRL_D and self.text):
            raise ENDS[key]
        if key in ERASE:
            self._erase(1)
        elif key == ERASE_LINE:
            self._erase(len(self.text))
        elif key == ERASE_WORD:
            before = self.text.rstrip().rpartition(" ")
            self._erase(len(self.text) - len(before[0] + before[1]))
        elif self._is_text(key) and len(self.text) < MAX_ANSWER_CHARS:
            self.text += key
            self.terminal.write(for_terminal(key))

    @staticmethod
    def _is_text(key: str) -> bool:
        return not NO_TEXT.fullmatch(key) and (key >= " " or key[0] == ESCAPE)

    def _erase(self, count: int) -> None:
        erased = for_terminal(self.text[len(self.text) - count :])
        self.text = self.text[: len(self.text) - count]
        self.terminal.write("\b \b" * cell_len(erased))


def read_line(
    terminal: Terminal, words: str, rest: str, cancelled: Cancel, deadline: float | None = None
) -> str:
    """Return a line that was typed after *words* and *rest* appeared.

    *deadline* is on the monotonic clock, in seconds. Raises: EOFError, TimeoutError, StoppedError
    for Ctrl-C or when *cancelled* is set, LeftError for Esc.
    """
    terminal.write(f"{terminal.paint(words, 'bold')} {rest} ")
    _discard_typed()
    line = _Line(terminal)
    for key in _keys(sys.stdin.fileno(), cancelled, deadline):
        if key in ENTER:
            break
        line.press(key)
    terminal.write("\n")
    return line.text


def read_key(
    terminal: Terminal, words: str, rest: str, cancelled: Cancel, deadline: float | None = None
) -> str:
    """Return the key that was pressed after *words* and *rest* appeared; raises as `read_line`."""
    terminal.write(f"{terminal.paint(words, 'bold')} {rest} ")
    _discard_typed()
    try:
        key = next(_keys(sys.stdin.fileno(), cancelled, deadline))
    finally:
        terminal.write("\n")
    if key in ENDS:
        raise ENDS[key]
    return key


def _keys(descriptor: int, cancelled: Cancel, deadline: float | None) -> Iterator[str]:
    """Yield each key that is pressed: a character, or the sequence that begins with an escape."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    typed = ""
    while True:
        _wait_for_input(descriptor, cancelled, deadline)
        piece = os.read(descriptor, MAX_ANSWER_CHARS)
        if not piece:
            raise EOFError
        typed += decoder.decode(piece)
        partial = PARTIAL.search(typed)
        if partial and select.select([descriptor], [], [], ESCAPE_S)[0]:
            continue
        yield from KEY.findall(typed)
        typed = ""


def _wait_for_input(descriptor: int, cancelled: Cancel, deadline: float | None) -> None:
    # A signal only sets *cancelled*, which does not wake select; so the wait is short.
    while not select.select([descriptor], [], [], LOOK_S)[0]:
        if cancelled.is_set():
            raise StoppedError
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError


def _discard_typed() -> None:
    """Discard keys that were typed before the question could be read."""
    import termios  # only terminals have it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def line_mode() -> Iterator[None]:
    """Have the terminal hand over each key, whatever it did before.

    Ctrl-C is a key, too, so that it ends the question instead of the run.
    """
    import termios

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    attributes = [*before[:6], list(before[6])]
    attributes[0] |= termios.ICRNL
    attributes[3] |= termios.ISIG
    attributes[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    attributes[6][termios.VINTR] = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes()
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, attributes)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
