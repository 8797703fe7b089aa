"""Shortens a long conversation: the session's model sums up its older part."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, validators
from nanocoder import Message, Resource, SessionInfo, Tool, Window, hookimpl, value
from nanocoder_kit_sessions import context
from nanocoder_kit_sessions.context import ROOM, Room


@value
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
    """Provide the measure of a session's context window."""
    return [Resource(ROOM, lambda _session, _settings: Room())]


@hookimpl(rank=40)
def nanocoder_compact(
    window: Window,
    reason: str,
    focus: str,
    ask_model: Callable[[str, Sequence[Message]], str],
    tools: Mapping[str, Tool[..., Any]],
    session: SessionInfo,
    settings: Any,
    resource: Callable[[str], Room],
) -> Sequence[Message] | None:
    """Replace older messages by a note with a summary; the user's own words stay."""
    limit = resource(ROOM).limit_tokens(window, reason, session.model)
    if not limit:
        return None
    # The hook runs for every request; few conversations become too long.
    from nanocoder_compact_summary.summing import summarize

    messages, recent = window.request.messages, (settings or Settings()).recent
    notes = context.NoteWriter(messages, limit, tools, session)
    # Measured: the embedded model needs minutes for a summary that adds nothing to the note.
    model = None if session.profile == "small" else ask_model
    return summarize(notes, model, focus=focus, recent=recent)
