"""Printing: one JSON object or aligned columns on stdout.

Everything that was not ours made safe first.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, Final, TextIO

from nanocoder_schema import for_terminal

MIN_COLUMNS: Final = 20
WIDE: Final = 60
"""How wide a column of a table is made at the most."""


def answers() -> TextIO:
    """Return standard output, also where it is kept for JSON and `sys.stdout` is another."""
    is_kept = sys.stdout is sys.stderr and sys.__stdout__ is not None
    return sys.__stdout__ if is_kept else sys.stdout  # type: ignore[return-value]


def print_json(value: Any) -> None:
    """Print *value* as one JSON document."""
    answers().write(json.dumps(value, indent=2, default=str) + "\n")


def print_line(text: str = "") -> None:
    """Print one line, with anything that could steer a terminal made visible."""
    sys.stdout.write(for_terminal(text) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows below their heads, aligned, each on a line of its own; numbers to the right."""
    texts = [[" ".join(for_terminal(str(cell)).split("\n")) for cell in row] for row in rows]
    columns = [[title, *cells] for title, *cells in zip(head, *texts, strict=True)]
    for place, column in enumerate(columns):
        is_right = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        # One long value must not push what follows it out of sight.
        width = min(WIDE, max(map(len, column)))
        column[:] = [cell.rjust(width) if is_right else cell.ljust(width) for cell in column]
    for cells in zip(*columns, strict=True):
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def terminal_width() -> int:
    """Return how many columns standard output has; 0 where it is no terminal."""
    if not sys.stdout.isatty():
        return 0
    import shutil  # only tables on a terminal need it

    return max(shutil.get_terminal_size().columns, MIN_COLUMNS)


def is_agreed(question: str) -> bool:
    """Ask for a yes; anything else is a no, an end of input too."""
    try:
        return input(f"{question} [y/N] ").strip().casefold() in {"y", "yes"}
    except EOFError:
        print_line()  # what comes next would stand behind the question
        return False
    except KeyboardInterrupt:
        print_line()
        raise


def complain(message: str) -> None:
    """Write a message for a person to stderr, made safe for a terminal.

    A closed stderr is nobody's concern.
    """
    try:
        sys.stderr.write(f"nanocoder: {for_terminal(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
