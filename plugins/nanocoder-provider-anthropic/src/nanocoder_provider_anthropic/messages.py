"""One model behind the Messages API."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, Literal

from nanocoder import (
    Cancel,
    Finished,
    Message,
    ModelInfo,
    ProviderError,
    Request,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
)
from nanocoder_kit_http import (
    Client,
    EncodedMessages,
    as_int,
    as_str,
    encode_json,
    read_key,
    read_reply,
)
from nanocoder_kit_models import Catalog

from nanocoder_provider_anthropic.reply import MessageReply
from nanocoder_provider_anthropic.settings import Settings
from nanocoder_provider_anthropic.wire import (
    encode_message,
    system_blocks,
    tool_definitions,
    with_cache_mark,
)

VENDOR_URL: Final = "https://api.anthropic.com"
API_VERSION: Final = "2023-06-01"
_MARKED_MESSAGES: Final = 2  # the last one, and that of the request before, which is in the cache


class AnthropicProvider:
    """Speaks to one server about one model."""

    def __init__(self, model: str, settings: Settings, base_url: str) -> None:
        self.profile: Literal["full", "small"] = settings.profile
        self._model = model
        self._settings = settings
        base_url = (base_url or VENDOR_URL).rstrip("/").removesuffix("/v1")
        key = read_key(settings.api_key_env)
        if base_url == VENDOR_URL and not key:
            raise ProviderError(f"no key for Anthropic: set {settings.api_key_env}", kind="auth")
        self._client = Client(
            base_url,
            headers=_headers(key, settings.betas),
            timeouts=settings.timeouts(),
            proxy=settings.proxy,
            secrets=[key],
            key_from=settings.api_key_env,
        )
        self._catalog = Catalog(
            "anthropic" if base_url == VENDOR_URL else "",
            settings.models,
            plugin="provider-anthropic",
            is_free=self._client.is_local,
        )
        entry = self._catalog.find(model)
        self.has_price = entry.price is not None
        self.context = entry.context
        self._key = key
        self._retry = settings.retry()
        self._encoded = EncodedMessages(encode_message)
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")
        self._ids: set[str] = set()

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Retrying | Finished]:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        body = self._body(request)
        model = self._catalog.find(request.model or self._model)

        def attempt() -> Any:
            batches = self._client.stream_events("/v1/messages", body, cancel)
            reply = MessageReply(self._client.host, self._ids, [self._key], model.priced)
            return read_reply(batches, reply, request)

        return self._retry.run(attempt, cancel)

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models; raises ProviderError."""
        answer = self._client.get_json("/v1/models?limit=1000")
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list):
            raise ProviderError(
                f"{self._client.host} did not answer with a list of models", kind="protocol"
            )
        infos = [_model_info(entry) for entry in entries if isinstance(entry, dict)]
        return [self._catalog.find(info.name).info(info) for info in infos if info.name]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _body(self, request: Request) -> bytes:
        parts = [encode_json(self._head(request))[:-1]]
        caching = self._settings.prompt_caching
        if request.tools:
            # One mark covers all that stands before it: the system text's covers the tools.
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
        if effort:
            head["output_config"] = {"effort": effort}
        if budget:
            # The API requires a limit above the budget, and refuses a temperature with it.
            head["max_tokens"] = limit if limit > budget else budget + limit
            head["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif effort:
            head["thinking"] = {"type": "adaptive"}
        elif request.temperature is not None:
            head["temperature"] = request.temperature
        return head

    def _tools_part(self, tools: Sequence[ToolDefinition], *, marked: bool) -> bytes:
        if self._tools[0] is not tools:
            self._tools = (tools, b'"tools":' + encode_json(tool_definitions(tools, marked=marked)))
        return self._tools[1]

    def _messages(self, messages: Sequence[Message]) -> bytes:
        """Join the encoded messages and add the cache marks; the stored bytes stay without them."""
        parts = self._encoded.parts(messages)
        if self._settings.prompt_caching:
            ours = (
                place
                for place in reversed(range(len(parts)))
                if parts[place] and messages[place].role != "assistant"
            )
            for place in islice(ours, _MARKED_MESSAGES):
                parts[place] = with_cache_mark(parts[place])
        return b",".join(filter(None, parts))


def _headers(key: str, betas: Sequence[str]) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION}
    if key:
        headers["x-api-key"] = key
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return headers


def _model_info(entry: dict[str, Any]) -> ModelInfo:
    return ModelInfo(
        as_str(entry.get("id")),
        as_int(entry.get("max_input_tokens")),
        as_str(entry.get("display_name")),
    )
