"""The bounds of a `Param`: each returns what is wrong with a value, or nothing."""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nanocoder_schema.param import Param
from nanocoder_schema.pattern import matches
from nanocoder_schema.wrong_type import brief

Bound = Callable[[Any], str]
LIMITS = (
    ("ge", operator.ge, "at least"),
    ("gt", operator.gt, "more than"),
    ("le", operator.le, "at most"),
    ("lt", operator.lt, "less than"),
)


def bounds_of(notes: Sequence[Param]) -> list[Bound]:
    """Return the bounds in *notes*; a bound ignores values that it does not measure."""
    return [bound for note in notes for bound in _bounds(note)]


def _bounds(note: Param) -> Iterator[Bound]:
    for name, holds, words in LIMITS:
        limit = getattr(note, name)
        if limit is not None:
            yield _limit(limit, holds, words)
    if note.min_length or note.max_length is not None:
        yield _length(note.min_length or 0, note.max_length)
    if note.pattern is not None:
        yield _pattern(re.compile(note.pattern).pattern)


def _limit(limit: float, holds: Callable[[Any, Any], bool], words: str) -> Bound:
    def bound(value: Any) -> str:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = not is_number or holds(value, limit)
        return "" if fits else f"expected {words} {limit}, got {brief(value)}"

    return bound


def _length(least: int, most: int | None) -> Bound:
    units = {str: "characters", list: "items", tuple: "items", dict: "entries"}

    def bound(value: Any) -> str:
        unit = next((unit for kind, unit in units.items() if isinstance(value, kind)), "")
        if unit and len(value) < least:
            return f"expected at least {least} {unit}, got {len(value)}"
        if unit and most is not None and len(value) > most:
            return f"expected at most {most} {unit}, got {len(value)}"
        return ""

    return bound


def _pattern(pattern: str) -> Bound:
    def bound(value: Any) -> str:
        is_match = matches(pattern, value) if isinstance(value, str) else True
        if is_match is None:
            return f"the pattern {pattern} takes too long for this value, which is refused"
        return "" if is_match else f"expected text that matches {pattern}, got {brief(value)}"

    return bound
