"""Rows in aligned columns."""

from collections.abc import Sequence

from nanocoder import for_terminal

from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut

GAP = 2


def table_lines(rows: Sequence[Sequence[str]], terminal: Terminal) -> list[str]:
    """Return a line for each row: the first column plain, the others dim, cut at the edge."""
    texts = [[" ".join(for_terminal(cell).split()) for cell in row] for row in rows]
    count = max(map(len, texts), default=0)
    widths = [
        max((columns_of(row[place]) for row in texts if place < len(row)), default=0)
        for place in range(count)
    ]
    return [_line(row, widths, terminal) for row in texts]


def _line(row: Sequence[str], widths: Sequence[int], terminal: Terminal) -> str:
    padded = [
        cell + " " * (width + GAP - columns_of(cell))
        for cell, width in zip(row, widths, strict=False)
    ]
    rest = cut("".join(padded[1:]).rstrip(), max(0, terminal.width - columns_of(padded[0])))
    return (padded[0] + terminal.paint(rest, "dim")).rstrip()
