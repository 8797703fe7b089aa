"""Messages and tools in the form of Chat Completions, and what goes back to their server.

Reasoning and the signatures of thoughts and calls are not standardized: only the server that sent
them takes them.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder import (
    Attachment,
    Message,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
    value,
)
from nanocoder_kit_llm.http import CallParts, Deltas, as_str, encode_json, result_text

from nanocoder_provider_openai.strict import strict_schema

NATIVE: Final = "openai"
"""The key of our part in a message's native data."""
EXTRA_OF_CALLS: Final = ("extra_content", "provider_specific_fields", "thought_signature")
"""Fields of a call in which servers carry the signatures of thoughts."""
_REASONING: Final = ("reasoning_content", "reasoning")
_DETAILS: Final = "reasoning_details"
_EXTRA: Final = "extra_content"
_GROWING: Final = ("text", "summary")
_TAG: Final = "<think>"
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


class Echo:
    """Collects the fields of a reply that *origin*, a server and its model, requires back."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._field = ""
        self._details: list[dict[str, Any]] = []
        self._extra: dict[str, Any] = {}

    def thinking_in(self, delta: Mapping[str, Any]) -> str:
        """Return the thinking in *delta*, and store the data to send back."""
        if isinstance(delta.get(_EXTRA), dict):
            self._extra |= delta[_EXTRA]
        details = delta.get(_DETAILS)
        for detail in details if isinstance(details, list) else []:
            if isinstance(detail, dict):
                self._add(detail)
        for name in _REASONING:
            if thinking := as_str(delta.get(name)):
                self._field = name
                return thinking
        return ""

    def native(self, calls: Sequence[CallParts], deltas: Deltas) -> dict[str, Any] | None:
        """Return the native data of the message; the text of thinking goes back beside calls."""
        fields: dict[str, Any] = {_DETAILS: self._details} if self._details else {}
        text = deltas.text_of(TextDelta)
        if calls and self._field and not self._details:
            fields[self._field] = deltas.text_of(ThinkingDelta)
        elif calls and text.lstrip().startswith(_TAG):
            fields["content"] = text
        if self._extra:
            fields[_EXTRA] = self._extra
        extras = [parts.extra for parts in calls]
        if not fields and not any(extras):
            return None
        return {NATIVE: {"origin": self._origin, "message": fields, "calls": extras}}

    def _add(self, detail: dict[str, Any]) -> None:
        """Add a piece of reasoning; pieces of one entry become that entry again."""
        latest = self._details[-1] if self._details else {}
        growing = next((name for name in _GROWING if as_str(detail.get(name))), "")
        is_same = all(latest.get(key) == detail.get(key) for key in ("type", "index"))
        is_signature = is_same and not growing and detail.get("signature") and "data" not in detail
        if not (is_same and growing and growing in latest) and not is_signature:
            self._details.append(dict(detail))
            return
        joined = {growing: latest[growing] + detail[growing]} if growing else {}
        present = {name: item for name, item in detail.items() if item is not None}
        latest.update({**present, **joined})


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


def echoed(message: Message, origin: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the fields that *origin* gets back with *message*, and with each of its calls."""
    native = message.native.get(NATIVE) if isinstance(message.native, dict) else None
    if not isinstance(native, dict) or native.get("origin") != origin:
        return {}, [{}] * len(message.calls)
    return native["message"], native["calls"] or [{}] * len(message.calls)


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
