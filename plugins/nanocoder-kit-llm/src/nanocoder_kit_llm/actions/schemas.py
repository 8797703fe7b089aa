"""Reduce JSON Schemas to the keywords that the grammar engine compiles.

The engine silently drops the whole grammar because of one unknown keyword, so only keywords that
are listed here survive. Removed ones (patterns, lengths) are checked when the call is run.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

ANYTHING: Final[Mapping[str, Any]] = {}
SIMPLE: Final = frozenset({"string", "number", "boolean", "null"})
MAX_INTEGER: Final = 999_999_999
NUMBER: Final = {"type": "number", "multipleOf": 1e-9, "minimum": -1e15, "maximum": 1e15}
"""A number with an end: nine decimals at most."""
MAX_DEPTH: Final = 12  # a schema that refers to itself ends here, in "anything"


def restrict(schema: Any) -> dict[str, Any]:
    """Return *schema* with types, enumerations, properties, items and alternatives only."""
    return _restrict(schema, schema if isinstance(schema, Mapping) else {}, MAX_DEPTH)


def bound_numbers(schema: Any) -> Any:
    """Return *schema* with a limit of the digits of each number, for engines with llguidance.

    Without it a model that wants to continue as the schema forbids writes more digits instead.
    """
    if isinstance(schema, Mapping):
        if schema == {"type": "number"}:
            return dict(NUMBER)
        return {key: bound_numbers(value) for key, value in schema.items()}
    return [bound_numbers(each) for each in schema] if isinstance(schema, list) else schema


def _restrict(schema: Any, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth == 0:
        return dict(ANYTHING)
    if "$ref" in schema:
        return _restrict(_resolve(schema["$ref"], root), root, depth - 1)
    if "const" in schema or "enum" in schema:
        return {key: schema[key] for key in ("const", "enum") if key in schema}
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return _alternatives(choices, root, depth)
    if schema.get("allOf"):
        return _restrict(_merge(schema, root), root, depth - 1)
    return _restrict_type(schema, root, depth)


def _restrict_type(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        return _alternatives([{**schema, "type": type_name} for type_name in kind], root, depth)
    if kind == "integer":
        return _integer(schema)
    if kind in SIMPLE:
        return {"type": kind}
    if kind == "array":
        return {"type": "array", "items": _restrict(schema.get("items"), root, depth - 1)}
    if kind == "object":
        return _object(schema, root, depth)
    return dict(ANYTHING)


def _integer(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an integer schema with bounds: a small model may append zeros endlessly."""
    low, high = schema.get("minimum"), schema.get("maximum")
    return {
        "type": "integer",
        "minimum": low if isinstance(low, int) else -MAX_INTEGER,
        "maximum": high if isinstance(high, int) else MAX_INTEGER,
    }


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = [name for name in schema.get("required") or () if name in properties]
    if not properties:
        extra = schema.get("additionalProperties", True)
        closed = extra is False
        return {
            "type": "object",
            "additionalProperties": False if closed else _restrict(extra, root, depth - 1),
        }
    return {
        "type": "object",
        "properties": {
            name: _property(value, root, depth, optional=name not in required)
            for name, value in properties.items()
        },
        "required": required,
        "additionalProperties": False,
    }


def _property(
    schema: Any, root: Mapping[str, Any], depth: int, *, optional: bool
) -> dict[str, Any]:
    """Remove null from an optional property: two ways to omit it confuse a small model."""
    restricted = _restrict(schema, root, depth - 1)
    choices = restricted.get("anyOf")
    if not optional or not choices:
        return restricted
    non_null = [choice for choice in choices if choice != {"type": "null"}]
    return non_null[0] if len(non_null) == 1 else {"anyOf": non_null or choices}


def _alternatives(choices: Any, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    restricted = [_restrict(choice, root, depth - 1) for choice in choices]
    return restricted[0] if len(restricted) == 1 else {"anyOf": restricted}


def _merge(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Join the parts of an `allOf`: one object with the properties of all."""
    merged: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        resolved = (
            _resolve(part["$ref"], root) if isinstance(part, Mapping) and "$ref" in part else part
        )
        if not isinstance(resolved, Mapping):
            continue
        for key, value in resolved.items():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = [*merged.get(key, ()), *value]
            else:
                merged.setdefault(key, value)
    return merged


def _resolve(reference: Any, root: Mapping[str, Any]) -> Any:
    """Follow a reference within the document (`#/$defs/Name`); any other means "anything"."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return ANYTHING
    node: Any = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or name not in node:
            return ANYTHING
        node = node[name]
    return node
