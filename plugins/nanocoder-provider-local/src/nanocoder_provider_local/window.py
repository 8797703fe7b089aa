"""Keep a long session in the model's window: the request and the last steps stay."""

from typing import Final

from nanocoder import Message, Request

from nanocoder_provider_local.actions import Actions
from nanocoder_provider_local.prompt import Chat, chat

KEEP_LAST: Final = 4  # messages: the last two calls with their results
TARGET: Final = 0.6  # well below the limit: each shortening costs the engine's cache of the prompt
CHARS_PER_TOKEN: Final = (
    3  # of code in ASCII, on the safe side; anything else counts one token a character
)
LEFT_OUT: Final = "[output left out: it was long ago; run the tool again if you need it]"


class Window:
    """Chooses what the model sees; what was once left out stays out, so that the cache holds."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._scale = 1.0
        self._hidden: dict[int, str] = {}
        self._kept_alive: list[Message] = []  # an id is only a name while its object lives

    def fit(self, request: Request, actions: Actions) -> Chat:
        """Return the turns for *request*, shortened where they would not fit.

        First the oldest results in the middle go, then whole messages there, last the middle of
        overlong turns; the first message and the last few stay.
        """
        turns = chat(request, actions, self._hidden)
        if self._size(turns) <= self._tokens:
            return turns
        middle = request.messages[1:-KEEP_LAST]
        hide = [(message, LEFT_OUT) for message in middle if message.role == "tool"]
        for message, instead in [*hide, *((message, "") for message in middle)]:
            self._hidden[id(message)] = instead
            self._kept_alive.append(message)
            turns = chat(request, actions, self._hidden)
            if self._size(turns) <= self._tokens * TARGET:
                return turns
        return turns if self._size(turns) <= self._tokens else self._clipped(turns)

    def correct(self, turns: Chat, real_tokens: int) -> None:
        """Learn from the engine that *turns* have *real_tokens*, more than we had counted."""
        self._scale *= real_tokens / max(self._size(turns), 1) * 1.02

    def _size(self, turns: Chat) -> float:
        return self._scale * sum(count(turn["content"]) for turn in turns)

    def _clipped(self, turns: Chat) -> Chat:
        most = int(self._tokens * CHARS_PER_TOKEN / self._scale) // 4
        return [
            turns[0],
            *({**turn, "content": _clip(turn["content"], most)} for turn in turns[1:]),
        ]


def count(text: str) -> int:
    """Return about how many tokens *text* has."""
    ascii_chars = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ascii_chars // CHARS_PER_TOKEN + len(text) - ascii_chars + 4


def _clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
