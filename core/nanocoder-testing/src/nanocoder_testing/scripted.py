"""A scripted model for tests."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve
from nanocoder.cancel import Cancel
from nanocoder.errors import ProviderError
from nanocoder.hooks.marks import hookimpl
from nanocoder.provider import (
    Finished,
    ModelInfo,
    Profile,
    ProviderSpec,
    Request,
    TextDelta,
    ThinkingDelta,
)
from nanocoder.values import ToolCall

Wanted = ToolCall | tuple[str, Mapping[str, Any]]
Turn = str | Finished | Exception | Sequence[Wanted]
"""One reply: a text, calls as (name, arguments), a `Finished`, or an exception to raise."""


class Scripted:
    """A provider, and the plugin that offers it as "script"; it plays *turns* in order.

    `requests` has the requests to the model, in order.
    """

    def __init__(
        self, turns: Sequence[Turn], *, profile: Profile = "full", context: int = 0
    ) -> None:
        self.profile: Profile = profile
        self.context = context
        self.requests: list[Request] = []
        self._turns = list(turns)
        self.has_price = any(
            isinstance(turn, Finished) and turn.usage.cost is not None for turn in self._turns
        )

    @hookimpl
    def nanocoder_providers(self) -> list[ProviderSpec]:
        """Offer itself."""
        return [ProviderSpec("script", lambda _model, _settings: self, default_model="play")]

    def stream(
        self, request: Request, cancel: Cancel
    ) -> Iterator[TextDelta | ThinkingDelta | Finished]:
        """Yield the next turn; raises ProviderError when there is none."""
        # A copy of the messages, because the transcript grows.
        self.requests.append(evolve(request, messages=tuple(request.messages)))
        number = len(self.requests)
        if number > len(self._turns):
            raise ProviderError(
                f"the script has {len(self._turns)} turns and turn {number} was asked for",
                kind="protocol",
            )
        cancel.check()
        turn = self._turns[number - 1]
        if isinstance(turn, Exception):
            raise turn
        finished = turn if isinstance(turn, Finished) else _finished(turn, number)
        if finished.text:
            yield TextDelta(finished.text)
        yield finished

    def models(self) -> Sequence[ModelInfo]:
        """Return the one model there is."""
        return [ModelInfo("play", self.context)]

    def close(self) -> None:
        """Do nothing."""


def _finished(turn: str | Sequence[Wanted], number: int) -> Finished:
    if isinstance(turn, str):
        return Finished(turn)
    return Finished(
        "", tuple(_call(call, f"c{number}.{place}") for place, call in enumerate(turn, 1))
    )


def _call(wanted_call: Wanted, identity: str) -> ToolCall:
    if isinstance(wanted_call, ToolCall):
        return wanted_call
    name, arguments = wanted_call
    return ToolCall(identity, name, dict(arguments))
