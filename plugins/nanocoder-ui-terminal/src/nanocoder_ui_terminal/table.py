"""Rows in aligned columns."""

from collections.abc import Sequence

from nanocoder import for_terminal

from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut
from nanocoder_ui_terminal.text_lines import message_lines

GAP = 2
MIN_COLUMNS = 16
"""The smallest width of the last column; in a narrower window it is below the first one."""


def table_lines(rows: Sequence[Sequence[str]], terminal: Terminal) -> list[str]:
    """Return the lines of a table that fit: the first column plain, the others dim.

    The cells of the last column are wrapped between words. Where little room is left for them, the
    cells behind the first one are below it; rows of three columns that fit stay as they are.
    """
    texts = [[" ".join(for_terminal(cell).split()) for cell in row] for row in rows]
    count = max(map(len, texts), default=0)
    widths = [
        max((columns_of(row[place]) for row in texts if place < len(row)), default=0)
        for place in range(count)
    ]
    room = terminal.width - sum(widths[:-1]) - GAP * (count - 1)
    if count > 1 and room < min(MIN_COLUMNS, widths[-1]):
        return [line for row in texts for line in _narrow(row, widths, terminal)]
    lines = []
    for row in texts:
        is_wrapped = len(row) == count and room >= MIN_COLUMNS
        parts = list(message_lines(row[-1], room)) if is_wrapped else row[-1:]
        lines += [_line([*row[:-1], *parts[:1]], widths, terminal)]
        lines += [_line([*[""] * (count - 1), part], widths, terminal) for part in parts[1:]]
    return lines


def _narrow(row: Sequence[str], widths: Sequence[int], terminal: Terminal) -> list[str]:
    last = max((place for place, cell in enumerate(row) if cell), default=0)
    columns = sum(widths[:last]) + GAP * last + columns_of(row[last])
    # A short number reads well beside its name; two columns of text would be a jumble.
    if len(widths) > 2 and columns <= terminal.width:  # noqa: PLR2004
        return [_line(row[: last + 1], widths, terminal)]
    return _stacked(row, terminal)


def _stacked(row: Sequence[str], terminal: Terminal) -> list[str]:
    """Return the first cell, and the others below it."""
    rest = (" " * GAP).join(filter(None, row[1:]))
    below = message_lines(rest, max(1, terminal.width - GAP)) if rest else ()
    return [
        *message_lines(row[0], max(1, terminal.width)),
        *(" " * GAP + terminal.paint(line, "dim") for line in below),
    ]


def _line(row: Sequence[str], widths: Sequence[int], terminal: Terminal) -> str:
    padded = [
        cell + " " * (width + GAP - columns_of(cell))
        for cell, width in zip(row, widths, strict=False)
    ]
    if not padded:
        return ""
    rest = cut("".join(padded[1:]).rstrip(), max(0, terminal.width - columns_of(padded[0])))
    return (padded[0] + terminal.paint(rest, "dim")).rstrip()
