"""Arguments that fit a JSON Schema, for tools without examples: the fewest, and plain ones."""

from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 8
_PLAIN: Final[Mapping[str, Any]] = {"boolean": False, "array": [], "null": None}
_LISTED: Final = ("enum", "examples")
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")


def sample_of(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """Return a value that satisfies *schema*; *root* has its definitions."""
    root = schema if root is None else root
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return "x"
    samples = [schema[name] for name in ("const", "default") if name in schema]
    samples += [schema[name][0] for name in _LISTED if schema.get(name)]
    if samples:
        return samples[0]
    if inner := _inner(schema, root):
        return sample_of(inner, root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Any, depth: int) -> Any:
    types = schema.get("type", "object" if "properties" in schema else "string")
    kind = types[0] if isinstance(types, list) and types else types
    if kind == "object":
        properties = schema.get("properties", {})
        names = [name for name in schema.get("required", ()) if isinstance(name, str)]
        return {name: sample_of(properties.get(name), root, depth + 1) for name in names}
    if kind == "array" and schema.get("minItems"):
        return [sample_of(schema.get("items"), root, depth + 1)] * int(schema["minItems"])
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return _PLAIN.get(str(kind), "x" * max(1, int(schema.get("minLength", 1))))


def _inner(schema: Mapping[str, Any], root: Any) -> Any:
    """Return the schema that *schema* refers to, or its first alternative, or None."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        node = root
        for part in reference[2:].split("/"):
            node = node.get(part, {}) if isinstance(node, Mapping) else {}
        return node
    listed = (schema.get(name) for name in _ALTERNATIVES)
    return next((each[0] for each in listed if isinstance(each, list) and each), None)
