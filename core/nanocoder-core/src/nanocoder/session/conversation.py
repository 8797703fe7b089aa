"""The messages of a session, an estimate of their tokens, and their JSON."""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any, get_args

from attrs import AttrsInstance
from nanocoder_schema import count_tokens

from nanocoder.values import Attachment, Event, Message, ToolCall, ToolResult

ATTACHMENT_TOKENS = 1_500
"""Estimated tokens of a picture or a page; providers scale large ones down."""

_VALUES = {ToolCall, ToolResult, Attachment}  # the types of items in tuples


class Conversation:
    """The messages of a session; each change is an event for the journal."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = list(messages)

    @property
    def open_calls(self) -> Sequence[ToolCall]:
        """The calls of the last message, as long as they have no results."""
        return self.messages[-1].calls if self.messages else ()

    def add(self, message: Message) -> Event:
        """Add a message."""
        self.messages.append(message)
        return Event("message", encode_message(message))

    def add_results(self, results: Sequence[ToolResult], recorded: Collection[str] = ()) -> Event:
        """Add the results of a turn.

        The event leaves out those whose IDs are in *recorded*: `call.returned` had them.
        """
        self.messages.append(Message("tool", results=tuple(results)))
        new = [item for item in results if item.call_id not in recorded or item.attachments]
        data = encode_message(Message("tool", results=tuple(new)))
        return Event("message", {**data, "call_ids": [item.call_id for item in results]})

    def replace(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Replace all messages by *messages*; return these ready for JSON."""
        self.messages = list(messages)
        return [encode_message(message) for message in messages]


def message_tokens(message: Message) -> int:
    """Estimate the tokens of a message; the number is cached."""
    counts: dict[str, int] = vars(message)
    return counts.get("_tokens") or counts.setdefault("_tokens", _count(message))


def _count(message: Message) -> int:
    texts = [message.text, *(result.output for result in message.results)]
    texts += [f"{call.name}{dict(call.arguments)}" for call in message.calls]
    attachments = [message.attachments, *(result.attachments for result in message.results)]
    return sum(map(count_tokens, texts)) + sum(map(len, attachments)) * ATTACHMENT_TOKENS


def encode_message(message: Message) -> dict[str, Any]:
    """Return *message* ready for JSON, its attachments as base64."""
    # `typed` comes before the text: lists of sessions read no further.
    typed = {} if message.typed in (None, message.text) else {"typed": message.typed}
    return {"role": message.role, **typed, **encode(message)}


def encode(value: AttrsInstance) -> dict[str, Any]:
    """Return the fields of *value* that are not empty, ready for JSON."""
    if isinstance(value, Attachment):
        from base64 import b64encode  # most sessions have no attachment

        data = b64encode(value.data).decode("ascii")
        return {"media_type": value.media_type, "name": value.name, "base64": data}
    return {
        name: [*map(encode, item)] if holds_values else item
        for name, has_zero, holds_values in _fields(type(value))
        if (item := getattr(value, name)) or (has_zero and item is not None)
    }


@cache
def _fields(kind: type[AttrsInstance]) -> list[tuple[str, bool, bool]]:
    """Return each field's name, whether its 0 differs from None, and whether it holds values."""
    # Not by attrs, which would build the class to list its fields.
    declared = kind.__annotations__.items()
    zero = (Any, float | None)
    return [(name, of in zero, not _VALUES.isdisjoint(get_args(of))) for name, of in declared]


def spoken(message: Message) -> tuple[str, str]:
    """Split a message into the text of its author and the text that the program added."""
    if message.typed is None or message.typed == message.text:
        return message.text, ""
    if not message.typed:
        return "", message.text
    before, _, after = message.text.rpartition(message.typed)
    return message.typed, f"{before.strip()}\n\n{after.strip()}".strip()
