"""Strings, numbers, booleans, null and closed choices, each taken as itself or not at all."""

import enum
import math
from collections.abc import Callable
from typing import Any

from nanocoder_schema.annotations import SCALARS, choices, opened
from nanocoder_schema.misfit import Misfit, shown

NUMBER_CHARS = 20
Hook = Callable[[Any, Any], Any]


def choice_hook(annotation: Any) -> Hook:
    """Return a hook for a Literal or an Enum: members are chosen by value, and True is not 1."""
    kind = opened(annotation).kind
    members = (
        list(kind)
        if isinstance(kind, type) and issubclass(kind, enum.Enum)
        else opened(annotation).args
    )
    values = choices(annotation) or []
    table = {_key(value): member for value, member in zip(values, members, strict=True)}
    listed = ", ".join(shown(value) for value in values)
    expected = f"one of {listed}" if len(values) > 1 else listed

    def choice(value: Any, _: Any) -> Any:
        if not isinstance(value, SCALARS) or _key(value) not in table:
            raise Misfit(expected, value)
        return table[_key(value)]

    return choice


def _key(value: Any) -> tuple[type, Any]:
    if isinstance(value, float) and value.is_integer():
        return int, int(value)
    return type(value), value


def _string(value: Any, _: Any) -> str:
    # A model's null must not become a file named "None".
    if isinstance(value, str):
        return value
    raise Misfit("a string", value)


def _integer(value: Any, _: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise Misfit("an integer", value, hint=_unquoted(value, int))


def _number(value: Any, _: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise Misfit("a number of ordinary size", value) from None
        if math.isfinite(number):
            return number
    raise Misfit("a number", value, hint=_unquoted(value, float))


def _boolean(value: Any, _: Any) -> bool:
    if isinstance(value, bool):
        return value
    hint = f"send {value.lower()} without quotes" if str(value).lower() in ("true", "false") else ""
    raise Misfit("true or false", value, hint=hint)


def _null(value: Any, _: Any) -> None:
    if value is not None:
        raise Misfit("null", value)


def _unquoted(value: Any, kind: type) -> str:
    """Small models quote numbers: say exactly what to send instead."""
    if not isinstance(value, str) or len(value) > NUMBER_CHARS:
        return ""
    try:
        kind(value)
    except ValueError:
        return ""
    return f"send {value.strip()} without quotes"


HOOKS: dict[Any, Hook] = {
    str: _string,
    int: _integer,
    float: _number,
    bool: _boolean,
    type(None): _null,
}
