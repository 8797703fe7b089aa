"""Secrets stay from the model: it reads placeholders in their place, and cannot write these."""

from collections.abc import Sequence
from copy import copy
from operator import is_not
from typing import Final

from attrs import evolve
from nanocoder import (
    Decision,
    Effect,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    Verdict,
    for_model,
)
from nanocoder_kit_files.redact import Redactor, placeholders_in, redact_value

SPOKEN_TO_THE_MODEL: Final = frozenset({"user", "tool"})
"""Roles whose text comes from elsewhere; what the model says itself it knows already."""


_CHANGES: Final = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})


def deny_placeholder(call: ToolCall, tool: "Tool[..., object]") -> Verdict | None:
    """Deny a call that would put a placeholder where a secret was."""
    if not tool.effects & _CHANGES or not (placeholders := placeholders_in(call.arguments)):
        return None
    return Verdict(
        Decision.DENY,
        f"{placeholders[0]} stands for a value that was hidden from you, and would replace it."
        " Leave the line with it out of the edit, or ask the user to change it",
        rule=f"placeholder {placeholders[0]}",
        source="plugins.policy-rules.refuse_placeholders",
    )


def redacted_result(result: ToolResult, redactor: Redactor) -> ToolResult:
    """Return a result with placeholders for secrets in its text and data; itself without any."""
    # Cleaned first: an escape before a token would hide it from the redactor.
    output, title = redactor.redact(for_model(result.output)), redactor.redact(result.title)
    data, metadata = (redact_value(each, redactor) for each in (result.data, result.metadata))
    redacted = evolve(result, output=output, title=title, data=data, metadata=metadata)
    return result if redacted == result else with_own_data(redacted)


def with_own_data(result: ToolResult) -> ToolResult:
    """Return a result with a copy of its data: the core drops the old data of a new text."""
    return evolve(result, data=copy(result.data))


class RedactedMessages:
    """Redacts each message of one session once.

    Providers keep the bytes of a message, which they know by its identity: the same message always
    becomes the same redacted one.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        # The message itself is kept, too: its id must not become that of another one.
        self._redacted: dict[int, tuple[Message, Message]] = {}

    def redacted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return *messages* without secrets, the very same sequence if there are none."""
        for message in messages:
            if id(message) not in self._redacted:
                self._redacted[id(message)] = message, self._without_secrets(message)
        redacted = [self._redacted[id(message)][1] for message in messages]
        return redacted if any(map(is_not, messages, redacted)) else messages

    def _without_secrets(self, message: Message) -> Message:
        if message.role not in SPOKEN_TO_THE_MODEL:
            return message
        text = self._redactor.redact(message.text)
        results = tuple(map(self._result, message.results))
        if text == message.text and results == message.results:
            return message
        return evolve(message, text=text, results=results)

    def _result(self, result: ToolResult) -> ToolResult:
        output = self._redactor.redact(result.output)
        return result if output == result.output else evolve(result, output=output)
