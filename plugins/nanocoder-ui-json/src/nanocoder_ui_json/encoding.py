"""Values to JSON that every reader takes: ASCII, no NaN, whatever a tool put into its result."""

import json
import math
from collections.abc import Mapping
from typing import Any


def encoded(value: Any) -> str:
    """Return *value* as JSON on one line, in ASCII, so that any locale can write it.

    What JSON has no form for becomes text; NaN and infinity become null.
    """
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError):
        return json.dumps(_mended(value, ()), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def _mended(value: Any, above: tuple[int, ...]) -> Any:
    """Return a copy of *value* that JSON can hold; *above* are the ids of what it is inside of."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if id(value) in above:
        return "[contains itself]"
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(key): _mended(one, inside) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(one, inside) for one in value]
    return _plain(value)
