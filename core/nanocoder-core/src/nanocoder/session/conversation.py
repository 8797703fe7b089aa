"""The messages of a session, and about how many tokens they have."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from attrs import evolve

from nanocoder.session.messages import encode_message
from nanocoder.session.prompt import message_tokens
from nanocoder.values import Event, Message, ToolCall, ToolResult


class Conversation:
    """The messages of a session; each change is an event, which the journal keeps."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = list(messages)
        self.tokens = sum(map(message_tokens, self.messages))
        """About how many tokens the messages have."""

    @property
    def open_calls(self) -> Sequence[ToolCall]:
        """The calls of the last message, which have no results yet."""
        return self.messages[-1].calls if self.messages else ()

    def add(self, message: Message) -> Event:
        """Add a message."""
        self.messages.append(message)
        self.tokens += message_tokens(message)
        return Event("message", encode_message(message))

    def add_results(self, results: Sequence[ToolResult], recorded: Collection[str] = ()) -> Event:
        """Add the results of a turn.

        The event leaves out those whose IDs are in *recorded*: `call.returned` had them.
        """
        event = self.add(Message("tool", results=tuple(results)))
        new = [item for item in results if item.call_id not in recorded or item.attachments]
        data = encode_message(Message("tool", results=tuple(new)))
        return evolve(event, data={**data, "call_ids": [item.call_id for item in results]})

    def replace(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Put *messages* in place of all; return them ready for JSON."""
        self.messages = list(messages)
        self.tokens = sum(map(message_tokens, messages))
        return [encode_message(message) for message in messages]
