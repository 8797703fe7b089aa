"""Shared by the decoders of all wire formats: joined deltas, partial calls, a definite end."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from enum import Enum, auto
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple, Protocol

from attrs import evolve
from nanocoder import (
    Finished,
    Message,
    Notice,
    ProviderError,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)

from nanocoder_kit_llm.http.failures import (
    FinalError,
    ToolUseFailedError,
    failure_in_body,
    failure_in_stream,
    last_words,
)
from nanocoder_kit_llm.http.json_text import (
    decode_json,
    decode_objects,
    parse_arguments,
    replace_surrogates,
    without_spaces,
)
from nanocoder_kit_llm.http.sse import WHOLE_REPLY, SseEvent
from nanocoder_kit_llm.http.thinking_tags import ThinkingTags, without_thinking
from nanocoder_kit_llm.http.written_calls import WrittenCalls

_ID_BYTES: Final = 12
REPLY_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""Size limit of all events of one reply, of which the text is a small part."""
_END_MARK_BYTES: Final = 16
_SPOKEN: Final = {"content_filter": "content filter"}

Delta = TextDelta | ThinkingDelta


class End(Enum):
    """The meaning of a finish reason; one that matches none of the patterns is DONE."""

    DONE = auto()
    CUT = auto()  # a token limit; the model continues when the answer is sent back
    FILTERED = auto()
    FAILED = auto()  # the server failed; the text so far is no answer


_FAILED_WORDS: Final = """error abort cancel fail insufficient overload malformed timeout repetit
    unspecified unexpected toomanytool missing"""
_CUT_WORDS: Final = "length max.*token tokenlimit contextwindow pauseturn"
_FILTERED_WORDS: Final = """filter contentpolicy safety sensitive refus guardrail blocklist
    prohibited recitation blocked"""
_END_WORDS: Final = (
    (End.FAILED, _FAILED_WORDS),
    (End.CUT, _CUT_WORDS),
    (End.FILTERED, _FILTERED_WORDS),
)
_END_OF_WORD: Final = {"other": End.FAILED, "spii": End.FILTERED}


class ReplyDecoder(Protocol):
    """A decoder of one reply."""

    @property
    def is_complete(self) -> bool:
        """Return True if the end of the stream was received; later events are ignored."""
        ...

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        ...

    @property
    def partial(self) -> str:
        """Return the text so far."""
        ...

    def feed(self, events: Sequence[SseEvent]) -> Sequence[Delta]:
        """Decode the events of one network read; raises ProviderError."""
        ...

    def finished(self) -> Finished:
        """Return the complete reply; raises ProviderError when it was cut."""
        ...


def read_reply(
    batches: Generator[list[SseEvent], None, None],
    reply: ReplyDecoder,
    request: Request,
    written_calls: WrittenCalls | None = None,
    host: str = "the server",
    *,
    is_thinking: bool = False,
) -> Generator[Sequence[Delta | Notice | Finished], None, bool]:
    """Decode one attempt of *request* for `Retry.run`; calls written as text become calls.

    Thinking that the model wrote in tags becomes thinking; *is_thinking*: replies begin with it.
    Returns whether this one did, without a tag.
    Raises: ProviderError, with the last words when the answer had begun.
    """
    tags = ThinkingTags(is_thinking=is_thinking)
    try:
        finished = yield from _decode(batches, reply, host, tags)
        text = without_thinking(finished.text, is_thinking=is_thinking)
        finished = finished if text == finished.text else evolve(finished, text=text)
    except ToolUseFailedError as error:
        finished = Finished(reply.partial, (error.call(_new_id()),))
    except ProviderError as error:
        if not reply.begun:
            raise
        was_cut = error.kind in {"network", "protocol"}
        raise ProviderError(
            f"{error}{last_words(reply.partial)}",
            kind="protocol" if was_cut else error.kind,
            status=error.status,
            retry_after_s=error.retry_after_s,
            # No tool has run yet, so another try does no harm.
            retry=True if was_cut and error.retry is None else error.retry,
        ) from error
    yield (written_calls or WrittenCalls()).take(finished, request)
    return tags.is_lone_end


def _decode(
    batches: Generator[list[SseEvent], None, None],
    reply: ReplyDecoder,
    host: str,
    tags: ThinkingTags,
) -> Generator[Sequence[Delta], None, Finished]:
    """Yield the deltas of a reply, and return the whole; raises ProviderError.

    If no part of an answer arrived, the error quotes what the server sent instead.
    """
    size, latest = 0, SseEvent("", b"")
    with closing(batches):
        for events in batches:
            size += sum(len(event.data) for event in events)
            if size > REPLY_LIMIT_BYTES:
                raise FinalError(
                    f"the reply is larger than {REPLY_LIMIT_BYTES >> 20} MiB and was abandoned",
                    kind="protocol",
                )
            try:
                deltas = reply.feed(events)
            except ProviderError as error:
                raise _failure_in_body(error, events, reply, host) from error
            yield tags.feed(deltas)
            if not reply.begun:
                latest = next((item for item in events if not is_end_mark(item.data)), latest)
            if reply.is_complete:
                break
    try:
        finished = reply.finished()
    except ProviderError as error:
        if reply.begun:
            raise
        is_whole = latest.event == WHOLE_REPLY
        raise failure_in_body(latest.data, host=host, is_whole=is_whole) or error from error
    yield tags.finish()
    return finished


def _failure_in_body(
    error: ProviderError, events: Sequence[SseEvent], reply: ReplyDecoder, host: str
) -> ProviderError:
    """Return the error that a whole body of *events* describes, else *error*."""
    is_whole = bool(events) and events[0].is_last and not reply.begun
    is_refused_call = isinstance(error, ToolUseFailedError)
    failure = failure_in_body(events[0].data, host=host) if is_whole else None
    return error if is_refused_call or failure is None else failure


class ReplyContext(NamedTuple):
    """Context of a decoder: the server, the call ids used in the session, and the pricing."""

    host: str
    used_ids: set[str]
    priced: Callable[[Usage], Usage] = lambda usage: usage

    def failure(self, error: Any) -> ProviderError:
        """Return the error for an error object inside the reply."""
        return failure_in_stream(error, host=self.host)


class Reply(ABC):
    """A base for decoders: a subclass decodes objects one by one, and detects the end."""

    def __init__(self, context: ReplyContext) -> None:
        self.is_complete = False
        self._context = context
        self._deltas = Deltas()
        self._seen_calls: set[tuple[str, str, str]] = set()

    @property
    def partial(self) -> str:
        """Return the text so far."""
        return self._deltas.text_of(TextDelta)

    def feed(self, events: Sequence[SseEvent]) -> list[Delta]:
        """Decode the events of one read; raises ProviderError for errors and damaged events."""
        # Decoding the events of one read together takes half the time.
        objects = decode_objects([event.data for event in events]) if len(events) > 1 else None
        for event, data in zip(events, objects or repeat(None), strict=False):
            if self.is_complete:
                break
            if data is None:
                self._decode_event(event)
            else:
                self._decode_object(data, event.event)
        return self._deltas.take()

    def _decode_event(self, event: SseEvent) -> None:
        """Decode a single event; anything but an object is taken as an empty one."""
        if is_end_mark(event.data):
            self._decode_end_mark()
            return
        self._decode_value(self._decoded(event), event.event)

    def _decoded(self, event: SseEvent) -> Any:
        """Return the value of *event*; raises ProviderError for a damaged one, and a cut one."""
        try:
            return decode_json(event.data)
        except ProviderError as error:
            if not event.is_last:
                raise
            raise self._cut("inside an event") from error

    def _decode_value(self, value: Any, kind: str) -> None:
        """Decode the value of an event, which should be an object."""
        self._decode_object(as_mapping(value), kind)

    def _decode_end_mark(self) -> None:  # noqa: B027 - most protocols have an end of their own
        """Handle `[DONE]`, which most protocols do not use."""

    @abstractmethod
    def _decode_object(self, data: Mapping[str, Any], kind: str) -> None:
        """Decode the object of an event of the type *kind*."""

    def _is_repeat(self, parts: "CallParts") -> bool:
        """Return True if the same call came before: some servers send one under two indexes."""
        call = (parts.call_id, parts.name, without_spaces("".join(parts.pieces)))
        is_repeat = bool(parts.call_id) and call in self._seen_calls
        self._seen_calls.add(call)
        return is_repeat

    def _cut(self, how: str) -> ProviderError:
        """Return the error for a reply that ended in the manner *how*."""
        return ProviderError(
            f"{self._context.host} ended the reply {how}: it was cut", kind="network"
        )

    def _refuse_failed(self, reason: str) -> None:
        """Raise ProviderError for a finish *reason* of a server that could not go on."""
        if end_of(reason) is End.FAILED:
            raise self._cut(f"with the finish reason {reason!r}")

    def _refusal_by(self, reason: str, *, refused: bool = False) -> str:
        """Return the reason for a missing answer, by finish *reason* or refusal, or ""."""
        if end_of(reason) is End.FILTERED:
            return f"{self._context.host} stopped the reply: {_SPOKEN.get(reason, reason)}"
        return f"the model of {self._context.host} refused to answer" if refused else ""

    def _text(self, refusal: str = "", *, has_calls: bool = False) -> str:
        """Return the text of the reply, or the reason that it is empty."""
        return self.partial or (f"({refusal})" if refusal and not has_calls else "")


class Deltas:
    """Text and thinking as they come, joined: one delta for each run of one kind in a read."""

    def __init__(self) -> None:
        self._kind: type[Delta] = TextDelta
        self._run: list[str] = []
        self._ready: list[Delta] = []
        self._all: dict[type[Delta], list[str]] = {TextDelta: [], ThinkingDelta: []}

    def add(self, kind: type[Delta], piece: str) -> None:
        """Add a piece of one kind."""
        if kind is not self._kind:
            self._flush()
            self._kind = kind
        self._run.append(piece)

    def take(self) -> list[Delta]:
        """Return the deltas since the last call."""
        self._flush()
        ready, self._ready = self._ready, []
        return ready

    def text_of(self, kind: type[Delta]) -> str:
        """Return all text of one kind."""
        pending = "".join(self._run) if kind is self._kind else ""
        # The pieces are released, so that a long text is not in memory twice.
        joined = "".join(self._all[kind])
        self._all[kind] = [joined]
        return replace_surrogates(joined + pending)

    def _flush(self) -> None:
        joined = "".join(self._run)
        self._run = []
        if joined:
            self._all[self._kind].append(joined)
            self._ready.append(self._kind(replace_surrogates(joined)))


class CallParts:
    """A call that arrives in pieces; *extra* is data to send back with it unchanged."""

    def __init__(self, call_id: str = "", name: str = "") -> None:
        self.call_id = call_id
        self.name = name
        self.pieces: list[str] = []
        self.extra: dict[str, Any] = {}

    def close(self, used_ids: set[str], problem: str = "") -> ToolCall:
        """Return the call; without an id, or with one of *used_ids*, it gets a new one."""
        arguments, fault = parse_arguments("".join(self.pieces))
        call_id = replace_surrogates(self.call_id)
        if not call_id or call_id in used_ids:
            call_id = _new_id()
        used_ids.add(call_id)
        return ToolCall(call_id, replace_surrogates(self.name), arguments, error=problem or fault)


def _new_id() -> str:
    return f"call_{os.urandom(_ID_BYTES).hex()}"


@lru_cache(maxsize=16)  # each reply asks several times about one of few words
def end_of(reason: str) -> End:
    """Return the meaning of the finish *reason* of a reply."""
    plain = reason.lower().replace("_", "")
    ends = (end for end, words in _END_WORDS if re.search("|".join(words.split()), plain))
    return _END_OF_WORD.get(plain) or next(ends, End.DONE)


def native_of(message: Message, key: str, host: str) -> Any:
    """Return the native data of *message* to send back to *host*, or None.

    Signatures and encrypted reasoning are valid only for the server that sent them.
    """
    native = message.native if isinstance(message.native, dict) else {}
    return native.get(key) if native.get("host", host) == host else None


def is_end_mark(data: bytes) -> bool:
    """Return True if *data* is `[DONE]`, in whatever brackets."""
    return len(data) <= _END_MARK_BYTES and data.strip(b' "[]') == b"DONE"


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_int(value: object) -> int:
    """Return a server's token count, or 0 for an invalid one."""
    return value if isinstance(value, int) and value > 0 else 0


def as_str(value: object) -> str:
    """Return a text as a server gives it; anything odd is empty."""
    return value if isinstance(value, str) else ""
