"""JSON values into checked Python values, nothing coerced; faults in lines a model can act on."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from nanocoder_schema.annotations import SCALARS, Unannotated, Unwrapped, unwrap
from nanocoder_schema.bounds import bound_problems
from nanocoder_schema.errors import BadArguments, WrongType, show
from nanocoder_schema.json_text import hint_for_text
from nanocoder_schema.text import did_you_mean

T = TypeVar("T")
Check = Callable[[Unwrapped, Any, str], Any]
"""Returns the Python form of a value, which is found at a path; raises ValueError."""

MAX_LINES = 50
NUMBER_CHARS = 20


class _Faults(ValueError):
    """Problems inside a value: *lines* that name their places."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(*lines[:1])
        self.lines = lines


def structured(cls: type[T], data: Any, where: str = "") -> T:
    """Make a *cls* of *data*.

    Raises: BadArguments with one line for each problem.
    """
    try:
        value: T = _checked(unwrap(cls), data, where)
    except RecursionError:
        raise BadArguments([f"{where or 'the arguments'}: nested too deeply"]) from None
    except ValueError as error:
        lines = _lines(error, where)
        left_out = len(lines) - MAX_LINES
        more = [f"… and {left_out:,} more problems"] if left_out > 0 else []
        raise BadArguments(lines[:MAX_LINES] + more) from None
    return value


def _checked(unwrapped: Unwrapped, value: Any, path: str) -> Any:
    result = CHECKS[unwrapped.form](unwrapped, value, path)
    if problems := [line for note in unwrapped.notes for line in bound_problems(note, value)]:
        raise ValueError(", and ".join(problems))
    return result


def _each(parts: Iterable[tuple[Unwrapped, Any, str]]) -> list[Any]:
    """Check all *parts* of a value, and raise what is wrong with any of them."""
    results: list[Any] = []
    lines: list[str] = []
    for unwrapped, value, path in parts:
        try:
            results.append(_checked(unwrapped, value, path))
        except ValueError as error:
            lines += _lines(error, path)
    if lines:
        raise _Faults(lines)
    return results


def _lines(error: Exception, path: str) -> list[str]:
    if isinstance(error, _Faults):
        return error.lines
    # attrs puts the class, the attribute and the value behind its message.
    text = str(error.args[0]) if error.args else type(error).__name__
    return [f"{path or 'the arguments'}: {text}"]


def _only(expected: str, types: Any, value: Any) -> Any:
    """Refuse all but *types*: a string is iterable, "abc" must not become ["a", "b", "c"]."""
    if not isinstance(value, types):
        raise WrongType(expected, value, hint=hint_for_text(value))
    return value


def _class(unwrapped: Unwrapped, value: Any, path: str) -> Any:
    cls, fields = unwrapped.kind, _fields_of(unwrapped.kind)
    values: dict[str, Any] = {}
    lines: list[str] = []
    sent = _only("an object", dict, value)
    for name, (field, kind) in fields.items():
        place = _join(path, name)
        if name not in sent:
            if field.default is attrs.NOTHING:
                lines.append(f"{place}: required, but missing")
            continue
        try:
            result = _checked(kind, sent[name], place)
            _validate(cls, field, result, place)
            values[str(field.alias)] = result
        except ValueError as error:
            lines += _lines(error, place)
    for key in sorted(sent.keys() - fields.keys(), key=str):
        lines.append(f"{_join(path, key)}: no such name{_advice(key, [*fields])}")
    if lines:
        raise _Faults(lines)
    with _rule(path):
        return cls(**values)


@cache
def _fields_of(cls: type) -> "dict[str, tuple[attrs.Attribute[Any], Unwrapped]]":
    """Return the fields of an attrs class that a value can set, with their types."""
    attrs.resolve_types(cls)
    fields = (field for field in attrs.fields(cls) if field.init)
    return {field.name: (field, unwrap(field.type or Unannotated)) for field in fields}


def _validate(cls: type, field: "attrs.Attribute[Any]", value: Any, path: str) -> None:
    """Run a field's own validator: __init__ would stop at the first, and not name the field."""
    if field.converter is None and field.validator is not None:
        # A validator that needs other fields finds none here; __init__ runs it again.
        with _rule(path), suppress(AttributeError):
            field.validator(object.__new__(cls), field, value)


@contextmanager
def _rule(path: str) -> Iterator[None]:
    """Take whatever the code of a class raises for what is wrong at *path*."""
    try:
        yield
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001 - a class may raise anything
        raise _Faults(_lines(error, path)) from None


def _mapping(unwrapped: Unwrapped, value: Any, path: str) -> Any:
    key_type, item_type = unwrapped.inner or (unwrap(str), unwrap(Any))
    parts: list[tuple[Unwrapped, Any, str]] = []
    for key, item in _only("an object", dict, value).items():
        place = _join(path, key)
        parts += [(item_type, item, place), (key_type, key, place)]
    results = _each(parts)
    return dict(zip(results[1::2], results[::2], strict=True))


def _list(unwrapped: Unwrapped, value: Any, path: str) -> Any:
    item_type = unwrapped.inner[0] if unwrapped.inner else unwrap(Any)
    sent = enumerate(_only("a list", list | tuple, value))
    items = _each((item_type, item, f"{path}[{index}]") for index, item in sent)
    return tuple(items) if unwrapped.kind is tuple else items


def _union(unwrapped: Unwrapped, value: Any, path: str) -> Any:
    errors: list[Exception] = []
    # The member of the value's very own type goes first: 2.0 is a float where both are offered.
    for member in sorted(unwrapped.inner, key=lambda member: member.kind is not type(value)):
        try:
            return _checked(member, value, path)
        except ValueError as error:
            errors.append(error)
    raise _closest(errors, value)


def _closest(errors: list[Exception], value: Any) -> Exception:
    """Choose the fault inside a member whose shape fits, else name every shape."""
    wrong_types = [error for error in errors if isinstance(error, WrongType)]
    if len(wrong_types) < len(errors):
        return next(error for error in errors if not isinstance(error, WrongType))
    expected = dict.fromkeys(error.expected for error in wrong_types)
    hint = next((error.hint for error in wrong_types if error.hint), "")
    return WrongType(" or ".join(expected), value, hint=hint)


def _anything(unwrapped: Unwrapped, value: Any, _: str) -> Any:
    """Accept any value where the type says nothing about JSON; the schema names the place."""
    return Path(_only("a string", str, value)) if unwrapped.kind is Path else value


def _choice(unwrapped: Unwrapped, value: Any, _: str) -> Any:
    """Choose a member of a Literal or an Enum by its value; True is not 1."""
    choices = unwrapped.choices
    members = dict(zip(map(_key, choices), unwrapped.members, strict=True))
    if isinstance(value, SCALARS) and _key(value) in members:
        return members[_key(value)]
    listed = ", ".join(map(show, choices))
    raise WrongType(f"one of {listed}" if len(choices) > 1 else listed, value)


def _key(value: Any) -> tuple[type, Any]:
    if isinstance(value, float) and value.is_integer():
        return int, int(value)
    return type(value), value


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WrongType("an integer", value, hint=_unquoted(value, int))


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise WrongType("a number of ordinary size", value) from None
        if math.isfinite(number):
            return number
    raise WrongType("a number", value, hint=_unquoted(value, float))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    hint = f"send {value.lower()} without quotes" if str(value).lower() in ("true", "false") else ""
    raise WrongType("true or false", value, hint=hint)


def _unquoted(value: Any, kind: type) -> str:
    """Small models quote numbers: say exactly what to send instead."""
    if not isinstance(value, str) or len(value) > NUMBER_CHARS:
        return ""
    try:
        kind(value)
    except ValueError:
        return ""
    return f"send {value.strip()} without quotes"


SCALAR_CHECKS: dict[Any, Callable[[Any], Any]] = {
    # A model's null must not become a file named "None".
    str: partial(_only, "a string", str),
    int: _integer,
    float: _number,
    bool: _boolean,
    type(None): partial(_only, "null", type(None)),
}

CHECKS: dict[str, Check] = {
    "any": _anything,
    "scalar": lambda unwrapped, value, _: SCALAR_CHECKS[unwrapped.kind](value),
    "choice": _choice,
    "class": _class,
    "mapping": _mapping,
    "list": _list,
    "union": _union,
    "untyped": _anything,
}


def _join(path: str, name: Any) -> str:
    if isinstance(name, str) and name.isidentifier():
        return f"{path}.{name}" if path else name
    return f"{path}[{show(name)}]"


def _advice(key: Any, names: list[str]) -> str:
    there_are = f"; there are {', '.join(names)}" if names else "; there are none"
    return did_you_mean(str(key).lower(), names, there_are, cutoff=0.5)
