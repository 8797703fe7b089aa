"""One model behind Chat Completions."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from nanocoder import (
    Cancel,
    Finished,
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

from nanocoder_provider_openai.reply import ChatReply
from nanocoder_provider_openai.settings import Settings
from nanocoder_provider_openai.wire import encode_message, tool_definition

VENDOR_URL: Final = "https://api.openai.com/v1"
_CONTEXT_FIELDS: Final = ("context_length", "max_model_len", "context_window")


class OpenAIProvider:
    """Speaks to one server about one model; without a key it sends no Authorization header."""

    def __init__(self, model: str, settings: Settings, base_url: str) -> None:
        self.profile: Literal["full", "small"] = settings.profile
        self._model = model
        self._settings = settings
        self._is_vendor = (base_url or VENDOR_URL).rstrip("/") == VENDOR_URL
        key = read_key(settings.api_key_env)
        if self._is_vendor and not key:
            raise ProviderError(
                f"no key for OpenAI: set {settings.api_key_env}, or OPENAI_BASE_URL for a server"
                " that needs none",
                kind="auth",
            )
        self._client = Client(
            base_url or VENDOR_URL,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeouts=settings.timeouts(),
            proxy=settings.proxy,
            secrets=[key],
            key_from=settings.api_key_env,
        )
        self._catalog = Catalog(
            "openai" if self._is_vendor else "",
            settings.models,
            plugin="provider-openai",
            is_free=self._client.is_local,
        )
        known = self._catalog.find(model)
        is_counted = settings.stream_usage or self._client.is_local
        self.has_price = known.price is not None and is_counted
        self.context = known.context
        self._key = key
        self._retry = settings.retry()
        self._encoded = EncodedMessages(
            lambda message: encode_message(message, settings.echo_reasoning)
        )
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")
        self._ids: set[str] = set()

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Retrying | Finished]:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        body = self._body(request)
        model = self._catalog.find(request.model or self._model)

        def attempt() -> Any:
            batches = self._client.stream_events("/chat/completions", body, cancel)
            reply = ChatReply(
                self._client.host,
                self._ids,
                [self._key],
                model.priced,
                echo=self._settings.echo_reasoning,
            )
            return read_reply(batches, reply, request)

        return self._retry.run(attempt, cancel)

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models; raises ProviderError."""
        answer = self._client.get_json("/models")
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list):
            raise ProviderError(
                f"{self._client.host} did not answer with a list of models", kind="protocol"
            )
        infos = [info for info in map(_model_info, entries) if info.name]
        completed = [self._catalog.find(info.name).info(info) for info in infos]
        return sorted(completed, key=lambda info: info.name)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _body(self, request: Request) -> bytes:
        head: dict[str, Any] = {"model": request.model or self._model, "stream": True}
        if self._settings.stream_usage:
            head["stream_options"] = {"include_usage": True}
        if request.max_tokens:
            head[self._limit_field()] = request.max_tokens
        if request.temperature is not None:
            head["temperature"] = request.temperature
        if self._settings.reasoning_effort:
            head["reasoning_effort"] = self._settings.reasoning_effort
        if self._is_vendor and request.session_id:
            head["prompt_cache_key"] = request.session_id
        messages = self._encoded.join(request.messages)
        if request.system:
            system = encode_json({"role": "system", "content": request.system})
            messages = system + b"," + messages if messages else system
        return b'%s%s,"messages":[%s]}' % (
            encode_json(head)[:-1],
            self._tools_part(request),
            messages,
        )

    def _limit_field(self) -> str:
        named = self._settings.max_tokens_field
        return named or ("max_completion_tokens" if self._is_vendor else "max_tokens")

    def _tools_part(self, request: Request) -> bytes:
        if not request.tools:
            return b""
        if self._tools[0] is not request.tools:
            part = b',"tools":' + encode_json([tool_definition(tool) for tool in request.tools])
            self._tools = (request.tools, part)
        return self._tools[1]


def _model_info(entry: Any) -> ModelInfo:
    fields = entry if isinstance(entry, dict) else {}
    context = next((as_int(fields[name]) for name in _CONTEXT_FIELDS if fields.get(name)), 0)
    return ModelInfo(as_str(fields.get("id")), context, as_str(fields.get("owned_by")))
