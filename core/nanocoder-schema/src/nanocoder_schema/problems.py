"""What does not fit, in lines that a model can act on: the place, what was expected, what came."""

from collections.abc import Iterator
from typing import Any

import attrs
from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)

from nanocoder_schema.misfit import shown

MAX_LINES = 50


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
    elif isinstance(error, RecursionError):
        raise error
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
