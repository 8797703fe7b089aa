"""JSON text: read strictly when a model wrote it, written one way for a digest."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from nanocoder_schema.errors import BadArguments
from nanocoder_schema.text import for_terminal

MAX_DEPTH = 64
MAX_BITS = 8_192
MAX_DIGITS = 19  # what 64 bits can hold
EXCERPT_CHARS = 40  # either side of the fault
HINTS = {
    "Expecting ',' delimiter": '; a quote inside a string is written \\"',
    "Invalid control character": "; a newline inside a string is written \\n, a tab \\t",
    "Invalid \\escape": "; a backslash inside a string is written \\\\",
}
"""What models forget most often, by what is found in its place."""


def parse_json(text: str) -> Any:
    """Read what a model wrote as arguments; nothing written at all is `{}`.

    Raises: BadArguments when *text* is not JSON, names a key twice, is nested deeper than 64
    levels, or holds NaN, Infinity, half of a surrogate pair or a number beyond 64 bits.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_of_64_bits,
        )
    except json.JSONDecodeError as error:
        raise BadArguments([_where_it_breaks(text, error)]) from None
    except RecursionError:
        raise BadArguments([_too_deep()]) from None
    _refuse_depth(text, value)
    _refuse_lone_surrogates(text, value)
    return value


def about_text(value: Any) -> str:
    """Say what is wrong with a text that stands where a list or an object should, or ""."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return ""
    try:
        parse_json(value)
    except BadArguments as error:
        return str(error)
    return "send it as it is, not as a text"


def canonical_json(value: Any) -> str:
    """Write *value* the one way that a digest is taken of: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a call's arguments that shares only what cannot change.

    Raises: BadArguments for what no JSON can hold, because an approval is of its digest.
    """
    if not all(isinstance(name, str) for name in arguments):
        raise BadArguments(["the names of arguments have to be texts"])
    faults = ((name, unfit(one, objects=Mapping)) for name, one in arguments.items())
    problems = {name: fault for name, fault in faults if fault}
    if problems:
        raise BadArguments([f"{name}: {problem}" for name, problem in problems.items()])
    return {name: _copied(one) for name, one in arguments.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(one) for one in value]
    return value


def unfit(value: Any, depth: int = 0, objects: type[Any] = dict) -> str:
    """Return why *value* cannot be written as JSON, or nothing; *objects* is what has keys."""
    if isinstance(value, objects):
        if not all(isinstance(key, str) for key in value):
            return "the keys of an object have to be texts"
        return _unfit_in(value.values(), depth + 1, objects)
    if isinstance(value, list | tuple):
        return _unfit_in(value, depth + 1, objects)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON number"
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return "the number has too many digits"
    is_plain = value is None or isinstance(value, str | int | float)
    return "" if is_plain else f"{type(value).__name__} is no JSON value"


def _unfit_in(values: Iterable[Any], depth: int, objects: type[Any]) -> str:
    if depth > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} levels"
    for one in values:
        if type(one) is not str and (problem := unfit(one, depth, objects)):
            return problem
    return ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise BadArguments(
        [f"invalid JSON: the key {twice[:EXCERPT_CHARS]!r} appears twice; send it once"]
    )


def _no_constant(name: str) -> NoReturn:
    raise BadArguments([f"invalid JSON: {name} is not a JSON number"])


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadArguments([f"invalid JSON: the number {text[:EXCERPT_CHARS]} is too large"])
    return number


def _of_64_bits(text: str) -> int:
    # Servers read no more, and reading very long numbers takes quadratic time.
    if len(text.removeprefix("-")) > MAX_DIGITS:
        raise BadArguments(
            [f"invalid JSON: the number {text[:EXCERPT_CHARS]} has more digits than 64 bits hold"]
        )
    return int(text)


def _where_it_breaks(text: str, error: json.JSONDecodeError) -> str:
    """Say what is wrong and where, in a window: a text may be long, and all but one place right."""
    found = error.msg.removesuffix(": ").removesuffix(" at")
    place = f"at line {error.lineno} column {error.colno}"
    if found.startswith("Unterminated string"):
        begin = _excerpt(text[error.pos : error.pos + EXCERPT_CHARS])
        end = _excerpt(text[max(error.pos, len(text) - EXCERPT_CHARS) :])
        return f"invalid JSON: the string {begin} {place} has no end; the text ends with {end}"
    before = text[max(0, error.pos - EXCERPT_CHARS) : error.pos]
    after = text[error.pos : error.pos + EXCERPT_CHARS]
    if not after:
        return f"invalid JSON: {found} {place}, where the text ends, after {_excerpt(before)}"
    near = f"after {_excerpt(before)}, before {_excerpt(after)}" if before else _excerpt(after)
    return f"invalid JSON: {found} {place}, {near}{HINTS.get(found, '')}"


def _excerpt(text: str) -> str:
    # Not repr: it doubles each backslash, and here they may be what is wrong.
    return f"«{for_terminal(text.replace(chr(10), '⏎'), keep_emoji=False)}»"


def _too_deep() -> str:
    return f"invalid JSON: nested deeper than {MAX_DEPTH} levels"


def _refuse_depth(text: str, value: Any) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    raise BadArguments([_too_deep()])


def _containers(value: Any) -> list[Any]:
    members = value.values() if isinstance(value, dict) else value
    return [member for member in members if isinstance(member, dict | list)]


def _refuse_lone_surrogates(text: str, value: Any) -> None:
    # Written to a file such a string fails far from here, and no model understands why.
    if "\\u" not in text and text.isascii():
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadArguments(
            ["invalid JSON: half of a surrogate pair; send the character itself, or both halves"]
        ) from None
