"""Parse models' JSON strictly, serialize canonical JSON for digests, and normalise calls."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn

from nanocoder_schema.errors import BadArguments, show
from nanocoder_schema.text import for_terminal

MAX_PARAMETERS = 1_000
WRAPPERS = ("params", "arguments")
MAX_DEPTH = 64
MAX_BITS = 8_192
MAX_DIGITS = 19  # what 64 bits can hold
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
EXCERPT_CHARS = 40  # either side of the fault
HINTS = {
    "Expecting ',' delimiter": '; a quote inside a string is written \\"',
    "Invalid control character": "; a newline inside a string is written \\n, a tab \\t",
    "Invalid \\escape": "; a backslash inside a string is written \\\\",
}
"""Hints on models' most frequent mistakes, by Python's error message."""


def parse_json(text: str) -> Any:
    """Parse JSON that a model wrote; an empty text is `{}`, a call without arguments.

    Raises: BadArguments if *text* is not JSON, names a key twice, is nested deeper than 64
    levels, or holds NaN, Infinity, half of a surrogate pair or a number beyond 64 bits.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise _invalid(_fault(text, error)) from None
    except RecursionError:
        raise _invalid(TOO_DEEP) from None
    # Counting brackets is cheaper than a walk over the value.
    if text.count("[") + text.count("{") > MAX_DEPTH and (problem := json_problem(value)):
        raise _invalid(problem)
    if _has_half_a_pair(text, value):
        raise _invalid("half of a surrogate pair; send the character itself, or both halves")
    return value


def hint_for_text(value: Any) -> str:
    """Return the problem of a string sent in place of a list or an object, or ""."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return ""
    try:
        parse_json(value)
    except BadArguments as error:
        return str(error)
    return "send it as it is, not as a text"


def canonical_json(value: Any) -> str:
    """Serialize *value* in the canonical form for digests: sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a call's arguments that shares only immutable values.

    Raises: BadArguments for values that are not JSON, because an approval is for a digest.
    """
    if not all(isinstance(name, str) for name in arguments):
        raise BadArguments(["the names of arguments must be strings"])
    checked = ((name, json_problem(value, objects=Mapping)) for name, value in arguments.items())
    problems = [f"{name}: {problem}" for name, problem in checked if problem]
    if problems:
        raise BadArguments(problems)
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list | tuple) else value


def json_problem(value: Any, depth: int = 0, objects: type[Any] = dict) -> str:
    """Return the reason why *value* is not JSON, or ""; *objects* is the type of mappings."""
    if isinstance(value, objects):
        if not all(isinstance(key, str) for key in value):
            return "the keys of an object must be strings"
        return _problem_inside(value.values(), depth + 1, objects)
    if isinstance(value, list | tuple):
        return _problem_inside(value, depth + 1, objects)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON number"
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return "the number has too many digits"
    is_plain = value is None or isinstance(value, str | int | float)
    return "" if is_plain else f"{type(value).__name__} is not a JSON value"


def _problem_inside(values: Iterable[Any], depth: int, objects: type[Any]) -> str:
    if depth > MAX_DEPTH:
        return TOO_DEEP
    # Most values are strings, which are skipped here without a call.
    problems = (json_problem(item, depth, objects) for item in values if type(item) is not str)
    return next(filter(None, problems), "")


def _invalid(problem: str) -> BadArguments:
    return BadArguments([f"invalid JSON: {problem}"])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = Counter(name for name, _ in pairs)
        twice = next(name for name, count in names.items() if count > 1)
        raise _invalid(f"the key {twice[:EXCERPT_CHARS]!r} appears twice; send it once")
    return values


def _constant(name: str) -> NoReturn:
    raise _invalid(f"{name} is not a JSON number")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _invalid(f"the number {text[:EXCERPT_CHARS]} is too large")
    return number


def _integer(text: str) -> int:
    # Servers accept no more, and parsing very long numbers takes quadratic time.
    if len(text.removeprefix("-")) > MAX_DIGITS:
        raise _invalid(f"the number {text[:EXCERPT_CHARS]} has more digits than 64 bits hold")
    return int(text)


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """Describe a syntax error with an excerpt around it: the text may be long."""
    problem = error.msg.removesuffix(": ").removesuffix(" at")
    place = f"at line {error.lineno} column {error.colno}"
    before = _excerpt(text[max(0, error.pos - EXCERPT_CHARS) : error.pos])
    after = _excerpt(text[error.pos : error.pos + EXCERPT_CHARS])
    if problem.startswith("Unterminated string"):
        end = _excerpt(text[max(error.pos, len(text) - EXCERPT_CHARS) :])
        return f"the string {after} {place} has no end; the text ends with {end}"
    if error.pos >= len(text):
        return f"{problem} {place}, where the text ends, after {before}"
    near = f"after {before}, before {after}" if error.pos else after
    return f"{problem} {place}, {near}{HINTS.get(problem, '')}"


def _excerpt(text: str) -> str:
    # Not repr: it doubles each backslash, which may be the mistake.
    return f"«{for_terminal(text.replace(chr(10), '⏎'), keep_emoji=False)}»"


def _has_half_a_pair(text: str, value: Any) -> bool:
    # Writing such a string to a file fails later, with an error that no model understands.
    if "\\u" not in text and text.isascii():
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def normalise(
    call: Any, parameters_of: Callable[[str], Collection[str]] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call in any of the forms that models send.

    The forms are `{"name": n, "params": {…}}`, the same with "arguments", and direct:
    `{"name": n, "path": …}`; each as a mapping or as JSON text, and the arguments as JSON text,
    too. *parameters_of* returns a tool's parameter names (none for an unknown tool): with it a tool
    that has a parameter called "params" still gets it, and arguments that are wrapped twice are
    unwrapped.

    Raises: BadArguments if there is no name, the text is not JSON, or there are more than 1,000
    parameters.
    """
    call = parse_json(call) if isinstance(call, str) else call
    if not isinstance(call, Mapping):
        expected = 'expected a call like {"name": …, "params": {…}}'
        raise BadArguments([f"{expected}, got {show(call)}"])
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise BadArguments(["name: expected the name of a tool"])
    names = frozenset(parameters_of(name)) if parameters_of else frozenset()
    arguments = _without_wrapper({key: call[key] for key in call if key != "name"}, names)
    if names:
        arguments = _without_wrapper(arguments, names)
    if len(arguments) > MAX_PARAMETERS:
        raise BadArguments([f"{len(arguments):,} parameters; a call may have {MAX_PARAMETERS:,}"])
    return name, arguments


def _without_wrapper(arguments: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Unwrap arguments whose wrapper is not a parameter of the tool."""
    if len(arguments) != 1 or next(iter(arguments)) not in WRAPPERS:
        return arguments
    ((wrapper, inside),) = arguments.items()
    if wrapper in names:
        is_wrapped_twice = isinstance(inside, Mapping) and inside and names.issuperset(inside)
        return dict(inside) if is_wrapped_twice else arguments
    inside = parse_json(inside) if isinstance(inside, str) else inside
    if inside is not None and not isinstance(inside, Mapping):
        raise BadArguments([f"{wrapper}: expected an object of arguments, got {show(inside)}"])
    return dict(inside or {})
