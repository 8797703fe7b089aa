"""The messages of a session, and how they are kept short enough for the model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from nanocoder.hooks import styles
from nanocoder.plugins import Plugins
from nanocoder.provider import Provider
from nanocoder.session.messages import encode_message
from nanocoder.session.prompt import size_of
from nanocoder.values import Event, Message, ToolCall, ToolResult

COMPACT_AT = 0.8
"""The part of the model's context that may be used before the transcript is compacted."""


class Conversation:
    """The messages of a session; each change is an event, which the journal keeps."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = list(messages)
        self._size = sum(map(size_of, self.messages))

    @property
    def open_calls(self) -> Sequence[ToolCall]:
        """The calls of the last message, which have no results yet."""
        return self.messages[-1].calls if self.messages else ()

    def add(self, message: Message) -> Event:
        """Add a message."""
        self.messages.append(message)
        self._size += size_of(message)
        return Event("message", encode_message(message))

    def add_results(self, results: Sequence[ToolResult], recorded: Collection[str] = ()) -> Event:
        """Add the results of a turn.

        The event leaves out those whose IDs are in *recorded*: `call.returned` had them.
        """
        event = self.add(Message("tool", results=tuple(results)))
        new = [item for item in results if item.call_id not in recorded or item.attachments]
        data = encode_message(Message("tool", results=tuple(new)))
        return evolve(event, data={**data, "call_ids": [item.call_id for item in results]})

    def compact(
        self, plugins: Plugins, provider: Provider, context: Mapping[str, Any]
    ) -> Iterator[Event]:
        """Let a plugin shorten messages that nearly fill the context of *provider*'s model."""
        limit = getattr(provider, "context", 0)
        if not limit or self._size < limit * COMPACT_AT:
            return
        arguments = {"messages": tuple(self.messages), "limit_tokens": limit, **context}
        shorter = styles.choose(
            plugins.implementations("nanocoder_compact"), plugins.report, arguments, (list, tuple)
        )
        if shorter is not None:
            self.messages = list(shorter)
            self._size = sum(map(size_of, self.messages))
            messages = [encode_message(message) for message in self.messages]
            yield Event("transcript.compacted", {"messages": messages})
