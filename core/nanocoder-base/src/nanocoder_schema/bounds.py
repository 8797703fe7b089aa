"""Descriptions and bounds of parameters, and the check of bounds.

Some patterns take years for thirty characters, and Python's engine cannot be interrupted: a pattern
with unbounded backtracking is refused at its declaration.
"""

import operator
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nanocoder_schema.errors import show

MOST_STEPS = 10_000_000
"""The limit of steps for one match, about a tenth of a second."""
LIMITS = (
    ("ge", operator.ge, "at least"),
    ("gt", operator.gt, "more than"),
    ("le", operator.le, "at most"),
    ("lt", operator.lt, "less than"),
)
UNITS = {str: "characters", list: "items", tuple: "items", dict: "entries"}


class Param(NamedTuple):
    """The purpose of a parameter, and the bounds of its values.

    Used as `Annotated[int, Param("Lines to read.", ge=1)]`; a plain string in `Annotated` is a
    description, too. Lengths count characters of a string, items of a list, entries of an object.
    """

    description: str = ""
    ge: float | None = None
    le: float | None = None
    gt: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


def bound_problems(note: Param, value: Any) -> Iterator[str]:
    """Yield the bounds that *value* violates; a bound ignores types that it does not apply to."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name, holds, words in LIMITS:
            limit = getattr(note, name)
            if limit is not None and not holds(value, limit):
                yield f"expected {words} {limit}, got {show(value)}"
    unit = next((unit for kind, unit in UNITS.items() if isinstance(value, kind)), "")
    least, most = note.min_length, note.max_length
    if unit and least is not None and len(value) < least:
        yield f"expected at least {least} {unit}, got {len(value)}"
    elif unit and most is not None and len(value) > most:
        yield f"expected at most {most} {unit}, got {len(value)}"
    if note.pattern is not None and isinstance(value, str):
        if _most_steps(note.pattern, len(value)) > MOST_STEPS:
            yield f"the pattern {note.pattern} takes too long for this value, which is refused"
        elif not re.search(note.pattern, value):
            yield f"expected text that matches {note.pattern}, got {show(value)}"


def check_pattern(pattern: str) -> None:
    """Raise TypeError for a *pattern* with unbounded backtracking."""
    if _most_steps(pattern, 1) > MOST_STEPS:
        raise TypeError(
            f"the pattern {pattern!r} repeats a group, or what a group has matched, which can take "
            "years; write it without, or check the value in the handler"
        )


def _most_steps(pattern: str, length: int) -> float:
    """Return an upper bound of the engine's steps; infinity if there is none."""
    plain = re.sub(r"\\[1-9]", "(x)*", pattern)  # a back reference counts as the worst case
    plain = re.sub(r"\\.", "x", plain)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)
    # In a verbose pattern, spaces and comments may precede a group's quantifier.
    if re.search(r"\)[*+{]|\(\?P=|\(\?[a-z-]*x", plain):
        return float("inf")
    repeats = len(re.findall(r"[*+{]", plain))
    starts = 0 if plain.startswith("^") else 1
    return float(max(length, 1)) ** min(repeats + starts, 60)
