"""One model behind the Messages API."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from nanocoder import Cancel, Message, ModelInfo, ProviderError, Request, ToolDefinition
from nanocoder_kit_llm.http import (
    EncodedMessages,
    History,
    HistoryRules,
    HttpProvider,
    Key,
    Pieces,
    as_int,
    as_mapping,
    as_str,
    encode_json,
    with_path,
)
from nanocoder_kit_llm.models import Catalog

from nanocoder_provider_anthropic.reply import MessageReply
from nanocoder_provider_anthropic.settings import Settings
from nanocoder_provider_anthropic.wire import (
    encode_message,
    joined,
    system_blocks,
    takes_schema,
    tool_definitions,
    with_cache_mark,
)

VENDOR_URL: Final = "https://api.anthropic.com"
API_VERSION: Final = "2023-06-01"
_RULES: Final = HistoryRules(call_ids="[a-zA-Z0-9_-]{1,64}", id_prefix="toolu_", id_chars=30)
_MARKED_MESSAGES: Final = 2  # the last one, and that of the request before, which is in the cache


class AnthropicProvider(HttpProvider):
    """Speaks to one server about one model."""

    def __init__(self, model: str, settings: Settings, base_url: str) -> None:
        self._settings = settings
        base_url = with_path(base_url or VENDOR_URL, "", without=("/messages", "/v1"))
        key = Key(settings.api_key_env, "x-api-key", settings.key_command)
        if base_url == VENDOR_URL and not key.read():
            raise ProviderError(f"no key for Anthropic: set {settings.api_key_env}", kind="auth")
        headers = _headers(settings.betas)
        super().__init__(model, settings, base_url, key, headers=headers, own=settings.headers)
        self._catalog = Catalog(
            "anthropic" if base_url == VENDOR_URL else "",
            settings.models,
            plugin="provider-anthropic",
        )
        entry = self._catalog.find(model)
        self.has_price = entry.price is not None
        self.context = entry.context
        self._history = History(_RULES)
        self._encoded = EncodedMessages(partial(encode_message, host=self._client.host))
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")

    def stream(self, request: Request, cancel: Cancel) -> Pieces:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        body = self._body(request)
        priced = self._catalog.find(request.model or self._model).priced
        return self._ask(
            request,
            cancel,
            lambda: self._client.stream_events("/v1/messages", body, cancel),
            MessageReply,
            priced,
        )

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models; raises ProviderError."""
        infos = map(_model_info, self._entries("/v1/models?limit=1000", "data"))
        return [self._catalog.find(info.name).info(info) for info in infos if info.name]

    def _body(self, request: Request) -> bytes:
        parts = [encode_json(self._head(request))[:-1]]
        caching = self._settings.prompt_caching
        if request.tools:
            # One mark covers everything before it: the system text's covers the tools.
            parts.append(self._tools_part(request.tools, marked=caching and not request.system))
        if request.system:
            parts.append(b'"system":' + encode_json(system_blocks(request.system, marked=caching)))
        parts.append(b'"messages":[' + self._messages(request.messages) + b"]}")
        return b",".join(parts)

    def _head(self, request: Request) -> dict[str, Any]:
        limit = request.max_tokens or self._settings.max_tokens
        head: dict[str, Any] = {
            "model": request.model or self._model,
            "max_tokens": limit,
            "stream": True,
        }
        budget, effort = self._settings.thinking_budget_tokens, self._settings.effort
        if output := self._output_config(request):
            head["output_config"] = output
        if budget:
            # The API requires a limit above the budget, and refuses a temperature with it.
            head["max_tokens"] = limit if limit > budget else budget + limit
            head["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif effort:
            head["thinking"] = {"type": "adaptive"}
        elif request.temperature is not None:
            head["temperature"] = request.temperature
        return head

    def _output_config(self, request: Request) -> dict[str, Any]:
        effort, schema = self._settings.effort, request.answer_schema
        output: dict[str, Any] = {"effort": effort} if effort else {}
        if schema is not None and self._settings.structured_outputs and takes_schema(schema):
            output["format"] = {"type": "json_schema", "schema": schema}
        return output

    def _tools_part(self, tools: Sequence[ToolDefinition], *, marked: bool) -> bytes:
        if self._tools[0] is not tools:
            self._tools = (tools, b'"tools":' + encode_json(tool_definitions(tools, marked=marked)))
        return self._tools[1]

    def _messages(self, messages: Sequence[Message]) -> bytes:
        """Join the encoded messages and add the cache marks; the stored bytes stay without them.

        Results and the user's next message are one turn.
        """
        valid = self._history.valid(messages)
        turns: list[tuple[bool, bytes]] = []
        for message, part in zip(valid, self._encoded.parts(valid), strict=True):
            is_user = message.role != "assistant"
            if not part:
                continue
            if turns and is_user and turns[-1][0]:
                turns[-1] = (True, joined(turns[-1][1], part))
            else:
                turns.append((is_user, part))
        parts = [part for _, part in turns]
        if self._settings.prompt_caching:
            ours = (index for index in reversed(range(len(turns))) if turns[index][0])
            for index in islice(ours, _MARKED_MESSAGES):
                parts[index] = with_cache_mark(parts[index])
        return b",".join(parts)


def _headers(betas: Sequence[str]) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION}
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return headers


def _model_info(entry: Any) -> ModelInfo:
    fields = as_mapping(entry)
    return ModelInfo(
        as_str(fields.get("id")),
        as_int(fields.get("max_input_tokens")),
        as_str(fields.get("display_name")),
    )
