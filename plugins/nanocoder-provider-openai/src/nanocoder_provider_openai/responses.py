"""Responses: the body of a request, and messages as its items."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from nanocoder import Attachment, Message, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.http import (
    EncodedMessages,
    History,
    HistoryRules,
    ReplyContext,
    encode_json,
    native_of,
    result_text,
)
from nanocoder_kit_llm.models import Model

from nanocoder_provider_openai.responses_reply import NATIVE_ITEMS, ResponsesReply
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.strict import strict_schema
from nanocoder_provider_openai.vendors import Vendor
from nanocoder_provider_openai.wire import cannot_be_shown, data_url

_ENCRYPTED: Final = "reasoning.encrypted_content"


class ResponsesWire:
    """Responses with streaming; nothing is stored at the vendor, the history travels each time."""

    path = "/responses"

    def __init__(self, _: Vendor, settings: Settings, host: str = "") -> None:
        self._settings = settings
        self._history = History(HistoryRules())
        self._encoded = EncodedMessages(partial(encode_items, host=host))
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")

    def body(self, request: Request, model: Model) -> bytes:
        """Return the body of one request; its beginning stays the same from turn to turn."""
        return b'%s%s,"input":[%s]}' % (
            encode_json(self._head(request, model))[:-1],
            self._tools_part(request),
            self._encoded.join(self._history.valid(request.messages)),
        )

    def reply(self, context: ReplyContext) -> ResponsesReply:
        """Return the decoder of one reply."""
        return ResponsesReply(context)

    def _head(self, request: Request, model: Model) -> dict[str, Any]:
        head: dict[str, Any] = {"model": model.name, "stream": True, "store": False}
        if not model.abilities or "thinking" in model.abilities:
            head["include"] = [_ENCRYPTED]  # models that do not think refuse it
        if request.system:
            head["instructions"] = request.system
        if request.max_tokens:
            head["max_output_tokens"] = request.max_tokens
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if request.answer_schema is not None:
            form = {"type": "json_schema", "name": "answer", "schema": request.answer_schema}
            head["text"] = {"format": form}
        reasoning = {
            "effort": self._settings.reasoning_effort,
            "summary": self._settings.reasoning_summary,
        }
        if any(reasoning.values()):
            head["reasoning"] = {name: value for name, value in reasoning.items() if value}
        if request.session_id:
            head["prompt_cache_key"] = request.session_id
        return head

    def _tools_part(self, request: Request) -> bytes:
        if not request.tools:
            return b""
        if self._tools[0] is not request.tools:
            strict = self._settings.strict_tools
            shaped = [_tool(tool, strict=strict) for tool in request.tools]
            self._tools = (request.tools, b',"tools":' + encode_json(shaped))
        return self._tools[1]


def encode_items(message: Message, host: str) -> bytes:
    """Return *message* for *host* as items, joined by commas; b"" for a message without content."""
    return b",".join(map(encode_json, _items(message, host)))


def _tool(tool: ToolDefinition, *, strict: bool) -> dict[str, Any]:
    schema = strict_schema(tool.parameters) if strict else None
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) if schema is None else schema,
        "strict": schema is not None,
    }


def _items(message: Message, host: str) -> list[dict[str, Any]]:
    if message.role == "tool":
        return _results(message.results)
    if message.role == "user":
        return [_user(message.text, message.attachments)]
    if native := native_of(message, NATIVE_ITEMS, host):
        return _with_names(native, message.calls)
    texts = [{"role": "assistant", "content": message.text}] if message.text else []
    calls = [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": encode_json(dict(call.arguments)).decode(),
        }
        for call in message.calls
    ]
    return [*texts, *calls]


def _with_names(items: Sequence[dict[str, Any]], calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return *items* with the names and ids of *calls*, as the vendor takes them."""
    remaining = iter(calls)
    return [
        {**item, "name": call.name, "call_id": call.id}
        if item.get("type") == "function_call" and (call := next(remaining, None))
        else item
        for item in items
    ]


def _results(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function_call_output",
            "call_id": result.call_id,
            "output": _parts(result_text(result), result.attachments)
            if result.attachments
            else result_text(result),
        }
        for result in results
    ]


def _user(text: str, attachments: Sequence[Attachment]) -> dict[str, Any]:
    return {"role": "user", "content": _parts(text, attachments) if attachments else text}


def _parts(text: str, attachments: Sequence[Attachment]) -> list[dict[str, Any]]:
    parts = [_part(attachment) for attachment in attachments]
    return [{"type": "input_text", "text": text}, *parts] if text else parts


def _part(attachment: Attachment) -> dict[str, Any]:
    if attachment.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": data_url(attachment), "detail": "auto"}
    if attachment.media_type == "application/pdf":
        name = attachment.name or "document.pdf"
        return {"type": "input_file", "filename": name, "file_data": data_url(attachment)}
    return {"type": "input_text", "text": cannot_be_shown(attachment)}
