"""Tables for a person: aligned columns, on a terminal wrapped to its width."""

import re
import shutil
import sys
from collections.abc import Sequence
from itertools import accumulate, takewhile, zip_longest
from typing import Any, Final
from unicodedata import category, east_asian_width

from nanocoder import for_terminal

GAP: Final = "  "
MIN_COLUMNS: Final = 20
BREAK_AFTER: Final = (" ", ".,/=:", "_-")
"""Marks after which a long cell may be broken, the best ones first."""
WIDE: Final = 60
"""Maximum width of a column other than the last."""
READABLE: Final = 10
"""Width below which a column must fit its longest piece, or rows are printed as records."""
_PIECE: Final = re.compile(r"\d[\d.,:]*|[^ .,/=:_-]+[.,/=:_-]*|[.,/=:_-]+")
_ID: Final = re.compile(r"(?<![\w-])(?=[\w-]*\d{6})[\w-]{8,32}(?![\w-])")
"""A word with a date or another long number, which a person copies as a whole."""


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows below their heads, aligned; numbers to the right.

    On a terminal the cells are wrapped to its width, and where the columns would be too narrow to
    read, each row becomes lines with the head and the cell. Elsewhere a row is a line with all
    there is.
    """
    texts = [[for_terminal(str(cell)) for cell in row] for row in rows]
    right = [
        bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        for index in range(len(head))
    ]
    screen_width = terminal_width()
    if not screen_width:
        texts = [[" ".join(cell.split("\n")) for cell in row] for row in texts]
    widths = _widths([list(head), *texts], screen_width)
    if screen_width and rows and not _is_readable([list(head), *texts], widths):
        _print_records(head, texts, screen_width)
        return
    for line in [list(head), *texts]:
        pieces = [
            _wrapped(cell, width, hang=not index) if screen_width else [cell]
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for cells in zip_longest(*pieces, fillvalue=""):
            placed = map(_aligned, cells, widths, right)
            sys.stdout.write(GAP.join(placed).rstrip() + "\n")


def terminal_width() -> int:
    """Return the columns of the terminal at standard output, or 0 if it is none."""
    if not sys.stdout.isatty():
        return 0
    return max(shutil.get_terminal_size().columns, MIN_COLUMNS)


def _widths(table: Sequence[Sequence[str]], limit: int) -> list[int]:
    """Return the columns' widths; with *limit* they are narrowed until their sum fits."""
    widths = []
    for index, column in enumerate(zip(*table, strict=True)):
        needed = [cells_of(line) for cell in column for line in cell.split("\n")]
        # One long value must not push the following columns out of sight.
        is_last = index == len(table[0]) - 1
        widths.append(max(needed) if is_last else max(min(width, WIDE) for width in needed))
    over = sum(widths) + len(GAP) * (len(widths) - 1) - limit
    least = [max(map(_least, column)) for column in zip(*table, strict=True)] if limit else []
    while limit and over > 0:
        # Cells that stay readable are narrowed first, the widest before the others.
        spare = [width if width > low else 0 for width, low in zip(widths, least, strict=True)]
        widest = spare.index(max(spare)) if any(spare) else widths.index(max(widths))
        widths[widest] -= 1
        over -= 1
    return widths


def _is_readable(table: Sequence[Sequence[str]], widths: Sequence[int]) -> bool:
    """Return True if each column fits its IDs, and its words up to READABLE letters."""
    return all(
        _least(cell) <= width
        for column, width in zip(zip(*table, strict=True), widths, strict=True)
        for cell in column
    )


def _least(cell: str) -> int:
    """Return the least width at which *cell* is readable."""
    words = max((cells_of(piece) for piece in _PIECE.findall(cell)), default=0)
    ids = max((cells_of(name) for name in _ID.findall(cell)), default=0)
    return max(min(words, READABLE), ids)


def _print_records(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """Print each row as lines of one cell with its head, all but the first indented."""
    for row in rows:
        for index, (name, cell) in enumerate(zip(head, row, strict=True)):
            if not cell.strip():
                continue
            indent = GAP if index else ""
            label = f"{name}: " if name else ""
            is_beside = cells_of(label) + _least(cell) + len(GAP) <= width
            lines = [label + cell] if is_beside else [label.rstrip(), *cell.split("\n")]
            text = "\n".join(lines)
            for line in _wrapped(text, width - len(indent), hang=True):
                sys.stdout.write(f"{indent}{line}".rstrip() + "\n")


def _wrapped(cell: str, width: int, *, hang: bool) -> list[str]:
    """Return *cell* in lines of at most *width* columns; with *hang* all but the first indented."""
    lines: list[str] = []
    indent = GAP if hang and width > MIN_COLUMNS // 2 else ""
    for line in cell.split("\n"):
        rest = line
        while cells_of(rest) > width:
            end = _break(rest, width)
            lines.append(rest[:end].rstrip())
            rest = indent + rest[end:].lstrip()
        lines.append(rest)
    return lines


def _break(text: str, width: int) -> int:
    """Return the offset to break *text* at: after a late space or mark, else at the limit."""
    used = accumulate(map(cells_of, text))
    end = len(list(takewhile(lambda cells: cells <= width, used)))
    indent = len(text) - len(text.lstrip())
    end = max(end, indent + 1)
    if text[end : end + 1] == " ":
        return end
    breaks = (max(text.rfind(mark, 0, end) for mark in marks) + 1 for marks in BREAK_AFTER)
    return next((offset for offset in breaks if offset > max(end // 4, indent)), end)


def _aligned(cell: str, width: int, to_right: bool) -> str:  # noqa: FBT001 - mapped by position
    space = " " * (width - cells_of(cell))
    return space + cell if to_right else cell + space


def cells_of(text: str) -> int:
    """Return the width of *text* in columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        # Combining marks take no column, even without a base letter.
        0 if category(letter) in {"Mn", "Me"} else 2 if east_asian_width(letter) in "WF" else 1
        for letter in text
    )
