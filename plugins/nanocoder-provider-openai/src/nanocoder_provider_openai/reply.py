"""From the chunks of Chat Completions to one reply."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nanocoder import Finished, TextDelta, ThinkingDelta, Usage
from nanocoder_kit_llm.http import (
    CallParts,
    End,
    Reply,
    ReplyContext,
    SseEvent,
    as_int,
    as_mapping,
    as_str,
    decode_objects,
    end_of,
    is_end_mark,
    parse_arguments,
)

from nanocoder_provider_openai.wire import EXTRA_OF_CALLS, Echo

_INDEX_DIGITS = 9  # Python refuses to read thousands of them


class ChatReply(Reply):
    """Decode one reply; it is complete with a finish reason, or with its usage and `[DONE]`."""

    def __init__(self, context: ReplyContext, origin: str = "") -> None:
        super().__init__(context)
        self._echo = Echo(origin)
        self._calls = CallTable()
        self._finish = ""
        self._usage = Usage()
        self._begun = False
        self._refused = False

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        return self._begun or bool(self._finish)

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when it was cut or failed."""
        self._refuse_failed(self._finish)
        if not self._finish and not (self.is_complete and self._usage.output_tokens):
            raise self._cut("without a finish reason")
        parts = [each for each in self._calls.in_order() if not self._is_repeat(each)]
        calls = tuple(each.close(self._context.used_ids) for each in parts)
        refusal = self._refusal_by(self._finish, refused=self._refused)
        return Finished(
            self._text(refusal, has_calls=bool(calls)),
            calls,
            self._context.priced(self._usage),
            native=self._echo.native(parts, self._deltas),
            truncated=end_of(self._finish) is End.CUT,
            refusal=refusal,
        )

    def feed(self, events: Sequence[SseEvent]) -> list[TextDelta | ThinkingDelta]:
        """Take the events of one read; raises ProviderError for errors and damaged events."""
        # Pieces that a fast server sends together are decoded together, in a third of the time.
        is_end = bool(events) and is_end_mark(events[-1].data)
        bodies = [event.data for event in (events[:-1] if is_end else events)]
        is_plain = len(events) > 1 and not any(event.event for event in events)
        chunks = decode_objects(bodies) if is_plain and not self.is_complete else None
        if chunks is None:
            return super().feed(events)
        self.is_complete = is_end
        texts = None if self._finish else _texts_of(chunks)
        if texts:
            self._begun = True
            self._deltas.add(TextDelta, texts)
        else:
            for chunk in chunks:
                self._decode_object(chunk, "")
        return self._deltas.take()

    def _decode_end_mark(self) -> None:
        self.is_complete = True

    def _decode_object(self, chunk: Mapping[str, Any], kind: str) -> None:
        if kind == "error" or chunk.get("error") or chunk.get("object") == "error":
            error = chunk.get("error")
            raise self._context.failure(error if isinstance(error, dict | str) else chunk)
        choices = _choices(chunk)
        if choices and isinstance(choices[0], dict):
            if choices[0].get("error"):
                raise self._context.failure(choices[0]["error"])
            self._decode_choice(choices[0])
        usage = chunk.get("usage")
        # Groq and Moonshot nest the usage in other objects.
        for parent in () if usage else (chunk.get("x_groq"), *choices):
            usage = usage or (isinstance(parent, dict) and parent.get("usage"))
        if usage:
            self._usage = _usage(usage)

    def _decode_choice(self, choice: Mapping[str, Any]) -> None:
        finish = as_str(choice.get("finish_reason"))
        # Some servers name it from the first chunk on; behind a real end comes no part of a reply.
        if self._finish and self._begun and not finish:
            return
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._decode_delta(delta)
        self._finish = finish or self._finish

    def _decode_delta(self, delta: Mapping[str, Any]) -> None:
        thinking = self._echo.thinking_in(delta)
        if thinking:
            self._begun = True
            self._deltas.add(ThinkingDelta, thinking)
        text = delta.get("content") or delta.get("refusal")
        self._refused = self._refused or bool(delta.get("refusal"))
        if text:
            self._begun = True
            for kind, words in [(TextDelta, text)] if isinstance(text, str) else _parts_of(text):
                self._deltas.add(kind, words)
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list):
            self._begun = True
            for piece in calls:
                if isinstance(piece, dict):
                    self._calls.add(piece)


def _choices(chunk: Mapping[str, Any]) -> list[Any]:
    choices = chunk.get("choices")
    return choices if isinstance(choices, list) else []


def _texts_of(chunks: Sequence[Mapping[str, Any]]) -> str:
    """Return the joined text of chunks that have nothing but text, as most do; else nothing."""
    texts = []
    for chunk in chunks:
        try:
            choice = chunk["choices"][0]
            delta = choice["delta"]
            text = delta["content"]
            has_more = choice.get("finish_reason") or chunk.get("usage") or chunk.get("error")
        except (LookupError, TypeError, AttributeError):
            return ""
        if has_more or type(text) is not str or (len(delta) > 1 and not _is_only_text(delta)):
            return ""
        texts.append(text)
    return "".join(texts)


def _is_only_text(delta: Mapping[str, Any]) -> bool:
    return not any(value for name, value in delta.items() if name not in {"content", "role"})


class CallTable:
    """Calls by index, for servers that number them, repeat numbers, or leave them out."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, CallParts]] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take one piece of a call."""
        function = as_mapping(piece.get("function"))
        call_id, name = as_str(piece.get("id")), as_str(function.get("name"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else json.dumps(arguments)
        parts = self._row(_index(piece.get("index")), call_id, name, arguments)
        parts.call_id = parts.call_id or call_id
        parts.name = parts.name or name
        parts.extra |= {key: piece[key] for key in EXTRA_OF_CALLS if piece.get(key)}
        parts.pieces.append(arguments)

    def in_order(self) -> list[CallParts]:
        """Return the calls by index; calls with the same index in the order of their arrival."""
        return [parts for _, parts in sorted(self._rows, key=lambda row: row[0])]

    def _row(self, index: int | None, call_id: str, name: str, piece: str) -> CallParts:
        if index is None:
            parts = self._rows[-1][1] if self._rows else None
            index = self._rows[-1][0] + 1 if self._rows else 0
        else:
            parts = next(
                (candidate for row, candidate in reversed(self._rows) if row == index), None
            )
        if parts is None or (name and parts.name and _is_another(parts, call_id, piece)):
            parts = CallParts()
            self._rows.append((index, parts))
        return parts


def _is_another(parts: CallParts, call_id: str, piece: str) -> bool:
    """Return True if a *piece* that names a tool under an index in use begins another call."""
    if call_id and call_id != parts.call_id:
        return True
    # With the same ID it may be the whole call again; many servers repeat the ID in each piece.
    if (call_id or parts.call_id) and not piece.lstrip().startswith("{"):
        return False
    arguments = "".join(parts.pieces)
    return bool(arguments) and not parse_arguments(arguments)[1]


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= _INDEX_DIGITS:
        return int(value)
    return value if isinstance(value, int) else None


def _parts_of(parts: Any) -> Iterator[tuple[type[TextDelta | ThinkingDelta], str]]:
    """Yield the texts of content in parts, those of Mistral's thinking as such."""
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            inner = part.get("thinking")
            kind = ThinkingDelta if inner else TextDelta
            pieces = inner if isinstance(inner, list) else [part]
            for piece in pieces:
                yield kind, as_str(as_mapping(piece).get("text"))


_CACHED: Final = ("cached_tokens", "prompt_cache_hit_tokens")


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = as_mapping(usage.get("prompt_tokens_details"))
    # Some vendors have the number beside the others, by the same name or one of their own.
    counts = (details.get("cached_tokens"), *map(usage.get, _CACHED))
    cached = next(filter(None, map(as_int, counts)), 0)
    cost = usage.get("cost")  # gateways name it, and know it best
    return Usage(
        input_tokens=max(0, as_int(usage.get("prompt_tokens")) - cached),
        output_tokens=as_int(usage.get("completion_tokens")),
        cache_read_tokens=cached,
        cost=float(cost) if isinstance(cost, int | float) and cost >= 0 else None,
    )
