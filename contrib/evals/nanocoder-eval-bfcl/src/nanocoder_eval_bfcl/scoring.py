"""Scoring of calls against those that a task of BFCL expects; a check runs this file by itself.

An expected call is a function's name and, for each parameter, the list of values that are right;
"" among them says that the parameter may be left out.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

LEFT_OUT = ""


def is_right(calls: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if *calls* are the *expected* ones, each once, in any order."""
    if not calls:
        return not expected
    return any(
        _matches(calls[0], each) and is_right(calls[1:], [*expected[:at], *expected[at + 1 :]])
        for at, each in enumerate(expected)
    )


def _matches(call: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    ((name, values),) = expected.items()
    return bool(call["name"] == name) and _is_object(call["arguments"], values)


def _is_object(value: Any, values: Mapping[str, Any]) -> bool:
    """Return True if the object *value* has allowed values only, and none is missing."""
    if not isinstance(value, dict) or value.keys() - values.keys():
        return False
    return all(
        _is_one_of(value[name], allowed) if name in value else LEFT_OUT in allowed
        for name, allowed in values.items()
    )


def _is_one_of(value: Any, allowed: Sequence[Any]) -> bool:
    return any(_is_same(value, each) for each in allowed)


def _is_same(value: Any, right: Any) -> bool:
    if isinstance(right, dict):
        return _is_object(value, right)
    if isinstance(right, list):
        is_list = isinstance(value, list) and len(value) == len(right)
        return is_list and all(map(_is_same, value, right))
    if isinstance(right, str):
        return isinstance(value, str) and _plain(value) == _plain(right)
    if isinstance(value, bool) or isinstance(right, bool):
        return value is right
    return bool(value == right)


def _plain(text: str) -> str:
    """Return *text* as BFCL compares it: without blanks, punctuation and capitals."""
    return re.sub(r"[ ,./_*^-]", "", text).lower().replace("'", '"')
