"""One model behind Ollama's /api/chat."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder import Cancel, ModelInfo, Notice, ProviderError, Request, ToolDefinition
from nanocoder_kit_llm.actions import ActionReply, Actions, chat, has_material, tool_texts
from nanocoder_kit_llm.http import (
    EncodedMessages,
    History,
    HistoryRules,
    HttpProvider,
    Key,
    Pieces,
    ReplyContext,
    ReplyDecoder,
    as_int,
    as_mapping,
    as_str,
    encode_json,
    is_small,
)

from nanocoder_provider_ollama.messages import MessageEncoder, tool_definition
from nanocoder_provider_ollama.reply import ChatReply
from nanocoder_provider_ollama.settings import Settings, address

DESCRIBED: Final = 50
"""The number of models that the list describes; each takes a request."""
ACTION_TOKENS: Final = 1_536
"""The longest reply under a schema: a small model may go on without end."""
NAMED: Final = 4
"""The number of models that a message names."""
_WORDS: Final = {"vision": "images", "thinking": "thinking", "tools": "tools"}


@frozen
class ModelDetails:
    """The server's metadata of one model; without a list of abilities it has all."""

    context: int = 0
    abilities: tuple[str, ...] = ("tools",)
    is_small: bool = False


class OllamaProvider(HttpProvider):
    """Speaks to one server about one model."""

    has_price = True  # people pay for the machine, not for tokens

    def __init__(self, model: str, settings: Settings) -> None:
        super().__init__(
            model,
            settings,
            address(settings),
            Key(settings.api_key_env, command=settings.key_command),
            own=settings.headers,
        )
        self._settings = settings
        self._history = History(HistoryRules())
        self._encoded = EncodedMessages(MessageEncoder().encode)
        self._details: dict[str, ModelDetails] = {}
        self._actions = Actions.of(())

    @property
    def context(self) -> int:
        """The model's window in tokens: that of the settings, limited by the model's."""
        details = ModelDetails()
        with suppress(ProviderError):  # the request itself will report the problem
            details = self._show(self._model, Cancel())
        return self._window(details)

    def stream(self, request: Request, cancel: Cancel) -> Pieces:
        """Ask the model and yield its reply, `Finished` last; raises ProviderError, Cancelled."""
        model = request.model or self._model
        is_first = model not in self._details
        details = self._show(model, cancel)
        can_call = "tools" in details.abilities
        if is_first and request.tools and not can_call:
            yield Notice(f"{model} cannot call tools: nanocoder lets it choose actions instead")
        is_action = bool(request.tools) and (self.profile == "small" or not can_call)
        body = self._body(request, model, details, is_action=is_action)
        yield from self._ask(
            request,
            cancel,
            lambda: self._client.stream_lines("/api/chat", body, cancel),
            self._action_reply if is_action else ChatReply,
            lambda usage: usage,
        )

    def tool_texts(self, tools: Sequence[ToolDefinition]) -> Sequence[str]:
        """Return the texts that the model reads instead of the tools' definitions, if any."""
        details = self._details.get(self._model)
        can_call = details is None or "tools" in details.abilities
        return () if can_call and self.profile == "full" else tool_texts(tools)

    def _action_reply(self, context: ReplyContext) -> ReplyDecoder:
        return ActionReply(ChatReply(context), self._actions)

    def models(self) -> Sequence[ModelInfo]:
        """Ask the server for its models, and for the context of the first 50."""
        infos = sorted(self._listed(), key=lambda info: info.name)
        cancel = Cancel()
        return [*(self._described(info, cancel) for info in infos[:DESCRIBED]), *infos[DESCRIBED:]]

    def _listed(self) -> list[ModelInfo]:
        entries = as_mapping(self._client.get_json("/api/tags")).get("models")
        if not isinstance(entries, list):
            raise ProviderError(
                f"{self._client.host} did not answer with a list of models; is it Ollama?",
                kind="protocol",
            )
        infos = [_model_info(entry) for entry in entries if isinstance(entry, dict)]
        return [info for info in infos if info.name]

    def _described(self, info: ModelInfo, cancel: Cancel) -> ModelInfo:
        details = self._show(info.name, cancel)
        return evolve(info, context=details.context, abilities=details.abilities)

    def _show(self, model: str, cancel: Cancel) -> ModelDetails:
        if model not in self._details:
            try:
                answer = self._client.get_json("/api/show", cancel, encode_json({"model": model}))
            except ProviderError as error:
                if error.kind != "not_found":
                    raise
                raise self._missing(model) from error
            details = self._details[model] = _details_of(answer)
            if details.is_small:
                self._take_as_small()
        return self._details[model]

    def _missing(self, model: str) -> ProviderError:
        try:
            have = _listing([info.name for info in self._listed()])
        except ProviderError:
            have = ""
        instead = f", or name one that it has: {have}" if have else ""
        return ProviderError(
            f"{self._client.host} has no model {model!r}: run `ollama pull {model}`{instead}",
            kind="not_found",
        )

    def _window(self, details: ModelDetails) -> int:
        return min(self._settings.context, details.context or self._settings.context)

    def _body(
        self, request: Request, model: str, details: ModelDetails, *, is_action: bool
    ) -> bytes:
        options: dict[str, Any] = {"num_ctx": self._window(details)}
        if request.max_tokens or is_action:
            options["num_predict"] = request.max_tokens or ACTION_TOKENS
        if request.temperature is not None or is_action:
            options["temperature"] = request.temperature or 0.0
        head: dict[str, Any] = {"model": model, "stream": True, "options": options}
        if "thinking" in details.abilities:
            think = self._settings.think
            head["think"] = think if think not in {"", "off"} else not think
        if self._settings.keep_alive:
            head["keep_alive"] = self._settings.keep_alive
        if is_action:
            return self._with_actions(request, head)
        if request.tools:
            head["tools"] = [tool_definition(tool) for tool in request.tools]
        elif request.answer_schema is not None:  # with tools it would prevent calls
            head["format"] = request.answer_schema
        messages = self._encoded.join(self._history.valid(request.messages))
        if request.system:
            system = encode_json({"role": "system", "content": request.system})
            messages = system + b"," + messages if messages else system
        return b'%s,"messages":[%s]}' % (encode_json(head)[:-1], messages)

    def _with_actions(self, request: Request, head: dict[str, Any]) -> bytes:
        """Return a body that restricts the reply to one action, by a schema instead of tools."""
        if self._actions.tools != tuple(request.tools):
            self._actions = Actions.of(request.tools)
        bare = not has_material(request.messages)
        head["format"] = self._actions.schema(bare=bare, has_separators=False)
        head["messages"] = chat(request, self._actions, {})
        return encode_json(head)


def only_model(settings: Settings) -> str:
    """Return the server's only model; raises ProviderError without an answer, or with several."""
    provider = OllamaProvider("", settings.impatient())
    try:
        names = sorted(info.name for info in provider._listed())  # noqa: SLF001 - its own module
    finally:
        provider.close()
    if len(names) == 1:
        return names[0]
    if not names:
        raise ProviderError(
            f"Ollama at {address(settings)} has no model yet: `ollama pull NAME` downloads one"
        )
    raise ProviderError(
        f"Ollama at {address(settings)} is there; name a model: --model {_listing(names)}"
        " (`nanocoder models ollama` lists all)"
    )


def _listing(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"ollama/{name}" for name in names[:NAMED]) + more


def _details_of(answer: Any) -> ModelDetails:
    fields = as_mapping(answer)
    sizes = as_mapping(fields.get("model_info"))
    family = as_str(sizes.get("general.architecture"))
    context = as_int(sizes.get(f"{family}.context_length"))
    has_few = is_small(as_str(as_mapping(fields.get("details")).get("parameter_size")))
    listed = fields.get("capabilities")
    if not isinstance(listed, list):
        return ModelDetails(context, is_small=has_few)
    words = tuple(word for name, word in _WORDS.items() if name in listed)
    return ModelDetails(context, words, has_few)


def _model_info(entry: dict[str, Any]) -> ModelInfo:
    details = as_mapping(entry.get("details"))
    words = [as_str(details.get(name)) for name in ("parameter_size", "quantization_level")]
    name = as_str(entry.get("model")) or as_str(entry.get("name"))
    return ModelInfo(name, 0, " ".join(filter(None, words)), 0.0, 0.0)
