"""What a model would not understand of a tool: its only guide is what the definition says."""

import re
from collections.abc import Iterator
from typing import Any

from nanocoder.schema.json_schema import Description

FORMS = "str, int, float, bool, Literal, Enum, list, set, tuple, dict[str, …], attrs classes"
SHORT_CHARS = 12
FILLERS = frozenset({"a", "an", "the", "this", "that", "it", "its", "is", "of", "to", "for"})
FILLERS |= {"tool", "function", "parameter", "argument", "value"}


def lint(name: str, description: str, described: Description) -> list[str]:
    """Say what is wrong with a definition, one line each."""
    places = [f"{place}: its type has no JSON form; use {FORMS}" for place in described.untyped]
    return [*_tool(name, description.strip()), *places, *_parameters(described.schema, "")]


def _tool(name: str, description: str) -> Iterator[str]:
    if not description:
        yield f"{name}: no description; say what the tool does and when to use it"
    elif _only_repeats(name, description):
        yield f"{name}: the description {description!r} only repeats the name"
    elif len(description) < SHORT_CHARS:
        yield f"{name}: the description {description!r} is too short to choose the tool by"


def _parameters(schema: dict[str, Any], path: str) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        text = inner.get("description", "").strip()
        if not text:
            yield f'{place}: no description; write Annotated[…, "what it is for"]'
        elif _only_repeats(name, text):
            yield f"{place}: the description {text!r} only repeats the name"
        yield from _parameters(inner, place)
    for suffix, inner in _inner(schema):
        yield from _parameters(inner, path + suffix)
    for name, inner in schema.get("$defs", {}).items():
        yield from _parameters(inner, name)


def _inner(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    single = (("[]", schema.get("items")), (".*", schema.get("additionalProperties")))
    yield from ((suffix, inner) for suffix, inner in single if isinstance(inner, dict))
    yield from (("", inner) for inner in schema.get("anyOf", ()))
    yield from ((f"[{i}]", inner) for i, inner in enumerate(schema.get("prefixItems", ())))


def _only_repeats(name: str, text: str) -> bool:
    return _words(text) - FILLERS <= _words(name)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))
