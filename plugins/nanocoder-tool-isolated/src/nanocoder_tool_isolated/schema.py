"""A check of arguments against the part of JSON Schema that definitions of tools use."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nanocoder import did_you_mean
from nanocoder_schema import SchemaSignature

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def signature_of(schema: Mapping[str, Any]) -> SchemaSignature:
    """Return the signature of a tool whose handler is in another process."""
    closed = {**schema, "additionalProperties": False}
    return SchemaSignature(closed, lambda arguments: _problems(arguments, closed, ""))


def _problems(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    label = where or "the arguments"
    kinds = schema.get("type", [])
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    if names and not any(_is(value, name) for name in names):
        yield f"{label}: expected {' or '.join(names)}, got {value!r:.60}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{label}: expected one of {', '.join(map(repr, schema['enum']))}, got {value!r:.60}"
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from _problems(item, schema["items"], f"{where}[{index}]")
    if isinstance(value, dict):
        yield from _problems_of_object(value, schema, where)


def _problems_of_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], where: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_joined(where, name)}: is missing"
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], _joined(where, name))
        elif not schema.get("additionalProperties", True):
            yield f"{_joined(where, name)}: unknown{did_you_mean(name, properties)}"


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _is(value: Any, name: str) -> bool:
    is_number = name in {"integer", "number"} and isinstance(value, bool)
    return isinstance(value, TYPES.get(name, (object,))) and not is_number
