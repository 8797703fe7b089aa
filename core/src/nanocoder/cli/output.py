"""Printing: one JSON object or aligned columns on stdout.

Everything that was not ours made safe first.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from nanocoder.text import for_terminal


def print_json(value: Any) -> None:
    """Print *value* as one JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def print_line(text: str = "") -> None:
    """Print one line, with anything that could steer a terminal made visible."""
    sys.stdout.write(for_terminal(text) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows below their heads, aligned; numbers to the right."""
    texts = [[for_terminal(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    right = [
        bool(rows) and all(isinstance(row[place], (int, float)) for row in rows)
        for place in range(len(head))
    ]
    for line in [list(head), *texts]:
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def complain(message: str) -> None:
    """Write a message for a person to stderr, made safe for a terminal.

    A closed stderr is nobody's concern.
    """
    from nanocoder.text import for_terminal

    try:
        sys.stderr.write(f"nanocoder: {for_terminal(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
