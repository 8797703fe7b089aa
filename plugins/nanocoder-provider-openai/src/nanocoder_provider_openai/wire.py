"""Messages and tools in the form of Chat Completions."""

from base64 import b64encode
from typing import Any, Final

from attrs import evolve
from nanocoder import Attachment, Message, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_http import encode_json

from nanocoder_provider_openai.strict import strict_schema

NATIVE = "openai"
"""The key of our part in a message's native data."""
_SHORT_CHARS: Final = 9


def encode_message(message: Message, *, echo_reasoning: bool, short_ids: bool = False) -> bytes:
    """Return *message* as JSON objects joined by commas; one for each result of a tool message."""
    if short_ids:
        message = _with_short_ids(message)
    if message.role == "tool":
        return b",".join(map(encode_json, _results(message.results)))
    if message.role == "assistant":
        return encode_json(_assistant(message, echo_reasoning))
    return encode_json({"role": "user", "content": _content(message.text, message.attachments)})


def tool_definition(tool: ToolDefinition, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool in the shape of function calling; *strict* where its schema allows that."""
    schema = strict_schema(tool.parameters) if strict else None
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) if schema is None else schema,
    }
    if schema is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


def _with_short_ids(message: Message) -> Message:
    calls = tuple(evolve(call, id=_short_id(call.id)) for call in message.calls)
    results = tuple(evolve(result, call_id=_short_id(result.call_id)) for result in message.results)
    return evolve(message, calls=calls, results=results)


def _short_id(call_id: str) -> str:
    """Return *call_id* with nine letters and digits, the same ones for the same id."""
    if len(call_id) == _SHORT_CHARS and call_id.isascii() and call_id.isalnum():
        return call_id
    from hashlib import sha256  # few calls need it

    return sha256(call_id.encode()).hexdigest()[:_SHORT_CHARS]


def _assistant(message: Message, echo_reasoning: bool) -> dict[str, Any]:  # noqa: FBT001
    fields: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.calls:
        # Some servers refuse an empty text beside calls, others a missing one.
        fields["content"] = message.text or None
        fields["tool_calls"] = [_call(call) for call in message.calls]
    native = message.native if isinstance(message.native, dict) else {}
    if echo_reasoning and NATIVE in native:
        fields.update(native[NATIVE])
    return fields


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": encode_json(dict(call.arguments)).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _results(results: tuple[ToolResult, ...]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    pictures: list[Attachment] = []
    for result in results:
        text = result_text(result)
        messages.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
        pictures += result.attachments
    if pictures:  # a tool message holds text only; a user message may follow all of them
        content = _content("Attached to the results above:", tuple(pictures))
        messages.append({"role": "user", "content": content})
    return messages


def result_text(result: ToolResult) -> str:
    """Return what the model reads of a result; the protocols have no mark for errors."""
    if result.is_error and not result.output.startswith("Error"):
        return f"Error: {result.output}"
    return result.output


def data_url(attachment: Attachment) -> str:
    """Return an attachment as a data URL."""
    return f"data:{attachment.media_type};base64,{b64encode(attachment.data).decode()}"


def cannot_be_shown(attachment: Attachment) -> str:
    """Return what a model reads in place of a file that it cannot be sent."""
    return f"[{attachment.name or 'a file'} ({attachment.media_type}) cannot be shown here]"


def _content(text: str, attachments: tuple[Attachment, ...]) -> str | list[dict[str, Any]]:
    if not attachments:
        return text
    parts = [_part(attachment) for attachment in attachments]
    return [{"type": "text", "text": text}, *parts] if text else parts


def _part(attachment: Attachment) -> dict[str, Any]:
    if attachment.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": data_url(attachment)}}
    return {"type": "text", "text": cannot_be_shown(attachment)}
