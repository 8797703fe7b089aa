"""What a model is told of a schema: all that it chooses by, nothing that goes without saying."""

from collections.abc import Mapping
from typing import Any

BOUNDS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "pattern"),
    }
)


def told(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* without bounds, closedness, defaults and the descriptions of items.

    A switch that is on keeps its default. The check of a call still holds a model to all of it and
    says what is wrong; what a model should know beforehand belongs into a description.
    """
    return {key: _told(key, value) for key, value in schema.items() if _says_much(key, value)}


def _says_much(key: str, value: Any) -> bool:
    if key == "default":
        return value is True
    return key not in BOUNDS and not (key == "additionalProperties" and value is False)


def _told(key: str, value: Any) -> Any:
    if key in {"properties", "$defs"}:
        return {name: told(inner) for name, inner in value.items()}
    if key in {"anyOf", "prefixItems"}:
        return [told(inner) for inner in value]
    if key == "additionalProperties":
        return told(value) if isinstance(value, dict) else value
    if key == "items" and isinstance(value, dict):
        # Of an item with fields, the list that it is in and the fields have said what it is.
        named = {"description"} if "properties" in value else set()
        return told({name: inner for name, inner in value.items() if name not in named})
    return value
