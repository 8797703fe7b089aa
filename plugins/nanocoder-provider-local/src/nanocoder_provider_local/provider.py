"""The provider `local`: a grammar restricts each reply of the model to actions."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, Literal

from attrs import field, mutable
from nanocoder import (
    Cancel,
    Finished,
    ModelInfo,
    Notice,
    ProviderError,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    Usage,
    repeats_itself,
)
from nanocoder_kit_llm.actions import Actions, AnswerText, Chat, has_material, tool_texts

from nanocoder_provider_local.engine import Chunk, Engine
from nanocoder_provider_local.locate import locate
from nanocoder_provider_local.progress import LOADS, PERCENT
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings
from nanocoder_provider_local.window import Window

OVERFLOW: Final = "exceed_context_size_error"
CHECK_PIECES: Final = 50
STUCK_CHARS: Final = 800
"""A small model has few tokens for a reply, so repetition is stopped early."""
FIT_ATTEMPTS: Final = 3
LONG_PROMPT: Final = 192
"""Tokens that take seconds to process without a graphics card."""
REPEATED: Final = "repeated"
WRITES: Final = "writing"


def open_local(model: str, settings: Settings) -> "LocalProvider":
    """Return a provider for *model*, which it loads at its first request; raises ProviderError."""
    engine = Engine(locate(model, settings), settings)
    return LocalProvider(model or DEFAULT_MODEL, engine, settings)


@mutable
class _Reply:
    """The part of a reply that has arrived; with *is_action* it is an action, not plain text."""

    answer: AnswerText
    is_action: bool
    usage: Usage = field(factory=Usage)
    cut: bool = False
    ending: str = ""
    pieces: int = 0

    def add(self, chunk: Chunk) -> str:
        """Add *chunk*, return the text to show, which is often empty; raises ProviderError."""
        if "error" in chunk:
            raise _engine_error(chunk["error"])
        text = ""
        for choice in chunk.get("choices", ()):
            piece = choice.get("delta", {}).get("content") or ""
            grown = self.answer.feed(piece)
            text += grown if self.is_action else piece
            self.ending = choice.get("finish_reason") or self.ending
            self.cut = self.cut or self.ending == "length"
            self.pieces += 1
        if "timings" in chunk:
            self.usage = _usage(chunk["timings"])
        return text

    def is_stuck(self) -> bool:
        """Tell, checked every few pieces, whether the reply repeats itself without end."""
        return self.pieces % CHECK_PIECES == 0 and repeats_itself(self.answer.reply, STUCK_CHARS)


class LocalProvider:
    """A model on this machine, for one session."""

    profile: Literal["full", "small"] = "small"
    has_price = True  # a local model costs nothing

    def __init__(self, model: str, engine: Engine, settings: Settings) -> None:
        self._model = model
        self._engine = engine
        self.context = settings.context
        self._settings = settings
        self._window = Window(settings)
        self._cached_actions: tuple[Sequence[ToolDefinition], Actions] | None = None

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Notice | Finished]:
        """Ask the model; the text of an answer comes piece by piece, a call when it is complete."""
        actions = self._actions(request.tools)
        reply = _Reply(AnswerText(*actions.endings), is_action=bool(request.tools))
        with closing(self._chunks(request, actions, cancel)) as chunks:
            for chunk in chunks:
                if isinstance(chunk, Notice):
                    yield chunk
                    continue
                text = reply.add(chunk)
                if progress := _progress(chunk):
                    yield Notice(progress, is_passing=True)
                if thinking := _thinking(chunk):
                    yield ThinkingDelta(thinking)
                if text:
                    yield TextDelta(text)
                if reply.is_stuck():
                    reply.cut = True
                    break
                if reply.is_action and actions.repeats(reply.answer.reply):
                    reply.ending = REPEATED
                    break
        if not (reply.ending or reply.cut):
            raise ProviderError("llama.cpp ended the reply without a finish reason", kind="network")
        yield finished(reply, actions)

    def tool_texts(self, tools: Sequence[ToolDefinition]) -> list[str]:
        """Return the texts that the model reads instead of the tools' definitions."""
        return tool_texts(tools, is_free=True)

    def models(self) -> Sequence[ModelInfo]:
        """Return the model that is or would be loaded."""
        return [ModelInfo(self._model, self._settings.context, "embedded, offline")]

    def close(self) -> None:
        """Free the model."""
        self._engine.close()

    def _actions(self, tools: Sequence[ToolDefinition]) -> Actions:
        """Return the actions of a tool set, built once for each."""
        if self._cached_actions is None or self._cached_actions[0] is not tools:
            self._cached_actions = (tools, Actions.of(tools, is_free=True))
        return self._cached_actions[1]

    def _chunks(
        self, request: Request, actions: Actions, cancel: Cancel
    ) -> Generator[Chunk | Notice, None, None]:
        """Ask; if our count of tokens was too low for the window, correct it and ask again."""
        bare = not has_material(request.messages)
        schema = actions.schema(bare=bare) if request.tools else None
        notice = ""
        if not self._engine.is_loaded:
            yield Notice(LOADS, is_passing=True)
        for attempt in range(1, FIT_ATTEMPTS + 1):
            fitted = self._window.fit(request, actions)
            notice = fitted.notice or notice
            with closing(
                self._engine.ask(self._body(request, fitted.turns), schema, cancel)
            ) as chunks:
                begun = next(chunks, {})
                while isinstance(begun, Notice):
                    yield begun
                    begun = next(chunks, {})
                tokens = _prompt_tokens(begun)
                fits = not tokens or self._window.measure(fitted.turns, tokens)
                if fits or attempt == FIT_ATTEMPTS:
                    if notice:
                        yield Notice(notice)
                    yield begun
                    yield from chunks
                    return

    def _body(self, request: Request, turns: Chat) -> dict[str, Any]:
        temperature = request.temperature
        return {
            "messages": turns,
            "max_tokens": min(
                request.max_tokens or self._settings.max_tokens, self._settings.max_tokens
            ),
            "temperature": self._settings.temperature if temperature is None else temperature,
            "cache_prompt": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # a chunk for each batch of the prompt, to stop at
        }


def finished(reply: _Reply, actions: Actions) -> Finished:
    """Return the end of *reply*: its text, or its calls; a reply cut at the limit makes none."""
    text = reply.answer.reply
    if not reply.is_action:
        return Finished(text, usage=reply.usage, truncated=reply.cut)
    if reply.cut:
        return Finished(reply.answer.text, usage=reply.usage, truncated=True)
    try:
        outcome = actions.read(text)
    except ValueError as error:
        raise ProviderError(
            f"the embedded model's reply is not an action ({error}); "
            "ask again, or try another model file",
            kind="protocol",
        ) from error
    if isinstance(outcome, str):
        return Finished(outcome, usage=reply.usage)
    return Finished("", calls=outcome, usage=reply.usage)


def _prompt_tokens(chunk: Chunk) -> int:
    """Return the number of the prompt's tokens in the first chunk of a reply, or 0.

    The chunk arrives before most of the prompt is processed.
    """
    tokens = chunk.get("prompt_progress", {}).get("total") or chunk.get("error", {}).get(
        "n_prompt_tokens"
    )
    return int(tokens or 0)


def _progress(chunk: Chunk) -> str:
    """Return the progress in a chunk while the model reads a long prompt, or "".

    Tokens in the engine's cache are not read again, so they are not part of the percentage.
    """
    progress = chunk.get("prompt_progress", {})
    cached = int(progress.get("cache", 0))
    new = int(progress.get("total", 0)) - cached
    if new < LONG_PROMPT:
        return ""
    percent = (int(progress.get("processed", 0)) - cached) * PERCENT // new
    return f"reading the prompt, {percent} %" if percent < PERCENT else WRITES


def _thinking(chunk: Chunk) -> str:
    """Return the thinking in *chunk*, which the engine takes out of the text of a model's reply."""
    deltas = [choice.get("delta", {}) for choice in chunk.get("choices", ())]
    return "".join(delta.get("reasoning_content") or "" for delta in deltas)


def _usage(timings: Chunk) -> Usage:
    return Usage(
        input_tokens=int(timings.get("prompt_n", 0)),
        output_tokens=int(timings.get("predicted_n", 0)),
        cache_read_tokens=int(timings.get("cache_n", 0)),
        cost=0.0,
    )


def _engine_error(error: Chunk) -> ProviderError:
    message = f"llama.cpp: {error.get('message', error)}"
    if error.get("type") == OVERFLOW:
        return ProviderError(
            f"{message}; set a larger context in [plugins.provider-local], or start a new session",
            kind="context_overflow",
        )
    return ProviderError(message, kind="bad_request")
