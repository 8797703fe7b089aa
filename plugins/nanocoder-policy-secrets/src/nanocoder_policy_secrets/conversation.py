"""The messages of a session as the model may read them."""

from collections.abc import Sequence
from operator import is_, is_not
from typing import Final

from attrs import evolve
from nanocoder import Message, ToolResult
from nanocoder_kit_redact import Redactor

SPOKEN_TO_THE_MODEL: Final = frozenset({"user", "tool"})
"""Roles whose text comes from elsewhere; what the model says itself it knows already."""


class RedactedMessages:
    """Redacts each message of one session once.

    Providers keep the bytes of a message, which they know by its identity: the same message always
    becomes the same redacted one.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._redacted: dict[int, tuple[Message, Message]] = {}
        self._before: list[Message] = []
        self._after: list[Message] = []
        self._has_secrets = False

    def redacted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return *messages* without secrets, the very same sequence if there are none."""
        count = len(self._before)
        if len(messages) < count or not all(map(is_, self._before, messages)):
            # A compaction or a rewind put other messages in the place of some.
            self._before, self._after, self._has_secrets, count = [], [], False, 0
        new = messages[count:]
        redacted = [self._message(message) for message in new]
        self._before += new
        self._after += redacted
        self._has_secrets = self._has_secrets or any(map(is_not, new, redacted))
        return list(self._after) if self._has_secrets else messages

    def _message(self, message: Message) -> Message:
        if message.role not in SPOKEN_TO_THE_MODEL:
            return message
        if id(message) not in self._redacted:
            # The message itself is kept, too: its id must not become that of another one.
            self._redacted[id(message)] = message, self._without_secrets(message)
        return self._redacted[id(message)][1]

    def _without_secrets(self, message: Message) -> Message:
        text = self._redactor.redact(message.text)
        results = tuple(map(self._result, message.results))
        if text == message.text and results == message.results:
            return message
        return evolve(message, text=text, results=results)

    def _result(self, result: ToolResult) -> ToolResult:
        output = self._redactor.redact(result.output)
        return result if output == result.output else evolve(result, output=output)
