"""Shortens a long conversation: old results first, then old steps. No model is asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, validators
from nanocoder import Message, Resource, SessionInfo, Tool, Window, hookimpl, value
from nanocoder_kit_sessions import context
from nanocoder_kit_sessions.context import ROOM, Room


@value
class Settings:
    """The table `[plugins.compact-trim]`; both are parts of the model's window.

    The conversation is cut down to *target*; the latest messages stay as they are while they take
    no more than *recent*.
    """

    target: float = field(
        default=0.5, validator=validators.and_(validators.ge(0.1), validators.le(0.7))
    )
    recent: float = field(
        default=0.25, validator=validators.and_(validators.ge(0.0), validators.le(0.5))
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.compact-trim]`."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the measure of a session's context window."""
    return [Resource(ROOM, lambda _session, _settings: Room())]


@hookimpl(rank=60)
def nanocoder_compact(
    window: Window,
    reason: str,
    tools: Mapping[str, Tool[..., Any]],
    session: SessionInfo,
    settings: Any,
    resource: Callable[[str], Room],
) -> Sequence[Message] | None:
    """Drop old content, results first; runs after every plugin that preserves more of it.

    After a refusal of pictures and other files only these are dropped.
    """
    is_refused = reason == "refused"
    limit = 0 if is_refused else resource(ROOM).limit_tokens(window, reason, session.model)
    if not (limit or is_refused):
        return None
    # Every request asks; few conversations become too long.
    from nanocoder_compact_trim.trimming import trim, without_files

    settings, messages = settings or Settings(), window.request.messages
    if is_refused:
        return without_files(messages)
    notes = context.NoteWriter(messages, limit, tools, session)
    return trim(notes, target=settings.target, recent=settings.recent)
