"""Strings, numbers, booleans, null and closed choices, each accepted as itself or not at all."""

import math
from collections.abc import Callable
from typing import Any

from nanocoder_schema.annotations import SCALARS, Unwrapped
from nanocoder_schema.wrong_type import WrongType, brief

NUMBER_CHARS = 20
Hook = Callable[[Any, Any], Any]


def choice_hook(unwrapped: Unwrapped) -> Hook:
    """Return a hook for a Literal or an Enum: members are chosen by value, and True is not 1."""
    values = unwrapped.choices
    members = {_key(value): member for value, member in zip(values, unwrapped.members, strict=True)}
    listed = ", ".join(map(brief, values))
    expected = f"one of {listed}" if len(values) > 1 else listed

    def choice(value: Any, _: Any) -> Any:
        if not isinstance(value, SCALARS) or _key(value) not in members:
            raise WrongType(expected, value)
        return members[_key(value)]

    return choice


def _key(value: Any) -> tuple[type, Any]:
    if isinstance(value, float) and value.is_integer():
        return int, int(value)
    return type(value), value


def _string(value: Any, _: Any) -> str:
    # A model's null must not become a file named "None".
    if isinstance(value, str):
        return value
    raise WrongType("a string", value)


def _integer(value: Any, _: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WrongType("an integer", value, hint=_unquoted(value, int))


def _number(value: Any, _: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise WrongType("a number of ordinary size", value) from None
        if math.isfinite(number):
            return number
    raise WrongType("a number", value, hint=_unquoted(value, float))


def _boolean(value: Any, _: Any) -> bool:
    if isinstance(value, bool):
        return value
    hint = f"send {value.lower()} without quotes" if str(value).lower() in ("true", "false") else ""
    raise WrongType("true or false", value, hint=hint)


def _null(value: Any, _: Any) -> None:
    if value is not None:
        raise WrongType("null", value)


def _unquoted(value: Any, kind: type) -> str:
    """Small models quote numbers: say exactly what to send instead."""
    if not isinstance(value, str) or len(value) > NUMBER_CHARS:
        return ""
    try:
        kind(value)
    except ValueError:
        return ""
    return f"send {value.strip()} without quotes"


SCALAR_HOOKS: dict[Any, Hook] = {
    str: _string,
    int: _integer,
    float: _number,
    bool: _boolean,
    type(None): _null,
}
