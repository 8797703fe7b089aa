"""Chat Completions: the body of a request, by the rules of a vendor and a model."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from nanocoder import Request, ToolDefinition
from nanocoder_kit_llm.http import EncodedMessages, History, HistoryRules, ReplyContext, encode_json
from nanocoder_kit_llm.models import Model

from nanocoder_provider_openai.reply import ChatReply
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.vendors import OPENAI, Vendor
from nanocoder_provider_openai.wire import ChatRules, encode_message, tool_definition

_MISTRAL: Final = (
    *("mistral", "mixtral", "codestral", "devstral", "magistral", "ministral"),
    *("pixtral", "voxtral"),
)
_REASONING: Final = ("kimi", "deepseek")


class ChatWire:
    """Chat Completions with streaming."""

    path = "/chat/completions"

    def __init__(self, vendor: Vendor, settings: Settings, host: str = "") -> None:
        self._vendor = vendor
        self._settings = settings
        self._host = host
        self._origin = ""
        self._history: History  # set with the first request's model
        self._encoded: EncodedMessages
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")

    def body(self, request: Request, model: Model) -> bytes:
        """Return the body of one request; its beginning stays the same from turn to turn."""
        self._take_rules(model.name)
        messages = self._encoded.join(self._history.valid(request.messages))
        if request.system:
            system = encode_json({"role": "system", "content": request.system})
            messages = system + b"," + messages if messages else system
        return b'%s%s,"messages":[%s]}' % (
            encode_json(self._head(request, model))[:-1],
            self._tools_part(request),
            messages,
        )

    def reply(self, context: ReplyContext) -> ChatReply:
        """Return the decoder of one reply."""
        return ChatReply(context, self._origin)

    def _take_rules(self, model: str) -> None:
        """Use the rules of *model*; drop messages encoded for another one."""
        origin = f"{self._host} {model}"
        if origin != self._origin:
            self._origin = origin
            self._history = History(history_rules(self._vendor, model))
            rules = chat_rules(self._vendor, origin, model)
            self._encoded = EncodedMessages(partial(encode_message, rules=rules))

    def _head(self, request: Request, model: Model) -> dict[str, Any]:
        settings, vendor = self._settings, self._vendor
        head: dict[str, Any] = {"model": model.name, "stream": True}
        if settings.stream_usage and not vendor.counts_unasked:
            head["stream_options"] = {"include_usage": True}
        if request.max_tokens:
            head[settings.max_tokens_field or vendor.limit_field] = request.max_tokens
        if request.temperature is not None:
            head["temperature"] = request.temperature
        # With tools, some servers refuse it, since both are grammars to them.
        if request.answer_schema is not None and not request.tools:
            form = {"name": "answer", "schema": request.answer_schema}
            head["response_format"] = {"type": "json_schema", "json_schema": form}
        if settings.reasoning_effort:
            head["reasoning_effort"] = settings.reasoning_effort
        if vendor is OPENAI and request.session_id:
            head["prompt_cache_key"] = request.session_id
        return head

    def _tools_part(self, request: Request) -> bytes:
        if not request.tools:
            return b""
        if self._tools[0] is not request.tools:
            strict = self._settings.strict_tools
            shaped = [tool_definition(tool, strict=strict) for tool in request.tools]
            self._tools = (request.tools, b',"tools":' + encode_json(shaped))
        return self._tools[1]


def history_rules(vendor: Vendor, model: str) -> HistoryRules:
    """Return the rules of the history that *vendor* gets for *model*.

    A model's rules apply on any server.
    """
    name = model.lower()
    if vendor.short_ids or any(family in name for family in _MISTRAL):
        return HistoryRules(
            call_ids="[a-zA-Z0-9]{9}",
            id_prefix="",
            id_chars=9,
            speaks_before_user=True,
            has_text_results=True,
        )
    if vendor.name == "bedrock" or "claude" in name:
        return HistoryRules(call_ids="[a-zA-Z0-9_-]{1,64}", has_text_results=True)
    longest = 40 if vendor.limit_field == "max_completion_tokens" else 64
    return HistoryRules(call_ids=rf"[\x21-\x7e]{{1,{longest}}}", has_text_results=True)


def chat_rules(vendor: Vendor, origin: str, model: str) -> ChatRules:
    """Return the rules of the messages that *vendor* gets for *model*, an *origin* of replies."""
    name = model.lower()
    return ChatRules(
        origin,
        wants_reasoning=vendor.reasoning != "refused" and any(it in name for it in _REASONING),
        refuses_reasoning=vendor.reasoning == "refused",
        wants_signatures="gemini" in name and bool(re.search(r"gemini-(?:[3-9]|\d\d)", name)),
    )
