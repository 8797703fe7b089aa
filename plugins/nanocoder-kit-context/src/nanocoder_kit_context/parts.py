"""The parts of a transcript: its latest request, and the recent messages that stay."""

from collections.abc import Sequence

from attrs import evolve
from nanocoder import Message, message_tokens

LEAST_KEPT = 2
"""Messages: the latest call, and its result."""


def first_kept(messages: Sequence[Message], most_tokens: float) -> int:
    """Return the index of the first of the last messages that have *most_tokens* together.

    At least two stay, however long they are, and a call is not parted from its results.
    """
    first, tokens = len(messages), 0.0
    while first > 0:
        tokens += message_tokens(messages[first - 1])
        if tokens > most_tokens and len(messages) - first >= LEAST_KEPT:
            break
        first -= 1
    while 0 < first < len(messages) and messages[first].role == "tool":
        first -= 1
    return first


def latest_request(messages: Sequence[Message]) -> int:
    """Return the index of the latest message that a person typed; 0 without any."""
    typed = [place for place, message in enumerate(messages) if _is_typed(message)]
    return typed[-1] if typed else 0


def add_note(message: Message, note: str, *, before: bool = False) -> Message:
    """Return *message* of a user with *note*, which people do not see as typed by them."""
    parts = (note, message.text) if before else (message.text, note)
    typed = message.text if message.typed is None else message.typed
    return evolve(message, text="\n\n".join(filter(None, parts)), typed=typed)


def _is_typed(message: Message) -> bool:
    return message.role == "user" and message.typed != ""
