"""A plugin with the tools that scenarios of the official MCP suite call by name."""

import base64
import json
import time
from typing import Any

from nanocoder import Attachment, Question, Tool, ToolError, ToolResult, hookimpl, tool
from nanocoder_mcp.raw_schema import RawSignature

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SILENCE = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
NOTE = Attachment("text/plain", b"This is a file in a result.", name="note.txt")
TABLE = Attachment("application/json", b'{"test": "data", "value": 123}', name="table.json")
ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
HARMLESS: dict[str, Any] = {"risk": "safe", "effects": ["read"]}


@tool(name="test_simple_text", **HARMLESS)
def simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(name="test_image_content", **HARMLESS)
def image_content() -> ToolResult:
    """Return an image."""
    return ToolResult("an image", attachments=(Attachment("image/png", PIXEL),))


@tool(name="test_audio_content", **HARMLESS)
def audio_content() -> ToolResult:
    """Return a sound."""
    return ToolResult("a sound", attachments=(Attachment("audio/wav", SILENCE),))


@tool(name="test_embedded_resource", **HARMLESS)
def embedded_resource() -> ToolResult:
    """Return a file."""
    return ToolResult("a file", attachments=(NOTE,))


@tool(name="test_multiple_content_types", **HARMLESS)
def multiple_content_types() -> ToolResult:
    """Return a text, an image and a file."""
    return ToolResult("all of them", attachments=(Attachment("image/png", PIXEL), TABLE))


@tool(name="test_error_handling", **HARMLESS)
def error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(name="test_tool_with_progress", **HARMLESS)
def tool_with_progress(ctx: Any) -> str:
    """Say how far it is, three times."""
    for share in ("0", "50", "100"):
        ctx.progress(f"{share} of 100")
        time.sleep(0.05)
    return "done"


@tool(name="test_elicitation", **HARMLESS)
def elicitation(ctx: Any, message: str) -> str:
    """Ask the person."""
    return f"answer: {ctx.ask(Question(message))}"


def address(arguments: dict[str, Any]) -> str:
    """Return the address that was given."""
    return json.dumps(arguments)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer them, and one whose schema is handed on as it is."""
    raw: Tool[..., Any] = Tool(
        name="json_schema_2020_12_tool",
        description="Take an address.",
        handler=address,
        signature=RawSignature(SCHEMA),
        schema=SCHEMA,
        **HARMLESS,
    )
    files = [image_content, audio_content, embedded_resource, multiple_content_types]
    return [raw, simple_text, *files, error_handling, tool_with_progress, elicitation]
