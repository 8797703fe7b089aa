"""A reply that comes from a server as the text of an action."""

from collections.abc import Sequence
from typing import Any, Protocol

from attrs import evolve
from nanocoder import Finished, ProviderError, TextDelta, ThinkingDelta

from nanocoder_kit_llm.actions.actions import Actions
from nanocoder_kit_llm.actions.answer_text import AnswerText


class Decoder(Protocol):
    """The decoder of a protocol's reply, as the HTTP kit has it."""

    @property
    def is_complete(self) -> bool:
        """Return True if the end of the stream was received."""
        ...

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        ...

    def feed(self, events: Sequence[Any]) -> Sequence[TextDelta | ThinkingDelta]:
        """Take the events of one network read; raises ProviderError."""
        ...

    def finished(self) -> Finished:
        """Return the complete reply; raises ProviderError when it was cut."""
        ...


class ActionReply:
    """A decoder around *reply*: an answer's text is shown as it comes, a call when it is complete.

    Text that is no JSON comes from a server that ignores the schema, and is passed on as it is.
    """

    def __init__(self, reply: Decoder, actions: Actions) -> None:
        self._reply = reply
        self._actions = actions
        self._answer = AnswerText(*actions.endings)

    @property
    def is_complete(self) -> bool:
        """Return True if the end of the stream was received."""
        return self._reply.is_complete

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        return self._reply.begun

    @property
    def partial(self) -> str:
        """Return the text so far."""
        return self._answer.text if self._is_action() else self._answer.reply

    def feed(self, events: Sequence[Any]) -> list[TextDelta | ThinkingDelta]:
        """Take the events of one read; raises ProviderError."""
        visible = map(self._visible_part, self._reply.feed(events))
        return [delta for delta in visible if delta is not None]

    def finished(self) -> Finished:
        """Return the complete reply; raises ProviderError when it was cut, or is no action."""
        finished = self._reply.finished()
        if finished.calls or finished.refusal or not self._is_action():
            return finished
        if finished.truncated:
            return evolve(finished, text=self._answer.text)  # a cut reply makes no call
        try:
            outcome = self._actions.read(finished.text)
        except ValueError as error:
            raise ProviderError(
                f"the model's reply is not an action ({error})", kind="protocol"
            ) from error
        if isinstance(outcome, str):
            return evolve(finished, text=self._answer.text or outcome)
        return evolve(finished, text="", calls=outcome)

    def _visible_part(self, delta: TextDelta | ThinkingDelta) -> TextDelta | ThinkingDelta | None:
        if isinstance(delta, ThinkingDelta):
            return delta
        text = self._answer.feed(delta.text)
        if not self._is_action():
            return delta
        return TextDelta(text) if text else None

    def _is_action(self) -> bool:
        return self._answer.reply.lstrip()[:1] in {"", "{"}
