"""One model behind generateContent."""

import os
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from nanocoder import Cancel, ModelInfo, ProviderError, Request, ToolDefinition
from nanocoder_kit_llm.http import (
    KEY_FILE,
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
from nanocoder_kit_llm.models import Catalog, Model

from nanocoder_provider_google.contents import ContentEncoder, tool_declarations
from nanocoder_provider_google.reply import ContentReply
from nanocoder_provider_google.settings import KEY_VARIABLES, Settings

VENDOR_URL: Final = "https://generativelanguage.googleapis.com"
VERSION: Final = "/v1beta"


class GoogleProvider(HttpProvider):
    """Speaks to one server about one model."""

    def __init__(self, model: str, settings: Settings, base_url: str) -> None:
        self._settings = settings
        base_url = with_path(base_url or VENDOR_URL, "", without=[VERSION])
        key = Key(_key_variable(settings), "x-goog-api-key", settings.key_command)
        if base_url == VENDOR_URL and not key.read():
            raise ProviderError(f"no key for Google: set {key.variable}", kind="auth")
        super().__init__(model, settings, base_url, key, own=settings.headers)
        self._catalog = Catalog(
            "google" if base_url == VENDOR_URL else "",
            settings.models,
            plugin="provider-google",
        )
        entry = self._catalog.find(model)
        self.has_price = entry.price is not None
        self.context = entry.context
        self._history = History(HistoryRules())
        self._encoded = EncodedMessages(ContentEncoder(self._client.host).encode)
        self._tools: tuple[Sequence[ToolDefinition], bytes] = ((), b"")

    def stream(self, request: Request, cancel: Cancel) -> Pieces:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        model = self._catalog.find(request.model or self._model)
        path = f"{VERSION}/models/{quote(model.name)}:streamGenerateContent?alt=sse"
        body = self._body(request, model)
        return self._ask(
            request,
            cancel,
            lambda: self._client.stream_events(path, body, cancel),
            ContentReply,
            model.priced,
        )

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models; raises ProviderError."""
        entries = self._entries(f"{VERSION}/models?pageSize=1000", "models")
        infos = [_model_info(entry) for entry in entries if _is_asked(entry)]
        return [self._catalog.find(info.name).info(info) for info in infos if info.name]

    def _body(self, request: Request, model: Model) -> bytes:
        parts = []
        if request.system:
            system = {"parts": [{"text": request.system}]}
            parts.append(b'"systemInstruction":' + encode_json(system))
        if request.tools:
            parts.append(self._tools_part(request.tools))
        if options := self._options(request, model):
            parts.append(b'"generationConfig":' + encode_json(options))
        messages = self._encoded.join(self._history.valid(request.messages))
        parts.append(b'"contents":[' + messages + b"]")
        return b"{" + b",".join(parts) + b"}"

    def _options(self, request: Request, model: Model) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if request.max_tokens:
            options["maxOutputTokens"] = request.max_tokens
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.answer_schema is not None and not request.tools:  # older models refuse both
            options["responseMimeType"] = "application/json"
            options["responseJsonSchema"] = request.answer_schema
        thinking: dict[str, Any] = {}
        if "thinking" in model.abilities:  # other models refuse it
            thinking["includeThoughts"] = True
        if self._settings.thinking_level:
            thinking["thinkingLevel"] = self._settings.thinking_level
        if self._settings.thinking_budget_tokens:
            thinking["thinkingBudget"] = self._settings.thinking_budget_tokens
        return options | ({"thinkingConfig": thinking} if thinking else {})

    def _tools_part(self, tools: Sequence[ToolDefinition]) -> bytes:
        if self._tools[0] is not tools:
            declared = [{"functionDeclarations": tool_declarations(tools)}]
            self._tools = (tools, b'"tools":' + encode_json(declared))
        return self._tools[1]


def _key_variable(settings: Settings) -> str:
    named = (name for name in KEY_VARIABLES if any(map(os.environ.get, (name, name + KEY_FILE))))
    return settings.api_key_env or next(named, KEY_VARIABLES[0])


def _is_asked(entry: Any) -> bool:
    """Return True if a model of the list answers to generateContent."""
    methods = as_mapping(entry).get("supportedGenerationMethods")
    return isinstance(methods, list) and "generateContent" in methods


def _model_info(entry: dict[str, Any]) -> ModelInfo:
    return ModelInfo(
        as_str(entry.get("name")).removeprefix("models/"),
        as_int(entry.get("inputTokenLimit")),
        as_str(entry.get("displayName")),
    )
