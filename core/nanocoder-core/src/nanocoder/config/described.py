"""The JSON Schema of the whole configuration, for editors.

Imports msgspec, which only this needs: import this module late.
"""

from collections.abc import Mapping
from typing import Any

from attrs import fields
from msgspec.json import schema_components

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def described(
    tables: Mapping[tuple[str, ...], type], plugin_classes: Mapping[str, type]
) -> dict[str, Any]:
    """Return the schema of a file with the core's *tables* and one for each plugin."""
    classes = [*tables.values(), *plugin_classes.values()]
    inner = {one.type for cls in classes for one in fields(cls) if not one.init}

    def hook(kind: type) -> dict[str, Any]:
        if kind in inner:
            return {"not": {}}  # no setting, and taken out below
        raise NotImplementedError(kind)

    roots, components = schema_components(classes, schema_hook=hook, ref_template="#/$defs/{name}")
    of_class = {
        cls: _closed(cls, root, components) for cls, root in zip(classes, roots, strict=True)
    }
    top = of_class[tables[()]]
    for path, cls in tables.items():
        if len(path) == 1:
            top["properties"][path[0]] = of_class[cls]
        elif path:  # one for each name
            outer = top["properties"][path[0]]["properties"]
            outer[path[1]] = {"type": "object", "additionalProperties": of_class[cls]}
    for plugin, cls in plugin_classes.items():
        top["properties"]["plugins"]["properties"][plugin] = of_class[cls]
    top["properties"]["plugins"]["additionalProperties"] = {"type": "object"}
    return {"$schema": DIALECT, "title": "nanocoder configuration", **top, "$defs": components}


def _closed(cls: type, root: Mapping[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Take a class's own schema out of *components* and add what its fields' metadata say."""
    name = str(root["$ref"]).rpartition("/")[2]
    schema: dict[str, Any] = {**components[name], "additionalProperties": False}
    schema["properties"] = {key: dict(value) for key, value in schema["properties"].items()}
    for attribute in fields(cls):
        if not attribute.init:
            schema["properties"].pop(attribute.name, None)
        found = schema["properties"].get(attribute.alias)
        if found is not None and "description" in attribute.metadata:
            found["description"] = attribute.metadata["description"]
    schema.pop("title", None)
    return schema
