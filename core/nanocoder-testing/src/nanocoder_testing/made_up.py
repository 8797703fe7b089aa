"""Unexpected arguments, generated from a tool's own schema and with hostile texts.

This imports hypothesis, which only the contract suite needs: import this module late.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from nanocoder.tools.tool import Tool
from nanocoder.values import Effect

from nanocoder_testing.arguments import HOSTILE

Arguments = st.SearchStrategy[dict[str, Any]]
Swap = Callable[[str], str]

DOES_HARM = frozenset({Effect.EXECUTE, Effect.WRITE})
MANY_ITEMS = 4
FEW = 3
_ANY_LETTER = st.characters(exclude_categories=())
ANY_TEXT = st.text(_ANY_LETTER, max_size=40)
ANY_NUMBER = st.one_of(
    st.integers(), st.floats(), st.sampled_from([2**31, 2**63, -(2**63), 10**30, 1e308])
)


def made_up(tool: Tool[..., Any]) -> Arguments:
    """Return a strategy for arguments of *tool*: valid ones, and ones with a mistake.

    Commands, and texts that a tool changes files by, come from a list of harmless ones.
    """
    schema = dict(tool.parameters)
    names = st.sampled_from(sorted(schema.get("properties", ())) or ["no_such_parameter"])
    tame = bool(tool.effects & DOES_HARM)
    text = _harmless if tame else ANY_TEXT
    words = _words(schema)
    fit = st.builds(
        lambda arguments, swap: _swapped(arguments, words, swap),
        _fitting(schema, schema),
        _swaps(keep=not tame),
    )
    examples = st.sampled_from([dict(example) for example in tool.examples] or [{}])
    either = st.one_of(fit, examples)
    return st.one_of(
        fit,
        st.builds(_with_one_of, examples, fit, names),
        st.builds(_with, either, st.one_of(names, _harmless), _json(text)),
        st.builds(_without, either, names),
    )


def fitting(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of *schema*, for the JSON Schema keywords that tools use."""
    return _fitting(schema, schema)


def try_each(arguments: Arguments, attempt: Callable[[dict[str, Any]], None], calls: int) -> None:
    """Call *attempt* with *calls* examples of *arguments*, the same ones in every run."""

    @settings(
        max_examples=calls,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments)
    def run(arguments: dict[str, Any]) -> None:
        attempt(arguments)

    run()


_harmless = st.sampled_from(sorted(HOSTILE.values()))


def _fitting(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _fitting(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(list(schema["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return st.one_of([_fitting(branch, root) for branch in schema[several]])
    if "type" not in schema:
        return _json(ANY_TEXT)
    kinds = schema["type"]
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of([_KINDS[kind](schema, root) for kind in kinds])


def _object(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    own = {name: _fitting(part, root) for name, part in schema.get("properties", {}).items()}
    needed = {name: own.pop(name) for name in schema.get("required", ()) if name in own}
    properties = st.fixed_dictionaries(needed, optional=own)
    others = schema.get("additionalProperties", True)
    if others is False:
        return properties
    values = _json(_harmless) if others is True else _fitting(others, root)
    more = st.dictionaries(_harmless, values, max_size=3)
    return st.builds(lambda some, rest: {**rest, **some}, properties, more)


def _array(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low = schema.get("minItems", 0)
    high = min(schema.get("maxItems", MANY_ITEMS), max(low, MANY_ITEMS))
    return st.lists(_fitting(schema.get("items", {}), root), min_size=low, max_size=high)


def _string(schema: Mapping[str, Any], _root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "pattern" in schema:
        return st.from_regex(schema["pattern"])
    low = schema.get("minLength", 0)
    return st.text(
        _ANY_LETTER, min_size=low, max_size=min(schema.get("maxLength", low + 40), low + 40)
    )


def _integer(schema: Mapping[str, Any], _root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low, high = _range(schema, 1)
    any_number = st.integers(low, high)
    first = st.integers(0, FEW).map(lambda number: number if low is None else low + number)
    return st.one_of(any_number, first.filter(lambda number: high is None or number <= high))


def _number(schema: Mapping[str, Any], _root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low, high = _range(schema, 0)
    return st.floats(
        low,
        high,
        exclude_min="exclusiveMinimum" in schema,
        exclude_max="exclusiveMaximum" in schema,
        allow_nan=False,
        allow_infinity=False,
    )


def _range(schema: Mapping[str, Any], step: int) -> tuple[Any, Any]:
    """Return the least and the largest number, *step* inside of exclusive bounds."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - step
    return low, high


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], st.SearchStrategy[Any]]] = {
    "array": _array,
    "boolean": lambda _schema, _root: st.booleans(),
    "integer": _integer,
    "null": lambda _schema, _root: st.none(),
    "number": _number,
    "object": _object,
    "string": _string,
}


def _json(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Return a strategy for all JSON values, and for numbers that are not JSON."""
    scalars = st.one_of(st.none(), st.booleans(), ANY_NUMBER, text)
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)
        ),
        max_leaves=8,
    )


def _with(base: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**base, name: value}


def _with_one_of(base: Mapping[str, Any], other: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**base, name: other[name]} if name in other else dict(base)


def _without(base: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in base.items() if key != name}


def _swaps(*, keep: bool) -> st.SearchStrategy[Swap]:
    """Return a strategy for functions that make a text hostile; with *keep* it may also stay."""
    fixed = _harmless.map(lambda text: lambda _: text)
    if not keep:
        return fixed
    return st.one_of(st.just(str), fixed)


def _swapped(value: Any, words: frozenset[str], swap: Swap) -> Any:
    """Return *value* with its texts replaced, except for *words* of the schema."""
    if isinstance(value, str):
        return value if value in words else swap(value)
    if isinstance(value, Mapping):
        return {key: _swapped(item, words, swap) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_swapped(item, words, swap) for item in value]
    return value


def _words(schema: Any) -> frozenset[str]:
    """Return every string that *schema* lists as a value."""
    if isinstance(schema, Mapping):
        own = {*schema.get("enum", ()), schema.get("const")}
        texts = {choice for choice in own if isinstance(choice, str)}
        return frozenset(texts).union(*map(_words, schema.values()))
    if isinstance(schema, list | tuple):
        return frozenset().union(*map(_words, schema))
    return frozenset()
