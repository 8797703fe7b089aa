"""The bounds of a `Param`: each says what is wrong with a value, or nothing."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from nanocoder_schema.misfit import shown
from nanocoder_schema.param import Param
from nanocoder_schema.pattern import matches

Bound = Callable[[Any], str]


def bounds_of(notes: Sequence[Param]) -> list[Bound]:
    """Return the bounds in *notes*; a bound ignores what it does not measure."""
    return [bound for note in notes for bound in (*_numeric(note), *_sized(note), *_matching(note))]


def _numeric(note: Param) -> list[Bound]:
    offers: list[tuple[float | None, Callable[[float, float], bool], str]] = [
        (note.ge, lambda value, limit: value >= limit, "at least"),
        (note.gt, lambda value, limit: value > limit, "more than"),
        (note.le, lambda value, limit: value <= limit, "at most"),
        (note.lt, lambda value, limit: value < limit, "less than"),
    ]
    return [_compared(limit, holds, words) for limit, holds, words in offers if limit is not None]


def _compared(limit: float, holds: Callable[[float, float], bool], words: str) -> Bound:
    def bound(value: Any) -> str:
        measured = isinstance(value, int | float) and not isinstance(value, bool)
        if not measured or holds(value, limit):
            return ""
        return f"expected {words} {limit}, got {shown(value)}"

    return bound


def _sized(note: Param) -> list[Bound]:
    least, most = note.min_length or 0, note.max_length

    def bound(value: Any) -> str:
        if not isinstance(value, str | list | tuple | dict):
            return ""
        size, unit = len(value), _unit(value)
        if size < least:
            return f"expected at least {least} {unit}, got {size}"
        if most is not None and size > most:
            return f"expected at most {most} {unit}, got {size}"
        return ""

    return [bound] if least or most is not None else []


def _unit(value: Any) -> str:
    if isinstance(value, str):
        return "characters"
    return "entries" if isinstance(value, dict) else "items"


def _matching(note: Param) -> list[Bound]:
    if note.pattern is None:
        return []
    pattern = re.compile(note.pattern).pattern

    def bound(value: Any) -> str:
        found = matches(pattern, value) if isinstance(value, str) else True
        if found is None:
            return f"the pattern {pattern} takes too long for this value, which is refused"
        return "" if found else f"expected text that matches {pattern}, got {shown(value)}"

    return [bound]
