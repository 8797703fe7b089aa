"""What a model is told of a schema: all that it chooses by, nothing that goes without saying."""

from collections.abc import Collection, Mapping
from typing import Any

BOUNDS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "pattern"),
    }
)


def told(schema: Mapping[str, Any], described: Collection[str] = ()) -> dict[str, Any]:
    """Return *schema* without bounds, closedness, defaults and the descriptions of items.

    A switch that is on keeps its default. The check of a call still holds a model to all of it and
    says what is wrong; what a model should know beforehand belongs into a description. Fields that
    are *described* by their names further out are not described again. A description that is one
    phrase needs no full stop.
    """
    inner = {*described, *schema.get("properties", ())}
    return {
        key: _told(key, value, described, inner)
        for key, value in schema.items()
        if _says_much(key, value)
    }


def _says_much(key: str, value: Any) -> bool:
    if key == "default":
        return value is True
    return key not in BOUNDS and not (key == "additionalProperties" and value is False)


def _told(key: str, value: Any, described: Collection[str], inner: Collection[str]) -> Any:
    if key in {"properties", "$defs"}:
        return {
            name: told(_without(field, "description") if name in described else field, inner)
            for name, field in value.items()
        }
    if key == "description" and isinstance(value, str):
        return value if ". " in value else value.removesuffix(".")
    if key in {"anyOf", "prefixItems"}:
        return [told(member, inner) for member in value]
    if key == "additionalProperties":
        return told(value, inner) if isinstance(value, dict) else value
    if key == "items" and isinstance(value, dict):
        # The list and the item's fields already describe it; drop its own description.
        return told(_without(value, "description") if "properties" in value else value, inner)
    return value


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}
