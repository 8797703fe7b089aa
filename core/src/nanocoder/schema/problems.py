"""What does not fit, in lines that a model can act on: the place, what was expected, what came."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)

SHOWN_CHARS = 60
MAX_LINES = 50


class Misfit(ValueError):
    """A value of the wrong kind; *expected* says which kind was wanted."""

    def __init__(self, expected: str, value: Any, *, hint: str = "") -> None:
        super().__init__(
            f"expected {expected}, got {shown(value)}" + (f" ({hint})" if hint else "")
        )
        self.expected = expected
        self.hint = hint


def shown(value: Any) -> str:
    """Show a JSON value briefly: scalars as themselves, the rest by kind."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]!r}…"
    if isinstance(value, int) and abs(value) >= 10**SHOWN_CHARS:
        return "a huge number"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def lines_of(error: Exception, where: str) -> list[str]:
    """Return one line for each problem in *error*, in the order of the definition."""
    lines = list(_lines(error, where))
    left_out = len(lines) - MAX_LINES
    return lines if left_out <= 0 else [*lines[:MAX_LINES], f"… and {left_out:,} more problems"]


def _lines(error: Exception, path: str) -> Iterator[str]:
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _member_lines(inner, path)
    elif isinstance(error, ForbiddenExtraKeysError):
        yield from _extra_keys(error, path)
    else:
        # attrs puts the class, the attribute and the value behind its message.
        text = str(error.args[0]) if error.args else type(error).__name__
        yield f"{path or 'the arguments'}: {text}"


def _member_lines(error: Exception, path: str) -> Iterator[str]:
    note = _note(error)
    if isinstance(note, AttributeValidationNote):
        path = _joined(path, note.name)
        if isinstance(error, KeyError) and error.args == (note.name,):
            yield f"{path}: required, but missing"
            return
    elif note is not None:
        path = f"{path}[{note.index}]" if isinstance(note.index, int) else _joined(path, note.index)
    yield from _lines(error, path)


def _note(error: Exception) -> AttributeValidationNote | IterableValidationNote | None:
    """Return the note of the innermost level that *error* has not been through yet."""
    for note in reversed(getattr(error, "__notes__", ())):
        if isinstance(note, AttributeValidationNote | IterableValidationNote):
            return note
    return None


def _joined(path: str, name: Any) -> str:
    if isinstance(name, str) and name.isidentifier():
        return f"{path}.{name}" if path else name
    return f"{path}[{shown(name)}]"


def _extra_keys(error: ForbiddenExtraKeysError, path: str) -> Iterator[str]:
    names = [field.name for field in attrs.fields(error.cl) if field.init]
    for key in sorted(error.extra_fields, key=str):
        yield f"{_joined(path, key)}: {_not_known(key, names)}"


def _not_known(key: Any, names: list[str]) -> str:
    # Only the way of a mistake pays for this import.
    from difflib import get_close_matches

    near = get_close_matches(str(key).lower(), names, n=1, cutoff=0.5)
    if near:
        return f"no such name; did you mean {near[0]!r}?"
    return (
        f"no such name; there are {', '.join(names)}" if names else "no such name; there are none"
    )
