"""Play the replies of a recording, each only to the request that it answered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nanocoder import (
    Cancel,
    ConfigError,
    Finished,
    ModelInfo,
    ProviderError,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)

from nanocoder_provider_replay.recording import Recording, difference, read_recording
from nanocoder_provider_replay.settings import Settings


def open_replay(model: str, settings: Settings) -> "ReplayProvider":
    """Read the recording *model*, a path; raises ProviderError or ConfigError."""
    if not model:
        raise ProviderError(
            "replay: name the recording, as in --model replay/FILE.json", kind="not_found"
        )
    for pattern in settings.may_differ:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(
                f"plugins.provider-replay.may_differ: {pattern!r} is no regular expression: {error}"
            ) from error
    return ReplayProvider(read_recording(model), settings.may_differ)


class ReplayProvider:
    """Plays the reply whose number is that of the replies before it, so a retry repeats it."""

    has_price = True  # a recording costs nothing
    context = 1_000_000  # so that nothing is left out that the recorded model was sent

    def __init__(self, recording: Recording, may_differ: Sequence[str]) -> None:
        self.profile = recording.profile
        self._recording = recording
        self._may_differ = may_differ

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Finished]:
        """Yield the recorded reply; raises ProviderError when the request is another one."""
        cancel.check()
        replies = self._recording.replies
        number = sum(message.role == "assistant" for message in request.messages)
        if number >= len(replies):
            raise self._diverged(number, f"the recording has {len(replies)} replies only")
        new_messages = _since_last_reply(request)
        if problem := difference(self._recording, replies[number], new_messages, self._may_differ):
            raise self._diverged(number, problem)
        message = self._recording.messages[replies[number]]
        text = str(message.get("text", ""))
        if text:
            yield TextDelta(text)
        calls = tuple(_call(call) for call in message.get("calls", ()))
        yield Finished(text, calls, Usage(cost=0.0), native=message.get("native"))

    def models(self) -> Sequence[ModelInfo]:
        """Return the recording as the only model."""
        return [ModelInfo(self._recording.name, description="a recording")]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _diverged(self, number: int, problem: str) -> ProviderError:
        message = f"before reply {number + 1} this run is not the recorded one: {problem}"
        return ProviderError(message, kind="bad_request", retry=False)


def _since_last_reply(request: Request) -> Sequence[Any]:
    messages = request.messages
    first = len(messages)
    while first and messages[first - 1].role != "assistant":
        first -= 1
    return messages[first:]


def _call(call: Mapping[str, Any]) -> ToolCall:
    fields = {name: call[name] for name in ("id", "name", "arguments", "error") if name in call}
    return ToolCall(**{"id": "", "name": "", **fields})
