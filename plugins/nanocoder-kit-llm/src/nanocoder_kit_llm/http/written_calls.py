"""Tool calls that a model writes as text, where it should make them."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import evolve
from nanocoder import Finished, Message, Notice, ProviderError, Request, ToolCall

from nanocoder_kit_llm.http.sizes import is_small

if TYPE_CHECKING:
    from nanocoder_kit_llm.http.text_calls import Prose, TextCall

_TOLD: Final = "Nothing ran: you wrote a call of "
_HINT: Final = (
    " as text. Call the tool itself, through the tool interface, without writing the call down."
)
_NOTICE: Final = "the model writes its tool calls as text; nanocoder reads them from there"
_REPAIRED: Final = ", and repairs their JSON if it is unambiguous"
_NOT_RUN: Final = "the answer contains a call as text, which was not run"
_MARKS: Final = ("{", "<", "```tool_c")
_MAX_CHARS: Final = 100_000
_ID_BYTES: Final = 12


class WrittenCalls:
    """Parses calls in the text of one model's replies; *is_told* after the user's notice.

    A call that the model has read, in a file or in the prompt, is a quotation and never runs. Calls
    after prose may be quotations, too, so they run only if the prose announces them, if the model
    is small, or if it has written calls before and made none through the tool interface.
    """

    def __init__(self) -> None:
        self.is_told = False
        self._is_quotation_told = False
        self._makes_calls = False

    def take(self, finished: Finished, request: Request) -> list[Notice | Finished]:
        """Return *finished* with the calls in its text, after a notice the first time.

        The calls are removed from the text. A call that cannot be parsed without guessing fails,
        so that the model reads once in a run how to call tools. Raises: ProviderError the second
        time.
        """
        text = finished.text
        self._makes_calls = self._makes_calls or bool(finished.calls)
        if finished.calls or finished.refusal or len(text) > _MAX_CHARS:
            return [finished]
        if not (any(mark in text for mark in _MARKS) or "\n[" in f"\n{text}"):
            return [finished]
        # The patterns take milliseconds to compile, and most replies have none of the marks.
        from nanocoder_kit_llm.http.text_calls import (
            GarbledCallError,
            holds_call,
            is_quoted,
            read_text,
        )

        try:
            prose, calls = read_text(text, request.tools, prose=self._prose(request))
        except GarbledCallError as error:
            return [_refused(finished, request, error.name)]
        if not calls or any(is_quoted(call, _texts_read(request.messages)) for call in calls):
            return [*self._quotation(partial(holds_call, text, request.tools)), finished]
        if finished.truncated:
            return [_refused(finished, request, calls[-1].name)]
        tool_calls = tuple(map(_tool_call, calls))
        reply = evolve(finished, text=prose.strip(), calls=tool_calls, native=None)
        return [*self._notices(calls), reply]

    @property
    def is_only_way(self) -> bool:
        """Return True if the model has written calls, and made none through the tool interface."""
        return self.is_told and not self._makes_calls

    def _prose(self, request: Request) -> "Prose":
        """Return the prose allowed before calls: less, once a model has used the interface."""
        if self._makes_calls:
            return "announced"
        return "any" if self.is_told or is_small(request.model) else "plain"

    def _quotation(self, is_call: Callable[[], bool]) -> list[Notice]:
        """Return the notice that a call after prose did not run, the first time."""
        if self._is_quotation_told or not is_call():
            return []
        self._is_quotation_told = True
        return [Notice(_NOT_RUN)]

    def _notices(self, calls: "Sequence[TextCall]") -> list[Notice]:
        if self.is_told:
            return []
        self.is_told = True
        is_repaired = any(call.is_repaired for call in calls)
        return [Notice(_NOTICE + (_REPAIRED if is_repaired else ""))]


def _tool_call(call: "TextCall") -> ToolCall:
    return ToolCall(_new_id(), call.name, call.arguments)


def _new_id() -> str:
    return f"call_{os.urandom(_ID_BYTES).hex()}"


def _refused(finished: Finished, request: Request, name: str) -> Finished:
    if _was_told(request.messages):
        raise ProviderError(
            f"the model writes its tool calls as text, and they cannot be read ({name}), so nothing"
            " runs. Take another model",
            kind="protocol",
            retry=False,
        )
    call = ToolCall(_new_id(), name, error=f"{_TOLD}{name}{_HINT}")
    return evolve(finished, calls=(call,), native=None)


def _texts_read(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the texts that the model has read from users and tools."""
    for message in messages:
        if message.role != "assistant":
            yield message.text
            yield from (result.output for result in message.results)


def _was_told(messages: Sequence[Message]) -> bool:
    """Return True if the model has read the hint since the latest request of a person."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if any(call.error.startswith(_TOLD) for call in message.calls):
            return True
    return False
