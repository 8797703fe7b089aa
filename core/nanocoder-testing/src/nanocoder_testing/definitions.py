"""Problems of a tool's definition, the only description of the tool for a model."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nanocoder.tools.tool import Tool
from nanocoder_schema.json_schema import describe

JSON_TYPES = "str, int, float, bool, Literal, Enum, list, set, tuple, dict[str, …], attrs classes"
SHORT_CHARS = 12
FILLERS = frozenset({"a", "an", "the", "this", "that", "it", "its", "is", "of", "to", "for"})
FILLERS |= {"tool", "function", "parameter", "argument", "value"}


def definition_problems(tool: Tool[..., Any]) -> list[str]:
    """Return the problems of the definition of *tool* for a model, one line each."""
    places = describe(tool.signature.parameters).untyped
    untyped = [f"{place}: its type has no JSON form; use {JSON_TYPES}" for place in places]
    described = _description_problems(tool.name, tool.description.strip())
    return [*described, *untyped, *_parameter_problems(tool.parameters, "")]


def _description_problems(name: str, description: str) -> Iterator[str]:
    if not description:
        yield f"{name}: no description; say what the tool does and when to use it"
    elif _only_repeats(name, description):
        yield f"{name}: the description {description!r} only repeats the name"
    elif len(description) < SHORT_CHARS:
        yield f"{name}: the description {description!r} is too short to choose the tool by"


def _parameter_problems(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        text = inner.get("description", "").strip()
        if not text:
            yield f'{place}: no description; write Annotated[…, "what it is for"]'
        elif _only_repeats(name, text):
            yield f"{place}: the description {text!r} only repeats the name"
        yield from _parameter_problems(inner, place)
    for suffix, inner in _inner(schema):
        yield from _parameter_problems(inner, path + suffix)
    for name, inner in schema.get("$defs", {}).items():
        yield from _parameter_problems(inner, name)


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    single = (("[]", schema.get("items")), (".*", schema.get("additionalProperties")))
    yield from ((suffix, inner) for suffix, inner in single if isinstance(inner, dict))
    yield from (("", inner) for inner in schema.get("anyOf", ()))
    yield from ((f"[{i}]", inner) for i, inner in enumerate(schema.get("prefixItems", ())))


def _only_repeats(name: str, text: str) -> bool:
    return _words(text) - FILLERS <= _words(name)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))
