"""Messages and tools in the form of generateContent."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

from nanocoder import Attachment, Message, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.http import encode_json, native_of

NATIVE: Final = "google"
"""The key of our part in a message's native data: the parts to send back unchanged."""

# Google's own word for a call that another model made: no signature of a thought can exist.
FOREIGN_SIGNATURE: Final = "skip_thought_signature_validator"
_SHOWN: Final = ("image/", "application/pdf", "audio/", "video/")


class ContentEncoder:
    """Encodes messages for *host*, in their order; a result is named after the call it answers."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._calls: dict[str, dict[str, str]] = {}

    def encode(self, message: Message) -> bytes:
        """Return *message* as one JSON object; b"" for a message without parts."""
        parts = self._parts(message)
        role = "model" if message.role == "assistant" else "user"
        return encode_json({"role": role, "parts": parts}) if parts else b""

    def _parts(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "user":
            return [*_text(message.text), *map(_attachment, message.attachments)]
        if message.role == "tool":
            answers = [self._response(result) for result in message.results]
            files = [attachment for result in message.results for attachment in result.attachments]
            return [*answers, *map(_attachment, files)]
        native = native_of(message, NATIVE, self._host)
        parts = _with_names(native, message.calls) if native else _foreign_parts(message)
        functions = [part["functionCall"] for part in parts if "functionCall" in part]
        for call, function in zip(message.calls, functions, strict=False):
            identity = {"id": function["id"]} if function.get("id") else {}
            self._calls[call.id] = {"name": function["name"], **identity}
        return parts

    def _response(self, result: ToolResult) -> dict[str, Any]:
        call = self._calls.get(result.call_id, {"name": "unknown"})
        response = {"error" if result.is_error else "output": result.output}
        return {"functionResponse": {**call, "response": response}}


def tool_declarations(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Return the tools in the shape of function calling."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": dict(tool.parameters),
        }
        for tool in tools
    ]


def _with_names(parts: Sequence[dict[str, Any]], calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return *parts* with the names of *calls*, as the vendor takes them."""
    remaining = iter(calls)
    return [
        {**part, "functionCall": {**part["functionCall"], "name": call.name}}
        if "functionCall" in part and (call := next(remaining, None))
        else part
        for part in parts
    ]


def _foreign_parts(message: Message) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
        for call in message.calls
    ]
    if calls:
        calls[0]["thoughtSignature"] = FOREIGN_SIGNATURE
    return [*_text(message.text), *calls]


def _text(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def _attachment(attachment: Attachment) -> dict[str, Any]:
    if not attachment.media_type.startswith(_SHOWN):
        name = attachment.name or "a file"
        return {"text": f"[{name} ({attachment.media_type}) cannot be shown here]"}
    data = b64encode(attachment.data).decode()
    return {"inlineData": {"mimeType": attachment.media_type, "data": data}}
