"""A provider that plays a script: deterministic turns for tests, demonstrations and recordings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nanocoder import (
    BadArguments,
    Cancel,
    Finished,
    Message,
    ModelInfo,
    Notice,
    ProviderError,
    ProviderSpec,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
    hookimpl,
    parse_json,
)

TURN_KEYS = {"text", "calls", "deltas", "thinking", "notice", "truncated", "usage", "delay_s"}
TURN_KEYS |= {"error", "progress"}
CALL_KEYS = {"name", "arguments", "arguments_text", "id"}
CONTEXT = 1_000_000
"""Tokens: a script is played whatever it is asked, so nothing has to be left out."""
SCRIPT_KEYS = {"turns", "profile", "context"}


class ScriptedProvider:
    """Plays the turn whose number is that of the assistant messages, so that a retry repeats it."""

    def __init__(self, script: Mapping[str, Any], name: str) -> None:
        self.profile: Any = script.get("profile", "full")
        self.context = int(script.get("context", CONTEXT))
        self._turns: Sequence[Mapping[str, Any]] = script["turns"]
        self.has_price = any("cost" in turn.get("usage", {}) for turn in self._turns)
        self._name = name
        self._counted: tuple[int, Any, int] = 0, None, 0

    def _count_replies(self, messages: Sequence[Message]) -> int:
        """Count the assistant messages, beginning after those of the last request."""
        size, last, count = self._counted
        if not 0 < size <= len(messages) or messages[size - 1] is not last:
            size = count = 0
        count += sum(message.role == "assistant" for message in messages[size:])
        self._counted = len(messages), messages[-1] if messages else None, count
        return count

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Notice | Finished]:
        """Yield the turn's text in pieces, then its end; raises the turn's error, if any."""
        number = self._count_replies(request.messages)
        if number >= len(self._turns):
            raise ProviderError(
                f"the script {self._name!r} has {len(self._turns)} turns"
                f" and turn {number + 1} was asked for",
                kind="protocol",
            )
        turn = self._turns[number]
        if turn.get("progress"):
            yield Notice(turn["progress"], is_passing=True)
        if cancel.wait(turn.get("delay_s", 0.0)):
            cancel.check()
        if "error" in turn:
            raise _error(turn["error"])
        if turn.get("notice"):
            yield Notice(turn["notice"])
        if turn.get("thinking"):
            yield ThinkingDelta(turn["thinking"])
        text = turn.get("text", "")
        for piece in _pieces(text, turn.get("deltas", 1)):
            cancel.check()
            yield TextDelta(piece)
        calls = tuple(
            _call(call, number, index) for index, call in enumerate(turn.get("calls", ()))
        )
        usage = Usage(**turn.get("usage", {}))
        yield Finished(text, calls, usage, truncated=turn.get("truncated", False))

    def models(self) -> Sequence[ModelInfo]:
        """Return the script as the only model."""
        return [ModelInfo(self._name, self.context, "a script")]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def open_scripted(model: str, _settings: object) -> ScriptedProvider:
    """Read the script *model*, a path; raises ProviderError when it is missing or not a script."""
    if not model:
        raise ProviderError(
            "scripted: name the script, as in --model scripted/FILE.json", kind="not_found"
        )
    try:
        script = json.loads(Path(model).read_text(encoding="utf-8"))
    except OSError as error:
        raise ProviderError(
            f"the script {model!r} cannot be read: {error.strerror}", kind="not_found"
        ) from error
    except ValueError as error:
        raise ProviderError(
            f"the script {model!r} is not JSON: {error}", kind="bad_request"
        ) from error
    problem = _problem(script)
    if problem:
        raise ProviderError(f"the script {model!r} {problem}", kind="bad_request")
    return ScriptedProvider(script, model)


def _problem(script: Any) -> str:
    """Return the problem of *script*, or ""."""
    if not isinstance(script, dict) or not isinstance(script.get("turns"), list):
        return 'is not an object with a list "turns"'
    unknown = sorted(script.keys() - SCRIPT_KEYS)
    if unknown:
        return f"has the unknown key {unknown[0]!r}; there are {sorted(SCRIPT_KEYS)}"
    for number, turn in enumerate(script["turns"], 1):
        if not isinstance(turn, dict):
            return f"turn {number} is not an object"
        unknown = sorted(turn.keys() - TURN_KEYS)
        if unknown:
            return (
                f"turn {number} has the unknown key {unknown[0]!r}; there are {sorted(TURN_KEYS)}"
            )
        for call in turn.get("calls", ()):
            if not isinstance(call, dict) or "name" not in call or call.keys() - CALL_KEYS:
                return f"turn {number} has a call that is not {{'name', 'arguments'}}: {call!r:.80}"
    return ""


def _call(call: Mapping[str, Any], turn: int, index: int) -> ToolCall:
    """Make a call; "arguments_text" is a model's own text, valid JSON or not."""
    identity = call.get("id", f"call-{turn + 1}-{index + 1}")
    if "arguments_text" not in call:
        return ToolCall(identity, call["name"], call.get("arguments", {}))
    try:
        return ToolCall(identity, call["name"], parse_json(call["arguments_text"] or "{}"))
    except BadArguments as error:
        return ToolCall(identity, call["name"], error=str(error))


def _pieces(text: str, count: int) -> Iterator[str]:
    size = max(1, -(-len(text) // max(1, count)))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _error(error: Any) -> ProviderError:
    if isinstance(error, dict):
        message = error.get("message", "scripted error")
        return ProviderError(
            message, kind=error.get("kind", "unavailable"), status=error.get("status", 0)
        )
    return ProviderError(str(error))


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer the provider "scripted"; it is never chosen by itself."""
    return [
        ProviderSpec(
            "scripted",
            open_scripted,
            description="Plays the turns of a JSON file.",
            hint="--model scripted/FILE.json plays a file of turns, for tests",
            rank=100,
        )
    ]
