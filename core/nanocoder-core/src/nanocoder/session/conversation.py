"""What was said in a session so far, and how it is kept short enough for the model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from nanocoder.hooks import styles
from nanocoder.plugins import Plugins
from nanocoder.provider import Provider
from nanocoder.session.messages import encode_message
from nanocoder.session.prompt import size_of
from nanocoder.values import Event, Message, ToolResult

COMPACT_AT = 0.8
"""Which part of the model's context may be used before the transcript is compacted."""


class Talk:
    """The messages of a session; each change is an event, which the journal keeps."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = list(messages)
        self._size = sum(map(size_of, self.messages))

    def add(self, message: Message) -> Event:
        """Add a message."""
        self.messages.append(message)
        self._size += size_of(message)
        return Event("message", encode_message(message))

    def add_results(self, results: Sequence[ToolResult], told: Collection[str] = ()) -> Event:
        """Add the results of a turn; those that `call.returned` has *told* are not told again."""
        event = self.add(Message("tool", results=tuple(results)))
        untold = [one for one in results if one.call_id not in told or one.attachments]
        data = encode_message(Message("tool", results=tuple(untold)))
        return evolve(event, data={**data, "call_ids": [one.call_id for one in results]})

    def compacted(
        self, plugins: Plugins, provider: Provider, about: Mapping[str, Any]
    ) -> Iterator[Event]:
        """Let a plugin shorten what is about to outgrow the context of *provider*'s model."""
        limit = getattr(provider, "context", 0)
        if not limit or self._size < limit * COMPACT_AT:
            return
        given = {"messages": tuple(self.messages), "limit_tokens": limit, **about}
        shorter = styles.choose(
            plugins.implementations("nanocoder_compact"), plugins.report, given, (list, tuple)
        )
        if shorter is not None:
            self.messages = list(shorter)
            self._size = sum(map(size_of, self.messages))
            messages = [encode_message(message) for message in self.messages]
            yield Event("transcript.compacted", {"messages": messages})
