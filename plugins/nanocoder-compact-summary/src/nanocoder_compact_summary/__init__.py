"""Shortens a long conversation: the session's model sums up its older part."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, field, frozen, validators
from nanocoder import Message, hookimpl, message_tokens
from nanocoder_kit_context import add_note, first_kept, latest_request

from nanocoder_compact_summary.instructions import HEAD, INSTRUCTIONS, SYSTEM, WISH
from nanocoder_compact_summary.script import script_of

LEAST_MESSAGES = 4
"""A shorter part is not worth a request."""


@frozen
class Settings:
    """The table `[plugins.compact-summary]`.

    The latest messages stay as they are while they take no more than *recent*, a part of the
    model's window.
    """

    recent: float = field(
        default=0.2, validator=validators.and_(validators.ge(0.0), validators.le(0.5))
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.compact-summary]`."""
    return Settings


@hookimpl(rank=40)
def nanocoder_compact(
    messages: Sequence[Message],
    limit_tokens: int,
    focus: str,
    ask_model: Callable[[str, Sequence[Message]], str],
    settings: Any,
) -> Sequence[Message] | None:
    """Put a summary in the place of the older messages; the latest request stays."""
    settings = settings or Settings()
    # A person may ask for it long before the window is full.
    most = min(limit_tokens, sum(map(message_tokens, messages))) * settings.recent
    first = first_kept(messages, most)
    if first < LEAST_MESSAGES:
        return None
    wish = WISH.format(focus) if focus else ""
    script = script_of(messages[:first], limit_tokens)
    summary = ask_model(SYSTEM, [Message("user", f"{script}\n\n{INSTRUCTIONS}{wish}")]).strip()
    if not summary:
        return None
    return _with_summary(messages, first, HEAD.format(summary))


def _with_summary(messages: Sequence[Message], first: int, summary: str) -> list[Message]:
    """Return the messages from *first* on, after the summary and the request they work on."""
    request = latest_request(messages)
    recent = list(messages[first:])
    if recent and recent[0].role == "user":
        return [add_note(recent[0], summary, before=True), *recent[1:]]
    if request < first:
        latest = messages[request]
        alone = latest if latest.typed is None else evolve(latest, text=latest.typed)
        return [add_note(alone, summary, before=True), *recent]
    return [Message("user", summary, typed=""), *recent]
