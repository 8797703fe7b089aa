"""The final screen of a text that moves the cursor back and overwrites itself.

Progress bars and dashboards draw one frame over another: with a carriage return, or by moving the
cursor up. A model needs only the last frame.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

MOVES: Final = re.compile(r"\r(?!\n)|\x08|\x1b\[[0-9;]*[A-HJKf]")
PIECES: Final = r"\r?\n|\r|\x08|\x1b\[([0-9;?]*)([@-~])|[^\r\n\x08\x1b]+|\x1b"
MOST_ROWS: Final = 500
"""No screen is higher; a cursor that is sent further stays there."""
MOST_COLUMNS: Final = 2_000


def last_states(text: str) -> str:
    """Return *text* as a terminal shows it in the end, where lines were written over."""
    if not MOVES.search(text):
        return text
    screen = _Screen()
    for piece in re.finditer(PIECES, text):
        screen.write(piece[0], piece[1] or "", piece[2] or "")
    return screen.text


class _Screen:
    """An unlimited screen; the first jump to the top starts a frame below the earlier text."""

    def __init__(self) -> None:
        self.rows = [""]
        self._row = self._column = 0
        self._top = -1
        self._is_fresh = True
        self._actions: Mapping[str, Callable[[int, int], None]] = {
            "A": lambda n, _: self._go(self._row - (n or 1)),
            "B": lambda n, _: self._go(self._row + (n or 1)),
            "C": lambda n, _: self._move(self._column + (n or 1)),
            "D": lambda n, _: self._move(self._column - (n or 1)),
            "E": lambda n, _: self._go(self._row + (n or 1), 0),
            "F": lambda n, _: self._go(self._row - (n or 1), 0),
            "G": lambda n, _: self._move((n or 1) - 1),
            "H": self._jump,
            "f": self._jump,
            "J": self._erase_below,
            "K": self._erase_line,
        }

    @property
    def text(self) -> str:
        """The rows in the end; empty space on a full screen is one row each."""
        text = "\n".join(self.rows)
        return text if self._top < 0 else re.sub(r"\n\s*\n", "\n\n", text).lstrip("\n")

    def write(self, piece: str, numbers: str, letter: str) -> None:
        """Print text, or execute a known control sequence; ignore others."""
        if piece in {"\n", "\r\n"}:
            self._row, self._column, self._is_fresh = self._row + 1, 0, True
            self.rows.extend([""] * (self._row + 1 - len(self.rows)))
        elif piece == "\r":
            self._column, self._is_fresh = 0, True
        elif piece == "\x08":
            self._move(self._column - 1)
        elif letter:
            if letter in self._actions and "?" not in numbers:
                first, _, second = numbers.partition(";")
                self._actions[letter](_number(first), _number(second))
        elif piece != "\x1b":
            self._print(piece)

    def _print(self, text: str) -> None:
        line = self.rows[self._row]
        # A new frame replaces the line: a shorter one must not show the end of a longer one.
        rest = "" if self._is_fresh and not self._column else line[self._column + len(text) :]
        self.rows[self._row] = line[: self._column].ljust(self._column) + text + rest
        self._column += len(text)
        self._is_fresh = False

    def _move(self, column: int) -> None:
        self._column = min(max(column, 0), MOST_COLUMNS)
        self._is_fresh = False

    def _go(self, row: int, column: int | None = None) -> None:
        self._row = min(max(row, 0), len(self.rows) - 1)
        self._column = self._column if column is None else column
        self._is_fresh = True

    def _jump(self, row: int, column: int) -> None:
        self._make_frame()
        self._row = self._top + min(max(row, 1), MOST_ROWS) - 1
        self.rows.extend([""] * (self._row + 1 - len(self.rows)))
        self._column = min(max(column, 1), MOST_COLUMNS) - 1
        self._is_fresh = True

    def _make_frame(self) -> None:
        if self._top < 0:
            self._top = len(self.rows) - (not self.rows[-1])
            self.rows.extend([""] * (self._top + 1 - len(self.rows)))

    def _erase_below(self, how: int, _: int) -> None:
        if how:  # the whole screen
            self._make_frame()
            del self.rows[self._top + 1 :]
            self.rows[self._top] = ""
            self._row = self._top
        else:
            self.rows[self._row] = self.rows[self._row][: self._column]
            del self.rows[self._row + 1 :]

    def _erase_line(self, how: int, _: int) -> None:
        line = self.rows[self._row]
        blank = " " * self._column
        erased = {0: line[: self._column], 1: blank + line[self._column :]}
        self.rows[self._row] = erased.get(how, "")


def _number(text: str) -> int:
    return int(text[:6]) if text.isdecimal() else 0
