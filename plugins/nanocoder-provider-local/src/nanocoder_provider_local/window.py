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
CHARS_PER_TOKEN: Final = (
    3  # of code in ASCII, on the safe side; anything else counts one token a character
)
OVERCOUNT: Final = 3.0  # our count is at most about so many times too high
TELLING: Final = 0.25  # of the window: in a shorter prompt the template's own marks count too much
LEAST_RESULT: Final = 64  # tokens: less of a result than that tells nothing
LEFT_OUT: Final = "[output left out: it was long ago; run the tool again if you need it]"


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

        First the oldest results go, then whole old messages, then the steps before the last one,
        last the middle of an overlong result. The request itself is never shortened.

        Raises: ProviderError (context_overflow) when it does not fit.
        """
        shown = chat(request, actions, self._hidden)
        if self._size(shown) <= self.tokens:
            return Fitted(shown)
        told = set(self._hidden)
        shown = self._without_old(request, actions, shown)
        gone = len(self._hidden.keys() - told)
        lost = [_counted(gone, "older message")] if gone else []
        if self._size(shown) > self.tokens:
            shown, cut = self._without_middle(request, actions, shown)
            lost += [f"{_counted(cut, 'character')} of the last result"] if cut else []
        return Fitted(shown, self._notice(" and ".join(lost)) if lost else "")

    def measure(self, turns: Chat, real_tokens: int) -> bool:
        """Learn from the engine how many tokens *turns* have; returns whether they fit."""
        self._measured = turns, real_tokens
        if real_tokens > self.tokens * TELLING:
            self._scale = real_tokens / max(_raw_size(turns), 1)
        return real_tokens <= self.tokens

    def _without_old(self, request: Request, actions: Actions, shown: Chat) -> Chat:
        for message, instead, target in _steps(request.messages):
            if self._hidden.get(id(message)) in {instead, ""}:
                continue
            self._hide(message, instead)
            shown = chat(request, actions, self._hidden)
            if self._size(shown) <= self.tokens * target:
                break
        return shown

    def _without_middle(self, request: Request, actions: Actions, shown: Chat) -> tuple[Chat, int]:
        """Shorten the last result, which leaves room for the next; by how many characters."""
        last = [message for message in request.messages[-2:] if message.role == "tool"]
        if not last:
            return self._whole(shown), 0
        before = request.messages[request.messages.index(last[-1]) - 1]
        text = turn_text(last[-1], actions, before)
        now = self._hidden.get(id(last[-1]), text)
        rest = self._size(shown) - self._scale * count(now)
        if self.tokens - rest < LEAST_RESULT:
            return self._whole(shown), 0
        room = max(self.tokens * TARGET - rest, LEAST_RESULT)
        most = int(len(text) * room / (self._scale * count(text)))
        self._hide(last[-1], _clip(text, most))
        return chat(request, actions, self._hidden), len(text) - most

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

    def _notice(self, what: str) -> str:
        return (
            f"the conversation is longer than the model's window of {self._settings.context:,} "
            f"tokens: it does not see {what}"
        )

    def _size(self, turns: Chat) -> float:
        return self._scale * _raw_size(turns)


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
