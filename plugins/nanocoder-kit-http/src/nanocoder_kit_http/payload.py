"""JSON at the border: what leaves is valid UTF-8, what comes in is checked."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import BadArguments, ProviderError, parse_json

DEPTH_LIMIT: Final = 64
_INTEGER_DIGITS: Final = 19  # what 64 bits can hold


def clean(text: str) -> str:
    """Join split surrogate pairs and replace the lone ones, which no server accepts."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dumps(value: Any) -> bytes:
    """Return *value* as compact JSON in UTF-8; raises ProviderError for NaN and infinity."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise ProviderError(
            f"the request cannot be written as JSON: {error}", kind="bad_request"
        ) from error
    return clean(text).encode()


def loads(data: bytes) -> Any:
    """Read JSON that a server sent, bad UTF-8 replaced; raises ProviderError when it is no JSON."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            f"the server sent something that is not JSON ({_reason(error)}): cut or damaged",
            kind="protocol",
        ) from error


def parse_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """Return a call's arguments and "", or {} and what is wrong with them; an empty text is {}."""
    if not text.strip():
        return {}, ""
    try:
        value = json.loads(
            clean(text),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_small,
        )
    except json.JSONDecodeError as error:
        return {}, f"the arguments are {_place(text) or error}"
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON: {_reason(error)}"
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {type(value).__name__}"
    if _is_deeper(value, DEPTH_LIMIT):
        return {}, f"the arguments are nested deeper than {DEPTH_LIMIT} levels"
    return _cleaned(value), ""


def _place(text: str) -> str:
    """Say what is wrong with JSON and show the place."""
    try:
        parse_json(clean(text))
    except BadArguments as error:
        return str(error)
    return ""


def _reason(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is given twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON value")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is too large")
    return number


def _small(digits: str) -> int:
    if len(digits.removeprefix("-")) > _INTEGER_DIGITS:
        raise ValueError(f"{digits[:40]} has more digits than 64 bits hold")
    return int(digits)


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True


def _cleaned(value: Any) -> Any:
    # Depth is bounded by _is_deeper, so recursion is.
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
