"""One reply of the model: its pieces as events, its validation, and retries."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from attrs import asdict
from nanocoder_schema import REPETITION_CHARS, NanocoderError, evolve, problem_of, repeats_itself

from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, ProviderError
from nanocoder.provider import (
    Finished,
    Notice,
    Provider,
    Request,
    Retrying,
    TextDelta,
    ThinkingDelta,
)
from nanocoder.values import Event, ToolCall, Usage

MAX_CHARS = 32 * 1024 * 1024
"""The limit of the text and the thinking of one reply, beyond any intended length."""
TOO_LONG = f"the reply is longer than {MAX_CHARS:,} characters and was cut off"
MAX_REPLIES = 3
"""The most requests for a reply that breaks off after it began."""
PAUSE_S = 1.0
CHECK_CHARS = 1_000
"""The text is checked for repetition each time it has grown by this many characters."""
BROKEN_OFF = frozenset({"network", "overloaded", "protocol", "unavailable"})
INTERRUPTED = "[interrupted here]"
CONNECTION_LOST = "[the connection broke off here]"
REPEATED = "[the model repeated this without end and was stopped]"
SHOWN_OF_REPETITION = 2_000
ID_BYTES = 8
CUT_OFF = "the reply reached its output limit before this call was complete; write less at once"


def ask(
    provider: Provider, request: Request, model: str, cancel: Cancel, keep: Callable[[str], Event]
) -> Generator[Event, None, "Reply"]:
    """Ask *model*, again if the reply breaks off, and return the finished reply.

    No tool runs before a reply is finished, so a retry repeats nothing but text. The text of an
    unfinished reply is passed to *keep*. Raises: ProviderError, Cancelled.
    """
    for attempt in range(1, MAX_REPLIES + 1):
        reply = Reply(model)
        try:
            yield from reply.events(provider, request, cancel)
        except ProviderError as error:
            if attempt == MAX_REPLIES or not reply.broke_off(error):
                yield from reply.unfinished(CONNECTION_LOST, keep)
                raise
            reason = f"the reply broke off: {error}"
            again = Retrying(reason, attempt + 1, MAX_REPLIES, error.status, attempt * PAUSE_S)
            yield retrying(again, discarded=len(reply.text))
            # An interrupt ends the pause.
            cancel.wait(again.delay_s)
        except Cancelled:
            yield from reply.unfinished(INTERRUPTED, keep)
            raise
        else:
            return reply
        cancel.check()
    raise AssertionError  # the last attempt returns or raises


class Reply:
    """A reply of *model* while it arrives."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.finished = Finished("")
        self.is_stuck = self._is_finished = False
        self._texts: list[str] = []
        self._size, self._unchecked, self._tail = 0, 0, ""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    def events(self, provider: Provider, request: Request, cancel: Cancel) -> Iterator[Event]:
        """Yield an event for each piece; stop if the model repeats itself without end.

        Raises: Cancelled, and ProviderError for every failure.
        """
        try:
            for piece in provider.stream(request, cancel):
                yield from self._add(piece)
                if self.is_stuck:
                    beginning = self.text[:SHOWN_OF_REPETITION].rstrip()
                    self.finished = Finished(f"{beginning}\n{REPEATED}", truncated=True)
                    return
        except NanocoderError:
            raise
        except Exception as error:
            problem = f"the provider of {self.model} failed: {problem_of(error)}"
            raise ProviderError(problem, kind="protocol") from error
        # A stream without Finished may lack calls: it must not count as an answer.
        if not self._is_finished:
            raise ProviderError(f"{self.model} ended without finishing its reply", kind="protocol")

    def broke_off(self, error: ProviderError) -> bool:
        """Return True if *error* cut a reply that had begun, so that a retry may help."""
        return self._size > 0 and error.retry is not False and error.kind in BROKEN_OFF

    def unfinished(self, note: str, keep: Callable[[str], Event]) -> Iterator[Event]:
        """Record the text of an unfinished reply, with a note."""
        if self.text.strip():
            yield keep(f"{self.text.rstrip()}\n{note}")

    def _add(self, piece: Any) -> Iterator[Event]:
        if isinstance(piece, Retrying):
            yield retrying(piece)
            return
        if not isinstance(piece, (TextDelta, ThinkingDelta, Notice, Finished)):
            types = "TextDelta, ThinkingDelta, Notice, Retrying or Finished"
            raise TypeError(f"yielded {type(piece).__name__}, not {types}")
        if not isinstance(piece.text, str):
            raise TypeError(f"{type(piece).__name__}.text is {type(piece.text).__name__}, not str")
        if isinstance(piece, Finished):
            self.finished, self._is_finished, self._texts = _sound(piece), True, [piece.text]
        elif isinstance(piece, Notice):
            text = {"text": piece.text}
            yield Event("request.progress", text) if piece.is_passing else Event("notice", text)
        else:
            self._watch(piece.text)
            if isinstance(piece, ThinkingDelta):
                yield Event("thinking", {"text": piece.text})
            else:
                self._texts.append(piece.text)
                yield Event("text", {"text": piece.text})

    def _watch(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_CHARS:
            raise ProviderError(TOO_LONG, kind="protocol", retry=False)
        self._tail = (self._tail + text)[-REPETITION_CHARS:]
        self._unchecked += len(text)
        # A check for repetition at each piece would take too long.
        if self._unchecked >= CHECK_CHARS:
            self._unchecked = 0
            self.is_stuck = repeats_itself(self._tail)


def retrying(again: Retrying, discarded: int = 0) -> Event:
    """Return the event of a repeated request; *discarded* characters are dropped."""
    pause = f" in {again.delay_s:g} s" if again.delay_s else ""
    data = {
        **asdict(again),
        "message": f"{again.reason}; asking again{pause}, try {again.attempt} of {again.of}",
        "status": again.status or None,
        "discarded": discarded,
    }
    return Event("request.retrying", data)


def _sound(finished: Finished) -> Finished:
    """Return *finished* with valid calls, each with an ID of its own."""
    if not isinstance(finished.usage, Usage):
        raise TypeError(f"Finished.usage is {type(finished.usage).__name__}, not Usage")
    if not finished.calls:
        return finished
    used_ids: set[str] = set()
    calls = [_sound_call(call, used_ids) for call in finished.calls]
    if finished.truncated and (calls[-1].error or not calls[-1].arguments):
        # Arguments that were cut completely look like none at all.
        calls[-1] = evolve(calls[-1], error=CUT_OFF)
    return evolve(finished, calls=tuple(calls))


def _sound_call(call: ToolCall, used_ids: set[str]) -> ToolCall:
    changes: dict[str, Any] = {}
    if not isinstance(call.arguments, Mapping):
        problem = f"the arguments must be an object, not {type(call.arguments).__name__}"
        changes = {"arguments": {}, "error": call.error or problem}
    if not isinstance(call.name, str):
        problem = f"the name of a tool must be text, not {type(call.name).__name__}"
        changes |= {"name": "", "error": call.error or problem}
    if not isinstance(call.id, str) or not call.id or call.id in used_ids:
        changes["id"] = f"call_{os.urandom(ID_BYTES).hex()}"
    call = evolve(call, **changes)
    used_ids.add(call.id)
    return call
