"""When to shorten a conversation: how much of the model's window its next request takes."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from nanocoder import Message, ToolDefinition, Usage, Window, count_tokens, message_tokens

ROOM: Final = "room"
"""Name of a compaction plugin's resource that holds a session's Room."""
FULL: Final = 0.8
"""The part of the model's window that may be used before the conversation is shortened."""
ASSUMED_WINDOW: Final = 32_768
"""Tokens of the context window if neither provider nor configuration gives them."""
WORTH_ANOTHER_TRY: Final = 1.1
"""In a run that could not be shortened, the conversation grows by this factor before the next."""

Prompt = tuple[str, Sequence[ToolDefinition]]


class Room:
    """The use of the context window in one session. Each message is counted once.

    A plugin holds it as its resource ROOM, and queries it in `nanocoder_compact`.
    """

    def __init__(self) -> None:
        self._tokens = 0
        self._counted = 0
        self._latest: Message | None = None
        self._usage: Usage | None = None
        self._not_before = 0.0
        self._learned: dict[str, int] = {}
        self._prompt: Prompt = ("", ())
        self._prompt_tokens = 0

    def limit_tokens(self, window: Window, reason: str, model: str) -> int:
        """Return the limit of the messages, in tokens, if a compaction is due, else 0.

        The arguments are those of the hook; *model* is the session's.
        """
        messages = window.request.messages
        self._count_prompt((window.request.system, window.request.tools))
        self._count_messages(messages, window.usage)
        size = self._learned.get(model) or window.tokens or ASSUMED_WINDOW
        used = self._tokens + self._prompt_tokens
        if reason == "refused":  # not because of the size
            return 0
        if reason == "overflow":
            # The window is smaller than assumed, or the tokens are more than counted.
            size = self._learned[model] = min(size, int(used * FULL))
        elif not reason and not self._is_due(used, size, messages):
            return 0
        self._not_before = self._tokens * WORTH_ANOTHER_TRY
        return max(1, size - self._prompt_tokens)

    def _is_due(self, used: int, size: int, messages: Sequence[Message]) -> bool:
        if used < size * FULL:
            return False
        return self._tokens >= self._not_before or messages[-1].role != "tool"

    def _count_prompt(self, prompt: Prompt) -> None:
        """Count the system prompt and the tools, which are mostly the same object."""
        if self._prompt[0] is not prompt[0] or self._prompt[1] is not prompt[1]:
            system, tools = self._prompt = prompt
            self._prompt_tokens = count_tokens(system) + sum(map(definition_tokens, tools))

    def _count_messages(self, messages: Sequence[Message], usage: Usage) -> None:
        """Count the new messages, and raise the estimate to the model's own count."""
        count = self._counted
        if count > len(messages) or (count and messages[count - 1] is not self._latest):
            # The messages were replaced, so the model's usage was that of the old ones.
            count, self._tokens, self._not_before, self._usage = 0, 0, 0.0, usage
        self._tokens += sum(map(message_tokens, messages[count:]))
        self._counted, self._latest = len(messages), messages[-1] if messages else None
        if usage is not self._usage:
            self._usage = usage
            since = takewhile(lambda message: message.role != "assistant", reversed(messages))
            tokens = _all_of(usage) - self._prompt_tokens + sum(map(message_tokens, since))
            self._tokens = max(self._tokens, tokens)


def definition_tokens(definition: ToolDefinition) -> int:
    """Return about how many tokens the definition of a tool takes."""
    return count_tokens(str((definition.name, definition.description, definition.parameters)))


def _all_of(usage: Usage) -> int:
    """Return the tokens of a request and its reply."""
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return read + usage.output_tokens
