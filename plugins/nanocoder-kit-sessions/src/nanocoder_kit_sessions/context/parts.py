"""The parts of a transcript: its latest request, and the recent messages that stay."""

from collections.abc import Sequence

from attrs import evolve
from nanocoder import Message, clip, message_tokens, spoken

LEAST_KEPT = 2
"""Messages: the latest call, and its result."""
REQUEST_CHARS = 2_000
LATEST_CHARS = 8_000
"""Limit of the latest request, which is longer because the agent still works on it."""


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
    typed = [index for index, message in enumerate(messages) if _is_typed(message)]
    return typed[-1] if typed else 0


def typed_requests(messages: Sequence[Message], most_tokens: float) -> list[Message]:
    """Return the typed texts of *messages*, in order, each as a message of its own.

    Together they have about *most_tokens*: the latest is selected first, then the very first, then
    the others, newest first. The middle of a long one is cut.
    """
    indexes = [index for index, message in enumerate(messages) if _is_typed(message)]
    selected = dict[int, Message]()
    for index in dict.fromkeys([*indexes[-1:], *indexes[:1], *reversed(indexes)]):
        request = _typed_alone(messages[index], is_latest=index == indexes[-1])
        most_tokens -= message_tokens(request)
        if most_tokens >= 0 or not selected:
            selected[index] = request
    return [selected[index] for index in sorted(selected)]


def _typed_alone(message: Message, *, is_latest: bool) -> Message:
    typed, added = spoken(message)
    half = (LATEST_CHARS if is_latest else REQUEST_CHARS) // 2
    text = clip(typed, head=half, tail=half)
    attachments = message.attachments if is_latest else ()
    if text == message.text and len(attachments) == len(message.attachments) and not added:
        return message
    return evolve(message, text=text, attachments=attachments, typed=None)


def _is_typed(message: Message) -> bool:
    return message.role == "user" and message.typed != ""
