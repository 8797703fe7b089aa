"""A line that a person types to answer a question.

The terminal hands over each key at once and shows none itself: it would show an arrow as `^[[D` and
take that for a part of the answer.
"""

import codecs
import os
import re
import select
import sys
import termios
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Final, TypeVar

from attrs import define
from nanocoder import Cancel, for_terminal

from nanocoder_ui_terminal.foreground import is_foreground
from nanocoder_ui_terminal.terminal import Terminal, columns_of
from nanocoder_ui_terminal.text_lines import message_lines

T = TypeVar("T")

MAX_ANSWER_CHARS: Final = 4_096
ROOM_COLUMNS: Final = 3  # for a key behind the question
REST_OF_WORD: Final = re.compile(r"(?<=\w)\(\w[^)]*\)")
"""The part of a choice that need not be typed, as in y(es); a narrow terminal leaves it out."""
LOOK_S: Final = 0.1
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
ESCAPE: Final = "\x1b"
ESCAPE_S: Final = 0.15
"""The time for the rest of a key after its escape; Esc alone has none."""
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


class _TakenError(Exception):
    """Another program had the terminal meanwhile."""


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
        self.terminal.write("\b \b" * columns_of(erased))


def read_line(
    terminal: Terminal, words: str, rest: str, cancelled: Cancel, deadline: float | None = None
) -> str:
    """Return a line that was typed after *words* and *rest* appeared.

    *deadline* is on the monotonic clock, in seconds. Raises: EOFError, TimeoutError, StoppedError
    for Ctrl-C or when *cancelled* is set, LeftError for Esc.
    """
    _show_question(terminal, words, rest)
    line = _Line(terminal)
    for key in chain.from_iterable(_presses(sys.stdin.fileno(), cancelled, deadline)):
        if key in ENTER:
            break
        line.press(key)
    terminal.write("\n")
    return line.text


def read_answer(
    terminal: Terminal,
    words: str,
    rest: str,
    keys: Collection[str],
    cancelled: Cancel,
    deadline: float | None = None,
) -> str:
    """Return the first key if it is one of *keys*, else the line that it begins.

    What comes at once was not pressed key by key: it is a line, too. Enter alone means nothing
    unless it is one of *keys*: it may belong to the answer before. Raises as `read_line`.
    """
    _show_question(terminal, words, rest)
    line = _Line(terminal)
    for pressed in _presses(sys.stdin.fileno(), cancelled, deadline):
        if len(pressed) == 1 and pressed[0] in keys and not line.text:
            terminal.write(f"{pressed[0].strip()}\n")
            return pressed[0]
        for key in pressed:
            if key not in ENTER:
                line.press(key)
            elif line.text:
                terminal.write("\n")
                return line.text
    raise EOFError


def _show_question(terminal: Terminal, words: str, rest: str) -> None:
    columns = terminal.width - ROOM_COLUMNS
    if columns_of(f"{words} {rest}") > columns:
        rest = REST_OF_WORD.sub("", rest)
    first, *more = message_lines(f"{words} {rest}", columns)
    if first.startswith(words):
        first = f"{terminal.paint(words, 'bold')}{first.removeprefix(words)}"
    _discard_typed()
    terminal.write("\n".join([first, *more]) + " ")


def read_key(
    terminal: Terminal, words: str, rest: str, cancelled: Cancel, deadline: float | None = None
) -> str:
    """Return the key that was pressed after *words* and *rest* appeared; raises as `read_line`."""
    _show_question(terminal, words, rest)
    try:
        key = next(_presses(sys.stdin.fileno(), cancelled, deadline))[0]
    finally:
        terminal.write("\n")
    if key in ENDS:
        raise ENDS[key]
    return key


def _presses(descriptor: int, cancelled: Cancel, deadline: float | None) -> Iterator[Sequence[str]]:
    """Yield the keys that came at once: characters, or sequences that begin with an escape."""
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
        if keys := KEY.findall(typed):
            yield keys
        typed = ""


def _wait_for_input(descriptor: int, cancelled: Cancel, deadline: float | None) -> None:
    # A signal only sets *cancelled*, which does not wake select; so the wait is short.
    while not _has_input(descriptor):
        if cancelled.is_set():
            raise StoppedError
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError


def _has_input(descriptor: int) -> bool:
    """Wait a little for input; raises _TakenError where the terminal is not as `line_mode` set it.

    That is so after a stop and `fg`: the question may be out of sight, so no key answers it.
    """
    if not is_foreground():  # the keys are for another program
        time.sleep(LOOK_S)
        return False
    has_input = bool(select.select([descriptor], [], [], LOOK_S)[0])
    attributes = termios.tcgetattr(descriptor)
    if attributes[3] & termios.ICANON or attributes[6][termios.VINTR] != _no_key(descriptor):
        raise _TakenError
    return has_input


def _discard_typed() -> None:
    """Discard keys that were typed before the question could be read."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def in_line_mode(work: Callable[[], T]) -> T:
    """Return the result of *work*, which shows a question and reads the answer key by key.

    Ctrl-C is a key, too, so that it ends the question instead of the run. After a stop and `fg`
    *work* is done again: it shows the question anew.
    """
    while True:
        with suppress(_TakenError), _line_mode():
            return work()


@contextmanager
def _line_mode() -> Iterator[None]:
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    attributes = termios.tcgetattr(descriptor)
    attributes[0] |= termios.ICRNL
    attributes[3] |= termios.ISIG
    attributes[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    attributes[6][termios.VINTR] = _no_key(descriptor)
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, attributes)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _no_key(descriptor: int) -> bytes:
    return os.fpathconf(descriptor, "PC_VDISABLE").to_bytes()
