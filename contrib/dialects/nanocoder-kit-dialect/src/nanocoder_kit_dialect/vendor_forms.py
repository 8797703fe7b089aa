"""The forms in which vendors want tools, for the `write` of a dialect."""

from collections.abc import Mapping
from typing import Any


def openai_tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write a tool for OpenAI's chat interface and for those that copied it."""
    function = {"name": name, "description": description, "parameters": _object_schema(parameters)}
    return {"type": "function", "function": function}


def anthropic_tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write a tool for Anthropic's messages interface."""
    return {"name": name, "description": description, "input_schema": _object_schema(parameters)}


def _object_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {}, **parameters}
