"""Fit a long session into the model's window: the request and the last steps stay."""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen
from nanocoder import Message, ProviderError, Request
from nanocoder_kit_llm.actions import Actions, Chat, chat, is_request, turn_text

from nanocoder_provider_local.settings import Settings

KEEP_LAST: Final = 4  # messages: the last two calls with their results
TARGET: Final = (
    0.6  # well below the limit, since each shortening invalidates the engine's prompt cache
)
CHARS_PER_TOKEN: Final = 3
"""A safe estimate for ASCII code; any other character is one token."""
OVERCOUNT: Final = 3.0  # our count is too high by about this factor at most
TELLING: Final = (
    0.25  # of the window: in shorter prompts the template's own marks distort the ratio
)
LARGEST_RESULT: Final = 0.4  # of the window, if not everything fits
LEAST_RESULT: Final = 64  # tokens: a shorter part of a result is useless
LEFT_OUT: Final = "[output left out: it was long ago; run the tool again if you need it]"

Last = tuple[Message, str]
"""The message of the last result, and its full text."""


@frozen
class Fitted:
    """The turns that the model sees, and a notice for the person, if any."""

    turns: Chat
    notice: str = ""


class Window:
    """Selects the messages to send; a removed one stays out, so that the cache stays valid."""

    def __init__(self, settings: Settings) -> None:
        self.tokens: Final = settings.context - settings.max_tokens
        self._settings = settings
        self._scale = 1.0
        self._measured: tuple[Chat, int] = ([], 0)
        self._hidden: dict[int, str] = {}
        self._kept_alive: list[Message] = []  # an id is unique only while its object lives

    def fit(self, request: Request, actions: Actions) -> Fitted:
        """Return the turns for *request*, shortened if they would not fit.

        The middle of an overlong last result is removed first, then the oldest results, then whole
        old messages and the steps before the last one. The request itself is never shortened.

        Raises: ProviderError (context_overflow) when it does not fit.
        """
        turns = chat(request, actions, self._hidden)
        if self._size(turns) <= self.tokens:
            return Fitted(turns)
        hidden_before = set(self._hidden)
        last = _last_result(request.messages, actions)
        cut = self._cut(last, self.tokens * LARGEST_RESULT)
        turns = self._without_old(request, actions)
        if self._size(turns) > self.tokens:
            room = self.tokens - self._size(turns) + self._size_of(last)
            if room < LEAST_RESULT or last is None:
                return Fitted(self._let_engine_count(turns))
            cut = self._cut(last, room)
            turns = chat(request, actions, self._hidden)
        removed = len(self._hidden.keys() - hidden_before - ({id(last[0])} if last else set()))
        return Fitted(turns, self._notice(removed, cut))

    def measure(self, turns: Chat, real_tokens: int) -> bool:
        """Learn from the engine how many tokens *turns* have; return whether they fit."""
        self._measured = turns, real_tokens
        if real_tokens > self.tokens * TELLING:
            self._scale = real_tokens / max(_raw_size(turns), 1)
        return real_tokens <= self.tokens

    def _without_old(self, request: Request, actions: Actions) -> Chat:
        turns = chat(request, actions, self._hidden)
        if self._size(turns) <= self.tokens:
            return turns
        for message, instead, target in _steps(request.messages):
            if self._hidden.get(id(message)) in {instead, ""}:
                continue
            self._hide(message, instead)
            turns = chat(request, actions, self._hidden)
            if self._size(turns) <= self.tokens * target:
                break
        return turns

    def _cut(self, last: Last | None, most_tokens: float) -> int:
        """Remove the middle of the last result; return how many characters that is."""
        if last is None or self._size_of(last) <= most_tokens:
            return 0
        message, text = last
        room = int(len(text) * most_tokens / (self._scale * count(text)))
        self._hide(message, _clip(text, room))
        return len(text) - room

    def _size_of(self, last: Last | None) -> float:
        """Return the tokens of the last result in its present form."""
        if last is None:
            return 0
        return self._scale * count(self._hidden.get(id(last[0]), last[1]))

    def _let_engine_count(self, turns: Chat) -> Chat:
        """Return turns that may be too long, for the engine to count, or raise ProviderError."""
        counted, real = self._measured
        if counted != turns:
            real = _raw_size(turns)
            if real <= self.tokens * OVERCOUNT:
                return turns
        size = f"{'' if counted == turns else 'about '}{real:,}"
        raise ProviderError(
            f"the request is too long for this model: with the tools it has {size} "
            f"tokens, and {self.tokens:,} fit (a window of {self._settings.context:,}, less "
            f"{self._settings.max_tokens:,} for the reply); shorten it, name a file instead of "
            "pasting it, or set a larger context in [plugins.provider-local]",
            kind="context_overflow",
        )

    def _hide(self, message: Message, instead: str) -> None:
        self._hidden[id(message)] = instead
        self._kept_alive.append(message)

    def _notice(self, removed: int, cut: int) -> str:
        lost = [_with_plural(removed, "older message")] if removed else []
        lost += [f"{_with_plural(cut, 'character')} of the last result"] if cut else []
        if not lost:
            return ""
        return (
            f"the conversation is longer than the model's window of {self._settings.context:,} "
            f"tokens: it does not see {' and '.join(lost)}"
        )

    def _size(self, turns: Chat) -> float:
        return self._scale * _raw_size(turns)


def _last_result(messages: Sequence[Message], actions: Actions) -> Last | None:
    """Return the message of the last result and its full text, or None."""
    for index in range(len(messages) - 1, max(0, len(messages) - 3), -1):
        if messages[index].role == "tool":
            return messages[index], turn_text(messages[index], actions, messages[index - 1])
    return None


def _steps(messages: Sequence[Message]) -> Iterator[tuple[Message, str, float]]:
    """Yield messages that may be removed, the least important first.

    Each comes with its replacement, and the share of the window that the rest must fit into for
    the removal to stop.
    """
    requests = [index for index, message in enumerate(messages) if is_request(message)]
    request = requests[-1] if requests else 0
    middle = [message for index, message in enumerate(messages[:-KEEP_LAST]) if index != request]
    yield from ((message, LEFT_OUT, TARGET) for message in middle if message.role == "tool")
    yield from ((message, "", TARGET) for message in middle)
    last = len(messages) - 2
    for index in range(max(0, len(messages) - KEEP_LAST), len(messages)):
        if index < request or request < index < last:
            yield messages[index], "", 1.0


def count(text: str) -> int:
    """Return about how many tokens *text* has."""
    ascii_chars = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ascii_chars // CHARS_PER_TOKEN + len(text) - ascii_chars + 4


def _with_plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _raw_size(turns: Chat) -> int:
    return sum(count(turn["content"]) for turn in turns)


def _clip(text: str, most: int) -> str:
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
