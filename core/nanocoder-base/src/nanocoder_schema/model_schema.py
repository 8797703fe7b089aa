"""JSON Schemas for models, without bounds and defaults, which the check enforces anyway.

A start needs only this module for schemas: those of tools are in the manifest.
"""

from collections.abc import Collection, Mapping
from typing import Any

NUMBER = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
STRING = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
ARRAY = {"min_length": "minItems", "max_length": "maxItems"}
OBJECT = {"min_length": "minProperties", "max_length": "maxProperties"}
BOUNDS = {"string": STRING, "integer": NUMBER, "number": NUMBER, "array": ARRAY, "object": OBJECT}
"""The keywords of bounds by JSON type, each with its name in `Param`."""
NOT_FOR_MODELS = {"uniqueItems"}.union(*(names.values() for names in BOUNDS.values()))


def for_model_schema(schema: Mapping[str, Any], described: Collection[str] = ()) -> dict[str, Any]:
    """Return *schema* without bounds, closedness, defaults and the descriptions of items.

    A default of true is kept. The check of a call still enforces everything and reports each
    problem; a bound that a model should know beforehand is in a description. Fields with the names
    *described* have a description in an outer schema, and none here. A description of one phrase
    has no full stop.
    """
    inner = {*described, *schema.get("properties", ())}
    return {
        key: _value_for_model(key, value, described, inner)
        for key, value in schema.items()
        if (value is True if key == "default" else key not in NOT_FOR_MODELS)
        and (key, value) != ("additionalProperties", False)
    }


def _value_for_model(
    key: str, value: Any, described: Collection[str], inner: Collection[str]
) -> Any:
    if key in {"properties", "$defs"}:
        return {
            name: for_model_schema(_undescribed(field) if name in described else field, inner)
            for name, field in value.items()
        }
    if key == "description" and isinstance(value, str):
        return value if ". " in value else value.removesuffix(".")
    if key in {"anyOf", "prefixItems"}:
        return [for_model_schema(member, inner) for member in value]
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        # The list's and the item fields' descriptions are enough.
        is_described = key == "items" and "properties" in value
        return for_model_schema(_undescribed(value) if is_described else value, inner)
    return value


def _undescribed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in schema.items() if key != "description"}
