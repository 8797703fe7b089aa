"""Errors of a check, in lines that a model can act on: the place, what was expected, what came."""

from collections.abc import Iterator
from typing import Any

import attrs
from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)

from nanocoder_schema.text import did_you_mean
from nanocoder_schema.wrong_type import brief

MAX_LINES = 50


def error_lines(error: Exception, where: str) -> list[str]:
    """Return one line for each problem in *error*, in the order of the definition."""
    try:
        lines = list(_lines(error, where))
    except RecursionError:
        return [f"{where or 'the arguments'}: nested too deeply"]
    left_out = len(lines) - MAX_LINES
    return lines if left_out <= 0 else [*lines[:MAX_LINES], f"… and {left_out:,} more problems"]


def _lines(error: Exception, path: str) -> Iterator[str]:
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _member_lines(inner, path)
    elif isinstance(error, ForbiddenExtraKeysError):
        names = [field.name for field in attrs.fields(error.cl) if field.init]
        for key in sorted(error.extra_fields, key=str):
            yield f"{_join(path, key)}: no such name{_advice(key, names)}"
    elif isinstance(error, RecursionError):
        raise error
    else:
        # attrs puts the class, the attribute and the value behind its message.
        text = str(error.args[0]) if error.args else type(error).__name__
        yield f"{path or 'the arguments'}: {text}"


def _member_lines(error: Exception, path: str) -> Iterator[str]:
    # The last note is of the innermost level, the others are of the levels around it.
    kinds = AttributeValidationNote | IterableValidationNote
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, kinds)]
    note = notes[-1] if notes else None
    if isinstance(note, AttributeValidationNote):
        path = _join(path, note.name)
        if isinstance(error, KeyError) and error.args == (note.name,):
            yield f"{path}: required, but missing"
            return
    elif note is not None:
        path = f"{path}[{note.index}]" if isinstance(note.index, int) else _join(path, note.index)
    yield from _lines(error, path)


def _join(path: str, name: Any) -> str:
    if isinstance(name, str) and name.isidentifier():
        return f"{path}.{name}" if path else name
    return f"{path}[{brief(name)}]"


def _advice(key: Any, names: list[str]) -> str:
    there_are = f"; there are {', '.join(names)}" if names else "; there are none"
    return did_you_mean(str(key).lower(), names, there_are, cutoff=0.5)
