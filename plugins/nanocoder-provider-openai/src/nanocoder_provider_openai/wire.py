"""Messages and tools in the form of Chat Completions."""

from base64 import b64encode
from typing import Any, Final

from nanocoder import Attachment, Message, ToolCall, ToolDefinition, ToolResult, value
from nanocoder_kit_llm.http import encode_json, result_text

from nanocoder_provider_openai.echo import echoed
from nanocoder_provider_openai.strict import strict_schema

# Google's own word for a call that another model made: no signature of a thought can exist.
_FOREIGN: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}


@value
class ChatRules:
    """The rules of one server and model, *origin*, beside those of its history.

    With *wants_reasoning* each message with calls has a field for it, with *refuses_reasoning*
    none has, and with *wants_signatures* the first call of each has one.
    """

    origin: str = ""
    wants_reasoning: bool = False
    refuses_reasoning: bool = False
    wants_signatures: bool = False


def encode_message(message: Message, *, rules: ChatRules) -> bytes:
    """Return *message* as JSON objects joined by commas; one for each result of a tool message."""
    if message.role == "tool":
        return b",".join(map(encode_json, _results(message.results)))
    if message.role == "assistant":
        return encode_json(_assistant(message, rules))
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


def _assistant(message: Message, rules: ChatRules) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": "assistant", "content": message.text}
    own, extras = echoed(message, rules.origin)
    if message.calls:
        # Some servers refuse an empty text beside calls, others a missing one.
        fields["content"] = message.text or None
        calls = zip(message.calls, extras, strict=False)
        fields["tool_calls"] = [{**_call(call), **extra} for call, extra in calls]
        if rules.wants_signatures and not any(extras):
            fields["tool_calls"][0]["extra_content"] = _FOREIGN
        if rules.wants_reasoning:
            fields["reasoning_content"] = " "
    if rules.refuses_reasoning:
        own = {name: item for name, item in own.items() if not name.startswith("reasoning")}
    return {**fields, **own}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": encode_json(dict(call.arguments)).decode()}
    return {"id": call.id, "type": "function", "function": function}


def _results(results: tuple[ToolResult, ...]) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": result.call_id, "content": result_text(result)}
        for result in results
    ]


def data_url(attachment: Attachment) -> str:
    """Return an attachment as a data URL."""
    return f"data:{attachment.media_type};base64,{b64encode(attachment.data).decode()}"


def cannot_be_shown(attachment: Attachment) -> str:
    """Return the text that replaces an attachment which the model cannot receive."""
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
