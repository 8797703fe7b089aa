"""From the events of the Messages API to one reply."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import define, field
from nanocoder import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_llm.http import (
    CallParts,
    End,
    Reply,
    ReplyContext,
    as_int,
    as_str,
    end_of,
    replace_surrogates,
)

from nanocoder_provider_anthropic.wire import NATIVE

_REFUSED: Final = "(The model declined to answer.)"


@define
class Block:
    """A content block that arrives in pieces; *start* is its first event."""

    start: dict[str, Any]
    parts: CallParts
    texts: list[str] = field(factory=list)
    signature: str = ""
    is_closed: bool = False


class MessageReply(Reply):
    """Decode one reply; it is complete with `message_stop`, or a stop reason and the end."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._blocks: dict[int, Block] = {}
        self._stop_reason = ""
        self._usage: dict[str, int] = {}
        self._takers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "content_block_delta": self._decode_delta,
            "content_block_start": self._decode_start,
            "content_block_stop": self._decode_block_stop,
            "message_start": lambda data: self._decode_message(data.get("message")),
            "message_delta": self._decode_message_delta,
            "message": self._decode_body,
            "message_stop": self._decode_stop,
            "error": self._decode_error,
        }

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        return bool(self._blocks) or self.is_complete

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when it was cut or failed."""
        self._refuse_failed(self._stop_reason)
        if not self.is_complete and not self._stop_reason:
            raise self._cut("without message_stop")
        refused = self._stop_reason == "refusal"
        refusal = self._refusal_by("" if refused else self._stop_reason, refused=refused)
        if refusal:
            return Finished(self.partial or _REFUSED, usage=self._total(), refusal=refusal)
        calls: list[ToolCall] = []
        native: list[dict[str, Any]] = []
        for _, block in sorted(self._blocks.items()):
            native += self._close_block(block, calls)
        return Finished(
            self.partial,
            tuple(calls),
            self._total(),
            native={NATIVE: native, "host": self._context.host} if native else None,
            truncated=end_of(self._stop_reason) is End.CUT,
        )

    def _close_block(self, block: Block, calls: list[ToolCall]) -> list[dict[str, Any]]:
        """Return *block* in the form to send back, and add its call to *calls*."""
        text = replace_surrogates("".join(block.texts))
        kind = block.start.get("type")
        if kind == "text":
            return [{"type": "text", "text": text}] if text.strip() else []
        if kind == "thinking":
            signed = {"type": "thinking", "thinking": text, "signature": block.signature}
            return [signed] if block.signature else []  # the API refuses an unsigned one
        if kind == "redacted_thinking":
            return [block.start]
        if kind != "tool_use":
            return []
        start_input = block.start.get("input")
        if start_input and not block.parts.pieces:
            block.parts.pieces.append(json.dumps(start_input))
        if self._is_repeat(block.parts):
            return []
        problem = "" if block.is_closed else "the call was cut before its end"
        call = block.parts.close(self._context.used_ids, problem)
        calls.append(call)
        echoed = {"type": kind, "id": call.id, "name": call.name, "input": dict(call.arguments)}
        return [echoed]

    def _decode_object(self, data: Mapping[str, Any], kind: str) -> None:
        take = self._takers.get(as_str(data.get("type")) or kind)
        if take:  # pings and unknown events are ignored
            take(data)

    def _decode_start(self, data: Mapping[str, Any]) -> None:
        start = data.get("content_block")
        if not isinstance(start, dict):
            return
        parts = CallParts(as_str(start.get("id")), as_str(start.get("name")))
        block = self._blocks[_index(data)] = Block(start, parts)
        for kind, name in ((TextDelta, "text"), (ThinkingDelta, "thinking")):
            self._add(block, kind, as_str(start.get(name)))
        block.signature = as_str(start.get("signature"))

    def _decode_delta(self, data: Mapping[str, Any]) -> None:
        delta = data.get("delta")
        if not isinstance(delta, dict):
            return
        block = self._blocks.get(_index(data))
        if block is None:
            # Some servers leave out the start of a block; the delta shows its kind.
            kind = "thinking" if "thinking" in delta else "text"
            block = self._blocks[_index(data)] = Block({"type": kind}, CallParts())
        part = delta.get("type")
        if part == "text_delta":
            self._add(block, TextDelta, as_str(delta.get("text")))
        elif part == "input_json_delta":
            block.parts.pieces.append(as_str(delta.get("partial_json")))
        elif part == "thinking_delta":
            self._add(block, ThinkingDelta, as_str(delta.get("thinking")))
        elif part == "signature_delta":
            block.signature += as_str(delta.get("signature"))

    def _add(self, block: Block, kind: type[TextDelta | ThinkingDelta], piece: str) -> None:
        if piece:
            block.texts.append(piece)
            self._deltas.add(kind, piece)

    def _decode_block_stop(self, data: Mapping[str, Any]) -> None:
        block = self._blocks.get(_index(data))
        if block:
            block.is_closed = True

    def _decode_message_delta(self, data: Mapping[str, Any]) -> None:
        delta = data.get("delta")
        if isinstance(delta, dict):
            self._stop_reason = as_str(delta.get("stop_reason")) or self._stop_reason
        self._decode_message(data)

    def _decode_message(self, message: Any) -> None:
        usage = message.get("usage") if isinstance(message, dict) else None
        if isinstance(usage, dict):
            counts = {name: as_int(count) for name, count in usage.items()}
            self._usage.update({name: count for name, count in counts.items() if count})

    def _decode_body(self, data: Mapping[str, Any]) -> None:
        """Take a reply in one body, from a server that does not stream."""
        content = data.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            self._decode_start({"index": index, "content_block": block})
            self._decode_block_stop({"index": index})
        self._decode_message_delta({"delta": data, "usage": data.get("usage")})
        self.is_complete = True

    def _decode_stop(self, _: Mapping[str, Any]) -> None:
        self.is_complete = True

    def _decode_error(self, data: Mapping[str, Any]) -> None:
        raise self._context.failure(data.get("error") or data)

    def _total(self) -> Usage:
        count = self._usage.get
        return self._context.priced(
            Usage(
                input_tokens=count("input_tokens", 0),
                output_tokens=count("output_tokens", 0),
                cache_read_tokens=count("cache_read_input_tokens", 0),
                cache_write_tokens=count("cache_creation_input_tokens", 0),
            )
        )


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
