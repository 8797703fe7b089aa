"""The final screen of a text that moves the cursor back and overwrites itself.

Progress bars and dashboards draw one frame over another: with a carriage return, or by moving the
cursor up. A model needs only the last frame.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

MOVES: Final = re.compile(r"\r(?!\n)|\x08|\x1b\[[0-9;]*[A-HJKfu]|\x1b[8M]")
PIECES: Final = (
    r"\r?\n|\r|\x08|\x1b\[([0-?]*[ -/]*)([@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]"  # titles, charsets
    r"|[^\r\n\x08\x1b]+|\x1b"
)
_SAVING: Final = frozenset({"\x1b7", "\x1b8", "\x1b[s", "\x1b[u"})
_DIGITS: Final = frozenset("0123456789;")
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
    """An unlimited screen; the first jump to the top starts a frame below the earlier text.

    A jump after the cursor was saved leads to a screen of its own, such as a status line, until the
    cursor is restored: it covers no text, and is shown below it.
    """

    def __init__(self) -> None:
        self.rows = [""]
        self._row = self._column = 0
        self._top = -1
        self._is_fresh = True
        self._saved: tuple[int, int] | None = None
        self._is_saved = False  # and not restored since
        self._status: _Screen | None = None
        self._is_in_status = False
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
            "s": self._save,
            "u": self._restore,
            "\x1b7": self._save,
            "\x1b8": self._restore,
            "\x1bM": lambda *_: self._go(self._row - 1),
        }

    @property
    def text(self) -> str:
        """The rows in the end; empty space on a full screen is one row each."""
        text = "\n".join(self.rows)
        text = text if self._top < 0 else re.sub(r"\n\s*\n", "\n\n", text).lstrip("\n")
        return f"{text}\n{self._status.text}" if self._status else text

    def write(self, piece: str, numbers: str, letter: str) -> None:
        """Print text, or execute a known control sequence; ignore others."""
        is_jump = letter in {"H", "f"} and self._is_saved
        if (self._is_in_status or is_jump) and piece not in _SAVING:
            self._status, self._is_in_status = self._status or _Screen(), True
            self._status.write(piece, numbers, letter)
        elif piece in {"\n", "\r\n"}:
            self._row, self._column, self._is_fresh = self._row + 1, 0, True
            self.rows.extend([""] * (self._row + 1 - len(self.rows)))
        elif piece == "\r":
            self._column, self._is_fresh = 0, True
        elif piece == "\x08":
            self._move(self._column - 1)
        elif piece[0] != "\x1b":
            self._print(piece)
        elif set(numbers) <= _DIGITS and (action := self._actions.get(letter or piece)):
            first, _, second = numbers.partition(";")
            action(_number(first), _number(second))

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

    def _save(self, *_: int) -> None:
        self._saved, self._is_saved = (self._row, self._column), True

    def _restore(self, *_: int) -> None:
        if self._saved is not None and not self._is_in_status:
            self._go(*self._saved)
            self._is_fresh = False
        self._is_saved = self._is_in_status = False

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
