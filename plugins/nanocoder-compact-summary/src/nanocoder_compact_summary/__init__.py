"""Shortens a long conversation: the session's model sums up its older part."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, field, frozen, validators
from nanocoder import Message, Resource, SessionInfo, Window, hookimpl, message_tokens
from nanocoder_kit_context import ROOM, Room, add_note, first_kept, latest_request

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


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer what a session knows of the model's window."""
    return [Resource(ROOM, lambda _session, _settings: Room())]


@hookimpl(rank=40)
def nanocoder_compact(
    window: Window,
    reason: str,
    focus: str,
    ask_model: Callable[[str, Sequence[Message]], str],
    session: SessionInfo,
    settings: Any,
    resource: Callable[[str], Room],
) -> Sequence[Message] | None:
    """Put a summary in the place of the older messages; the latest request stays."""
    limit = resource(ROOM).limit_tokens(window, reason, session.model)
    if not limit:
        return None
    recent = (settings or Settings()).recent
    return summarize(window.request.messages, limit, ask_model, focus=focus, recent=recent)


def summarize(
    messages: Sequence[Message],
    limit_tokens: int,
    ask_model: Callable[[str, Sequence[Message]], str],
    *,
    focus: str,
    recent: float,
) -> Sequence[Message] | None:
    """Return the messages with a summary in the place of the older ones; None without one."""
    # A person may ask for it long before the window is full.
    most = min(limit_tokens, sum(map(message_tokens, messages))) * recent
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
