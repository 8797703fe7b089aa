"""The terminal: its size, styles, and the characters that it can show."""

import os
import sys
import unicodedata
from collections.abc import Mapping
from typing import Final, TextIO

from attrs import frozen

STYLES: Final[Mapping[str, str]] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
GLYPHS: Final[Mapping[str, tuple[str, str]]] = {
    "call": ("•", "*"),
    "failed": ("\u00d7", "x"),
    "bar": ("│", "|"),
    "block": ("█", "#"),
    "dot": ("·", "-"),
    "more": ("…", "..."),
    "prompt": ("\u203a", ">"),
}
"""Each sign, and its replacement where the encoding is not UTF-8."""

SPINNER: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
BREAKS: Final = (" ", "/")
"""A line is best broken behind one of these."""
MIN_WIDTH: Final = 20
DEFAULT_SIZE: Final = (80, 24)


@frozen
class Terminal:
    """The terminal to draw on. *colour* and *moves* (the cursor may be moved) are decided once."""

    out: TextIO
    colour: bool = False
    moves: bool = False
    unicode: bool = True

    @classmethod
    def of_process(cls, environment: Mapping[str, str] = os.environ) -> "Terminal":
        """Return standard output as it is: a terminal that can do what TERM says, or not."""
        out = sys.stdout
        moves = is_terminal(out) and environment.get("TERM", "dumb") != "dumb"
        unicode = (out.encoding or "").lower().replace("-", "") == "utf8"
        colour = moves and not environment.get("NO_COLOR")
        return cls(out, colour, moves, unicode)

    @property
    def width(self) -> int:
        """The width of a line in columns; one less than there are, so that none wraps."""
        return max(MIN_WIDTH, self.size[0]) - 1

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            columns, lines = os.get_terminal_size(self.out.fileno())
        except (OSError, ValueError):
            return DEFAULT_SIZE
        return columns or DEFAULT_SIZE[0], lines or DEFAULT_SIZE[1]

    def paint(self, text: str, *styles: str) -> str:
        """Put *styles* around text that is already safe."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(STYLES[style] for style in styles)}m{text}\x1b[0m"

    def sign(self, name: str) -> str:
        """Return one of our signs."""
        return GLYPHS[name][0 if self.unicode else 1]

    def spinner(self, tick: int) -> str:
        """Return the spinner's picture number *tick*."""
        pictures = SPINNER[0 if self.unicode else 1]
        return pictures[tick % len(pictures)]

    def write(self, text: str) -> None:
        """Write and flush; raises BrokenPipeError when the terminal has gone."""
        self.out.write(text)
        self.out.flush()


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if *stream* is a terminal; a closed stream is none."""
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False


def columns_of(text: str) -> int:
    """Return the width of *text* in columns, without styles."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def cut(text: str, columns: int, more: str = "…") -> str:
    """Return the beginning of *text* that fits into *columns*, and a sign if there is more."""
    if columns_of(text) <= columns:
        return text
    room = max(0, columns - len(more))
    used = 0
    for index, letter in enumerate(text):
        used += _columns(letter)
        if used > room:
            return text[:index] + more
    return text


def fold(text: str, columns: int) -> list[str]:
    """Break one line into lines of at most *columns*, between words where it can; loses nothing."""
    is_ascii, lines, start = text.isascii(), list[str](), 0
    while (end := _full_line(text, start, columns, is_ascii=is_ascii)) < len(text):
        middle = start + (end - start) // 2
        broken = max(text.rfind(sign, middle, end) for sign in BREAKS) + 1 or end
        lines.append(text[start:broken])
        start = broken
    return [*lines, text[start:]]


def _full_line(text: str, start: int, columns: int, *, is_ascii: bool) -> int:
    """Return the end of the letters from *start* that fit into *columns*: at least one."""
    if is_ascii:
        return start + columns
    used = 0
    for place in range(start, len(text)):
        used += _columns(text[place])
        if used > columns and place > start:
            return place
    return len(text)


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
