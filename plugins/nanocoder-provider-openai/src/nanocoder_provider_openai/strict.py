"""Schemas that a vendor can enforce: closed objects with only required properties."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from attrs import evolve
from nanocoder import Finished, ToolDefinition

T = TypeVar("T")

_DROPPED: Final = frozenset({"default", "examples", "format", "title", "uniqueItems"})


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return *schema* in the strict form, in which an optional property may be null.

    None for a schema that this form cannot express: one with an object of free keys.
    """
    try:
        return _strict(schema)
    except ValueError:
        return None


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    shape = {key: _strict_value(value) for key, value in schema.items() if key not in _DROPPED}
    if not _is_object(schema):
        return shape
    properties = schema.get("properties")
    if schema.get("additionalProperties") or not isinstance(properties, Mapping):
        raise ValueError("an object of free keys")
    required = schema.get("required", ())
    shape["properties"] = {
        name: _strict(child) if name in required else _nullable(_strict(child))
        for name, child in properties.items()
    }
    return {**shape, "required": list(properties), "additionalProperties": False}


def _strict_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _strict(value)
    return [_strict_value(item) for item in value] if isinstance(value, list) else value


def _is_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def without_nulls(
    pieces: Iterable[T | Finished], tools: Sequence[ToolDefinition]
) -> Iterator[T | Finished]:
    """Yield *pieces*; in the calls of the last one a null of the strict form is left out again."""
    schemas = {tool.name: tool.parameters for tool in tools}
    for piece in pieces:
        if isinstance(piece, Finished) and piece.calls:
            calls = tuple(
                evolve(call, arguments=_pruned(call.arguments, schemas.get(call.name, {})))
                for call in piece.calls
            )
            yield evolve(piece, calls=calls)
        else:
            yield piece


def _pruned(value: Any, schema: Any) -> Any:
    schema = schema if isinstance(schema, Mapping) else {}
    if isinstance(value, list):
        return [_pruned(item, schema.get("items")) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _pruned(item, properties.get(name))
        for name, item in value.items()
        if item is not None or name in required or name not in properties
    }
