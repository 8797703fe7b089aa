"""Encode any value as JSON that every reader accepts: ASCII, no NaN."""

import json
import math
from collections.abc import Mapping
from typing import Any


def encode(value: Any) -> str:
    """Return *value* as JSON on one line, in ASCII, so that any locale can write it.

    Values without a JSON form become text; NaN and infinity become null.
    """
    try:
        return json.dumps(value, allow_nan=False, default=_plain_value)
    except (TypeError, ValueError):
        return json.dumps(_replace_unencodable(value, ()), allow_nan=False)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def _replace_unencodable(value: Any, above: tuple[int, ...]) -> Any:
    """Return a copy of *value* that JSON can encode; *above* are the ids of its containers."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if id(value) in above:
        return "[contains itself]"
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(key): _replace_unencodable(part, inside) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_unencodable(part, inside) for part in value]
    return _plain_value(value)
