"""Messages and tools in the form of Ollama's /api/chat."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

from nanocoder import Attachment, Message, ToolDefinition, ToolResult
from nanocoder_kit_llm.http import encode_json, result_text

NATIVE: Final = "ollama"
"""The key of our part in a message's native data: the thinking that led to its calls."""


class MessageEncoder:
    """Encodes messages in their order; a result is named after the call that it answers."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def encode(self, message: Message) -> bytes:
        """Return *message* as JSON objects joined by commas; one for each result."""
        if message.role == "tool":
            return b",".join(encode_json(self._result(result)) for result in message.results)
        if message.role == "assistant":
            return encode_json(self._assistant(message))
        return encode_json(_with_files("user", message.text, message.attachments))

    def _assistant(self, message: Message) -> dict[str, Any]:
        fields: dict[str, Any] = {"role": "assistant", "content": message.text}
        native = message.native.get(NATIVE) if isinstance(message.native, dict) else None
        fields |= native or {}
        if message.calls:
            self._names.update((call.id, call.name) for call in message.calls)
            fields["tool_calls"] = [
                {"id": call.id, "function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in message.calls
            ]
        return fields

    def _result(self, result: ToolResult) -> dict[str, Any]:
        call = {"tool_name": self._names.get(result.call_id, ""), "tool_call_id": result.call_id}
        return _with_files("tool", result_text(result), result.attachments) | call


def tool_definition(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool in the shape of function calling."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _with_files(role: str, text: str, attachments: Sequence[Attachment]) -> dict[str, Any]:
    images = [file for file in attachments if file.media_type.startswith("image/")]
    others = [file for file in attachments if file not in images]
    absent = [
        f"[{file.name or 'a file'} ({file.media_type}) cannot be shown here]" for file in others
    ]
    content = "\n".join(filter(None, [text, *absent]))
    message: dict[str, Any] = {"role": role, "content": content}
    if images:
        message["images"] = [b64encode(image.data).decode() for image in images]
    return message
