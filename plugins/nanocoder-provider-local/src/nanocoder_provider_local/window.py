"""Keep a long session in the model's window: the request and the last steps stay."""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen
from nanocoder import Message, ProviderError, Request

from nanocoder_provider_local.actions import Actions
from nanocoder_provider_local.prompt import Chat, chat, is_request, turn_text
from nanocoder_provider_local.settings import Settings

KEEP_LAST: Final = 4  # messages: the last two calls with their results
TARGET: Final = 0.6  # well below the limit: each shortening costs the engine's cache of the prompt
CHARS_PER_TOKEN: Final = 3
"""Of code in ASCII, on the safe side; anything else counts one token a character."""
OVERCOUNT: Final = 3.0  # our count is at most about so many times too high
TELLING: Final = 0.25  # of the window: in a shorter prompt the template's own marks count too much
LARGEST_RESULT: Final = 0.4  # of the window, where not everything fits
LEAST_RESULT: Final = 64  # tokens: less of a result than that tells nothing
LEFT_OUT: Final = "[output left out: it was long ago; run the tool again if you need it]"

Last = tuple[Message, str]
"""The message of the last result, and the whole text of it."""


@frozen
class Fitted:
    """What the model is shown, and what a person should know of it, if anything."""

    turns: Chat
    notice: str = ""


class Window:
    """Chooses what the model sees; what was once left out stays out, so that the cache holds."""

    def __init__(self, settings: Settings) -> None:
        self.tokens: Final = settings.context - settings.max_tokens
        self._settings = settings
        self._scale = 1.0
        self._measured: tuple[Chat, int] = ([], 0)
        self._hidden: dict[int, str] = {}
        self._kept_alive: list[Message] = []  # an id is only a name while its object lives

    def fit(self, request: Request, actions: Actions) -> Fitted:
        """Return the turns for *request*, shortened where they would not fit.

        First the middle of an overlong last result goes, then the oldest results, then whole old
        messages and the steps before the last one. The request itself is never shortened.

        Raises: ProviderError (context_overflow) when it does not fit.
        """
        shown = chat(request, actions, self._hidden)
        if self._size(shown) <= self.tokens:
            return Fitted(shown)
        told = set(self._hidden)
        last = _last_result(request.messages, actions)
        cut = self._cut(last, self.tokens * LARGEST_RESULT)
        shown = self._without_old(request, actions)
        if self._size(shown) > self.tokens:
            room = self.tokens - self._size(shown) + self._size_of(last)
            if room < LEAST_RESULT or last is None:
                return Fitted(self._whole(shown))
            cut = self._cut(last, room)
            shown = chat(request, actions, self._hidden)
        gone = len(self._hidden.keys() - told - ({id(last[0])} if last else set()))
        return Fitted(shown, self._notice(gone, cut))

    def measure(self, turns: Chat, real_tokens: int) -> bool:
        """Learn from the engine how many tokens *turns* have; returns whether they fit."""
        self._measured = turns, real_tokens
        if real_tokens > self.tokens * TELLING:
            self._scale = real_tokens / max(_raw_size(turns), 1)
        return real_tokens <= self.tokens

    def _without_old(self, request: Request, actions: Actions) -> Chat:
        shown = chat(request, actions, self._hidden)
        if self._size(shown) <= self.tokens:
            return shown
        for message, instead, target in _steps(request.messages):
            if self._hidden.get(id(message)) in {instead, ""}:
                continue
            self._hide(message, instead)
            shown = chat(request, actions, self._hidden)
            if self._size(shown) <= self.tokens * target:
                break
        return shown

    def _cut(self, last: Last | None, most_tokens: float) -> int:
        """Take the middle out of the last result; returns how many characters that is."""
        if last is None or self._size_of(last) <= most_tokens:
            return 0
        message, text = last
        kept = int(len(text) * most_tokens / (self._scale * count(text)))
        self._hide(message, _clip(text, kept))
        return len(text) - kept

    def _size_of(self, last: Last | None) -> float:
        """Return how many tokens the last result has as it is shown now."""
        if last is None:
            return 0
        return self._scale * count(self._hidden.get(id(last[0]), last[1]))

    def _whole(self, shown: Chat) -> Chat:
        """Return a request that seems too long, for the engine to count, or refuse it."""
        counted, real = self._measured
        if counted != shown:
            real = _raw_size(shown)
            if real <= self.tokens * OVERCOUNT:
                return shown
        about = "" if counted == shown else "about "
        raise ProviderError(
            f"the request is too long for this model: with the tools it has {about}{real:,} "
            f"tokens, and {self.tokens:,} fit (a window of {self._settings.context:,}, less "
            f"{self._settings.max_tokens:,} for the reply); shorten it, name a file instead of "
            "pasting it, set a larger context in [plugins.provider-local], or take another model",
            kind="context_overflow",
        )

    def _hide(self, message: Message, instead: str) -> None:
        self._hidden[id(message)] = instead
        self._kept_alive.append(message)

    def _notice(self, gone: int, cut: int) -> str:
        lost = [_counted(gone, "older message")] if gone else []
        lost += [f"{_counted(cut, 'character')} of the last result"] if cut else []
        if not lost:
            return ""
        return (
            f"the conversation is longer than the model's window of {self._settings.context:,} "
            f"tokens: it does not see {' and '.join(lost)}"
        )

    def _size(self, turns: Chat) -> float:
        return self._scale * _raw_size(turns)


def _last_result(messages: Sequence[Message], actions: Actions) -> Last | None:
    """Return the message of the last result, if there is one, and the whole text of it."""
    for place in range(len(messages) - 1, max(0, len(messages) - 3), -1):
        if messages[place].role == "tool":
            return messages[place], turn_text(messages[place], actions, messages[place - 1])
    return None


def _steps(messages: Sequence[Message]) -> Iterator[tuple[Message, str, float]]:
    """Yield what may go, the least missed first.

    That is a message, what stands in its place, and the part of the window in which the rest should
    fit before no more goes.
    """
    requests = [place for place, message in enumerate(messages) if is_request(message)]
    request = requests[-1] if requests else 0
    middle = [one for place, one in enumerate(messages[:-KEEP_LAST]) if place != request]
    yield from ((message, LEFT_OUT, TARGET) for message in middle if message.role == "tool")
    yield from ((message, "", TARGET) for message in middle)
    last = len(messages) - 2
    for place in range(max(0, len(messages) - KEEP_LAST), len(messages)):
        if place < request or request < place < last:
            yield messages[place], "", 1.0


def count(text: str) -> int:
    """Return about how many tokens *text* has."""
    ascii_chars = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ascii_chars // CHARS_PER_TOKEN + len(text) - ascii_chars + 4


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _raw_size(turns: Chat) -> int:
    return sum(count(turn["content"]) for turn in turns)


def _clip(text: str, most: int) -> str:
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
