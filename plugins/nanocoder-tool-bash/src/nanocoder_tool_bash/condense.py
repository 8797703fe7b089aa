"""A long output in fewer lines: similar lines counted, long ones cut, errors preserved."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

from nanocoder import OutputLimit, clip_output

LINE_CHARS: Final = 2_000
LEAST_ALIKE: Final = 4
"""Least number of lines, equal except for numbers, that are counted instead of shown."""
ERROR: Final = r"(?i)\b(?:error|errors|exception|fatal|failed|failure|panic|traceback)\b"
WORD: Final = "[^\\W\\d_]{3}"
CUT: Final = r"(?m)^\[.* left out.*\]$"
MOST_ERRORS: Final = 10
ERROR_CHARS: Final = 200
NOTE: Final = "[lines of it about errors:]"


def condense(text: str) -> str:
    """Return *text* with lines that are alike counted, and long ones cut."""
    return "\n".join(_condensed(text.split("\n")))


def shorten(text: str, limit: OutputLimit, where: str, unseen: tuple[int, int] = (0, 0)) -> str:
    """Return *text* cut to *limit*, and the lines about errors from the cut part.

    *where* is the path of the whole text, *unseen* the lines and characters missing in *text*.
    """
    condensed = condense(text)
    if limit.holds(condensed) and not any(unseen):
        origin = f"; whole output: {where}" if where else ""
        return f"{condensed.rstrip()}\n[like lines are counted, long ones cut{origin}]"
    clipped = clip_output(condensed, limit, where=where, unseen=unseen)
    is_shown = frozenset(clipped.split("\n")).__contains__
    lines = itertools.filterfalse(is_shown, condensed.split("\n"))
    errors = [line[:ERROR_CHARS] for line in lines if re.search(ERROR, line)]
    if not errors:
        return clipped
    more = "\n".join([NOTE, *errors[:MOST_ERRORS], ""])
    return re.sub(CUT, lambda note: f"{note[0]}\n{more}", clipped, count=1)


def _condensed(lines: list[str]) -> Iterator[str]:
    for form, group in itertools.groupby(lines, _without_numbers):
        alike = list(group)
        # Lines that consist of numbers would lose all information.
        if len(alike) < LEAST_ALIKE or (alike[0] != alike[-1] and not re.search(WORD, form)):
            yield from map(_cut, alike)
        else:
            yield _cut(alike[0])
            yield f"… {len(alike) - 2:,} lines like this"
            yield _cut(alike[-1])


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "0", line[:LINE_CHARS])


def _cut(line: str) -> str:
    left_out = len(line) - LINE_CHARS
    return line if left_out <= 0 else f"{line[:LINE_CHARS]} [{left_out:,} characters left out]"
