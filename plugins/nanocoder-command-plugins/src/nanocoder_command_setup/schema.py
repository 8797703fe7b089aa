"""The JSON Schema of the whole configuration, for editors."""

from collections.abc import Mapping
from typing import Any

from attrs import fields
from nanocoder import Signature

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def config_schema(
    tables: Mapping[tuple[str, ...], type], plugin_classes: Mapping[str, type]
) -> dict[str, Any]:
    """Return the schema of a file with the core's *tables* and one for each plugin."""
    top = _class_schema(tables[()])
    for path, cls in tables.items():
        if len(path) == 1:
            top["properties"][path[0]] = _class_schema(cls)
    plugins = top["properties"]["plugins"]
    for plugin, cls in plugin_classes.items():
        plugins["properties"][plugin] = _class_schema(cls)
    plugins["additionalProperties"] = {"type": "object"}
    return {"$schema": DIALECT, "title": "nanocoder configuration", **top}


def _class_schema(cls: type) -> dict[str, Any]:
    schema = Signature.of_class(cls).json_schema
    for field in fields(cls):
        if field.init and "description" in field.metadata:
            schema["properties"][field.name]["description"] = field.metadata["description"]
    return schema
