"""Definitions of tools that break the protocol: repaired where the meaning is plain, else named.

The SDK refuses a whole list for one definition that is wrong, so it never sees that one.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import mcp_types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from nanocoder_mcp.definitions import PROBLEM

NO_OBJECT: Final = "its arguments are not described by a JSON Schema of an object"
COMBINED: Final = ("anyOf", "oneOf", "allOf")
OBJECTS: Final = ("execution", "_meta")
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def with_sound_lists(message: SessionMessage | Exception) -> SessionMessage | Exception:
    """Return *message* with definitions that the SDK can read, where it lists tools."""
    answer = getattr(message, "message", None)
    if not isinstance(answer, mcp_types.JSONRPCResponse):
        return message
    tools = answer.result.get("tools")
    if not isinstance(tools, list):
        return message
    result = {**answer.result, "tools": [sound_tool(tool) for tool in tools]}
    return SessionMessage(answer.model_copy(update={"result": result}))


def sound_tool(raw: Any) -> dict[str, Any]:
    """Return a definition of a tool that has the types of the protocol."""
    if not isinstance(raw, Mapping):
        return _unusable("", "its definition is not an object")
    name = raw.get("name")
    if not isinstance(name, str):
        return _unusable("", "its name is no text")
    schema = _sound_schema(raw.get("inputSchema"))
    if schema is None:
        return _unusable(name, NO_OBJECT)
    texts = {key: raw[key] for key in ("title", "description") if isinstance(raw.get(key), str)}
    tables = {key: raw[key] for key in OBJECTS if isinstance(raw.get(key), Mapping)}
    hints = raw.get("annotations")
    if isinstance(hints, Mapping):
        booleans = {key: hints[key] for key in HINTS if isinstance(hints.get(key), bool)}
        tables["annotations"] = booleans
    tool = {"name": name, **texts, "inputSchema": schema, **tables}
    problem = _problem_of(tool)
    return _unusable(name, problem) if problem else tool


def _problem_of(tool: dict[str, Any]) -> str:
    """Return the reason for which the SDK would refuse a list with *tool*, or ""."""
    try:
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tool]})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"][2:]))  # behind the list, and the index in it
        return f"its definition breaks the protocol: {field}: {first['msg']}"
    return ""


def _unusable(name: str, why: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "_meta": {PROBLEM: why}}


def _sound_schema(raw: Any) -> dict[str, Any] | None:
    """Return *raw* as the schema of an object, or None if it describes another type.

    A tool without a schema takes any object.
    """
    if raw is None:
        return {"type": "object"}
    if not isinstance(raw, Mapping) or raw.get("type", "object") != "object":
        return None
    schema = {"type": "object", **raw}
    if not isinstance(schema.get("properties", {}), Mapping):
        del schema["properties"]
    # A top-level choice that declares the type object stays as the server wrote it.
    branches = [schema.pop(key) for key in COMBINED if key in schema and "type" not in raw]
    if branches:
        schema["properties"] = _all_properties([schema, *_flat(branches)])
    required = schema.pop("required", None)
    names = [required] if isinstance(required, str) else required
    if isinstance(names, list) and all(isinstance(each, str) for each in names):
        schema["required"] = names
    return schema


def _flat(branches: Iterable[Any]) -> list[Mapping[str, Any]]:
    groups = [branch for branch in branches if isinstance(branch, list)]
    return [part for group in groups for part in group if isinstance(part, Mapping)]


def _all_properties(schemas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the union of the properties of *schemas*; a value need match none of them."""
    merged: dict[str, Any] = {}
    for schema in schemas:
        properties = schema.get("properties", {})
        if isinstance(properties, Mapping):
            merged |= {name: part for name, part in properties.items() if name not in merged}
    return merged
