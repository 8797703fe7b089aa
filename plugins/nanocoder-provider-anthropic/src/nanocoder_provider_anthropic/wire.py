"""Messages and tools in the form of the Messages API."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

from nanocoder import Attachment, Message, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.http import encode_json, native_of

NATIVE: Final = "anthropic"
"""The key of our part in a message's native data: content blocks to send back unchanged."""

_CACHE: Final = {"type": "ephemeral"}
_MARK: Final = b',"cache_control":{"type":"ephemeral"}'
_END: Final = b"}]}"
_SCHEMA_KEYS: Final = frozenset(
    ("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf")
) | {"title", "description"}
_MEDIA: Final = {"application/pdf": "document"}


def encode_message(message: Message, host: str = "") -> bytes:
    """Return *message* for *host* as one JSON object that ends with its last content block.

    b"" for a message without content: the API refuses those, and empty texts.
    """
    blocks = _blocks(message, host)
    role = "assistant" if message.role == "assistant" else "user"
    return encode_json({"role": role, "content": blocks}) if blocks else b""


def joined(first: bytes, second: bytes) -> bytes:
    """Return two encoded messages of one role as one."""
    _, _, blocks = second.partition(b'"content":[')
    return first[: -len(b"]}")] + b"," + blocks


def with_cache_mark(encoded: bytes) -> bytes:
    """Mark the last content block of an encoded message as the end of a cached beginning."""
    return encoded[: -len(_END)] + _MARK + _END


def system_blocks(text: str, *, marked: bool) -> list[dict[str, Any]]:
    """Return the system text as a content block."""
    block = {"type": "text", "text": text}
    return [block | {"cache_control": _CACHE}] if marked else [block]


def tool_definitions(tools: Sequence[ToolDefinition], *, marked: bool) -> list[dict[str, Any]]:
    """Return the tools; with *marked* the last one ends the cached beginning."""
    shaped: list[dict[str, Any]] = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.parameters),
        }
        for tool in tools
    ]
    if marked:
        shaped[-1]["cache_control"] = _CACHE
    return shaped


def takes_schema(schema: Any) -> bool:
    """Return True if the API takes *schema* for an answer, which is not any JSON Schema.

    It refuses objects that may have further properties, and most limits of values.
    """
    if not isinstance(schema, dict) or not schema.keys() <= _SCHEMA_KEYS:
        return False
    if not isinstance(schema.get("type", ""), str) or not schema.keys() & {"type", "enum", "anyOf"}:
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    if any(isinstance(value, dict | list) for value in schema.get("enum", ())):
        return False
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    return all(map(takes_schema, [*inner, *([schema["items"]] if "items" in schema else [])]))


def _blocks(message: Message, host: str) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [_result(result) for result in message.results]
    if message.role == "user":
        return [*_text(message.text), *map(_attachment, message.attachments)]
    if native := native_of(message, NATIVE, host):
        return _with_names(native, message.calls)
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in message.calls
    ]
    return [*_text(message.text), *calls]


def _with_names(
    blocks: Sequence[dict[str, Any]], calls: Sequence[ToolCall]
) -> list[dict[str, Any]]:
    """Return *blocks* with the names and ids of *calls*, as the vendor takes them."""
    remaining = iter(calls)
    return [
        {**block, "name": call.name, "id": call.id}
        if block.get("type") == "tool_use" and (call := next(remaining, None))
        else block
        for block in blocks
    ]


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": result.output or "(no output)",
    }
    if result.attachments:
        block["content"] = [*_text(result.output), *map(_attachment, result.attachments)]
    if result.is_error:
        block["is_error"] = True
    return block


def _attachment(attachment: Attachment) -> dict[str, Any]:
    is_image = attachment.media_type.startswith("image/")
    kind = "image" if is_image else _MEDIA.get(attachment.media_type)
    if kind is None:
        name = attachment.name or "a file"
        return {"type": "text", "text": f"[{name} ({attachment.media_type}) cannot be shown here]"}
    data = b64encode(attachment.data).decode()
    source = {"type": "base64", "media_type": attachment.media_type, "data": data}
    return {"type": kind, "source": source}
