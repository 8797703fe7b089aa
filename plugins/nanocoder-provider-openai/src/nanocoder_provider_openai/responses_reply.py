"""From the events of Responses to one reply."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import define
from nanocoder import Finished, TextDelta, ThinkingDelta, ToolCall, Usage
from nanocoder_kit_llm.http import (
    CallParts,
    End,
    Reply,
    ReplyContext,
    as_int,
    as_mapping,
    as_str,
    end_of,
)

NATIVE_ITEMS: Final = "openai-items"
"""The key of our part in a message's native data: the items to send back unchanged."""
_ECHOED: Final = frozenset({"message", "function_call", "reasoning"})


@define
class Item:
    """An item that arrives in pieces; *body* is its latest form, complete when *is_closed*."""

    body: Mapping[str, Any]
    parts: CallParts
    has_text: bool = False
    is_closed: bool = False


class ResponsesReply(Reply):
    """Decode one reply. Only the response's own last event completes it."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._items: dict[int, Item] = {}
        self._usage = Usage()
        self._cut_by = ""
        self._refused = False
        self._takers: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "response.output_item.added": self._decode_item,
            "response.output_item.done": self._decode_whole_item,
            "response.output_text.delta": self._decode_text,
            "response.refusal.delta": self._decode_refusal,
            "response.function_call_arguments.delta": self._decode_arguments,
            "response.reasoning_summary_text.delta": self._decode_thinking,
            "response.reasoning_text.delta": self._decode_thinking,
            "response.completed": self._decode_end,
            "response.incomplete": self._decode_end,
            "response.failed": self._decode_failure,
            "error": self._decode_failure,
        }

    @property
    def begun(self) -> bool:
        """Return True if a part of the answer has arrived."""
        return bool(self._items) or self.is_complete

    def finished(self) -> Finished:
        """Return the whole reply; raises ProviderError when its last event did not come."""
        if not self.is_complete:
            raise self._cut("without response.completed")
        calls: list[ToolCall] = []
        native = [self._close(item, calls) for _, item in sorted(self._items.items())]
        echoed = [item for item in native if item]
        refusal = self._refusal_by(self._cut_by, refused=self._refused)
        return Finished(
            self._text(refusal, has_calls=bool(calls)),
            tuple(calls),
            self._context.priced(self._usage),
            native={NATIVE_ITEMS: echoed, "host": self._context.host} if echoed else None,
            truncated=end_of(self._cut_by) is End.CUT,
            refusal=refusal,
        )

    def _close(self, item: Item, calls: list[ToolCall]) -> Mapping[str, Any] | None:
        """Return *item* in the form to send back, and add its call to *calls*."""
        kind = item.body.get("type")
        if kind == "function_call":
            if self._is_repeat(item.parts):
                return None
            problem = "" if item.is_closed else "the call was cut before its end"
            call = item.parts.close(self._context.used_ids, problem)
            calls.append(call)
            if problem or call.error:
                return {
                    "type": kind,
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": "{}",
                }
            return {**item.body, "call_id": call.id}
        return item.body if item.is_closed and kind in _ECHOED else None

    def _decode_object(self, data: Mapping[str, Any], kind: str) -> None:
        if data.get("object") == "response":  # one body, from a server that does not stream
            self._decode_end({"response": data, "type": f"response.{data.get('status')}"})
            return
        take = self._takers.get(as_str(data.get("type")) or kind)
        if take:  # events of other kinds, and of the future, change nothing
            take(data)

    def _decode_item(self, data: Mapping[str, Any]) -> Item | None:
        body = data.get("item")
        if not isinstance(body, dict):
            return None
        index = as_int(data.get("output_index"))
        item = self._items.get(index)
        if item is None:
            item = self._items[index] = Item(body, CallParts())
        item.body = body
        item.parts.call_id = item.parts.call_id or as_str(body.get("call_id"))
        item.parts.name = item.parts.name or as_str(body.get("name"))
        return item

    def _decode_whole_item(self, data: Mapping[str, Any]) -> None:
        item = self._decode_item(data)
        if item is None:
            return
        item.is_closed = True
        arguments = as_str(item.body.get("arguments"))
        if arguments:
            item.parts.pieces = [arguments]  # the pieces before were the same text
        if item.body.get("type") == "message" and not item.has_text:
            self._decode_whole_message(item)

    def _decode_whole_message(self, item: Item) -> None:
        content = item.body.get("content")
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict):
                self._deltas.add(TextDelta, as_str(part.get("text")) or as_str(part.get("refusal")))
                self._refused = self._refused or bool(part.get("refusal"))

    def _item_of(self, data: Mapping[str, Any], kind: str) -> Item:
        index = as_int(data.get("output_index"))
        # Some servers leave out the beginning of an item; its pieces reveal its type.
        return self._items.setdefault(index, Item({"type": kind}, CallParts()))

    def _decode_text(self, data: Mapping[str, Any]) -> None:
        self._item_of(data, "message").has_text = True
        self._deltas.add(TextDelta, as_str(data.get("delta")))

    def _decode_refusal(self, data: Mapping[str, Any]) -> None:
        self._refused = True
        self._decode_text(data)

    def _decode_thinking(self, data: Mapping[str, Any]) -> None:
        self._item_of(data, "reasoning")
        self._deltas.add(ThinkingDelta, as_str(data.get("delta")))

    def _decode_arguments(self, data: Mapping[str, Any]) -> None:
        self._item_of(data, "function_call").parts.pieces.append(as_str(data.get("delta")))

    def _decode_end(self, data: Mapping[str, Any]) -> None:
        response = as_mapping(data.get("response"))
        if response.get("status") == "failed" or data.get("type") == "response.failed":
            self._decode_failure(data)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else []):
            earlier = self._items.get(index)
            if earlier is None or not earlier.is_closed:
                is_done = not isinstance(item, dict) or item.get("status") != "incomplete"
                take = self._decode_whole_item if is_done else self._decode_item
                take({"item": item, "output_index": index})
        self._cut_by = as_str(as_mapping(response.get("incomplete_details")).get("reason"))
        self._usage = _usage(response.get("usage"))
        self.is_complete = True

    def _decode_failure(self, data: Mapping[str, Any]) -> None:
        nested = as_mapping(data.get("response")).get("error")
        raise self._context.failure(nested or data.get("error") or data)


def _usage(usage: Any) -> Usage:
    fields = as_mapping(usage)
    details = as_mapping(fields.get("input_tokens_details"))
    read, stored = as_int(details.get("cached_tokens")), as_int(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, as_int(fields.get("input_tokens")) - read - stored),
        output_tokens=as_int(fields.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=stored,
    )
