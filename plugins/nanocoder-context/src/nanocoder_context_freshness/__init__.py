"""Tells the model which files have changed since it read them, by others or by commands."""

from collections.abc import Callable
from typing import Any, Final

from attrs import evolve, field, validators
from nanocoder import Request, Resource, SessionInfo, ToolCall, ToolResult, hookimpl, value

from nanocoder_context_freshness.seen import Seen

SEEN: Final = "seen"


@value
class Settings:
    """The table `[plugins.context-freshness]`.

    Content is assumed to be fresh for *max_age_s* seconds after it was read.
    """

    max_age_s: float = field(default=0.0, validator=validators.ge(0))


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.context-freshness]`."""
    return Settings


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the record of the files that a session has seen."""
    return [Resource(SEEN, _open)]


@hookimpl
def nanocoder_after_execute(
    result: ToolResult, call: ToolCall, session: SessionInfo, resource: Callable[[str], Seen]
) -> ToolResult | None:
    """Record the files that a call read or changed, and add a note on other changed files.

    A small model gets no note: it would mistake it for the request.
    """
    snapshots = resource(SEEN)
    snapshots.remember(result)
    if call.parent_id or session.profile == "small":
        return None
    note = snapshots.note_of_changes()
    return evolve(result, output=f"{result.output}\n\n{note}") if note else None


@hookimpl
def nanocoder_before_request(
    request: Request, session: SessionInfo, resource: Callable[[str], Seen]
) -> Request | None:
    """Add a note on changed files to a prompt, and repeat earlier notes unchanged."""
    if session.profile == "small":
        return None
    messages = resource(SEEN).with_notes(request.messages)
    return None if messages is request.messages else evolve(request, messages=messages)


def _open(session: SessionInfo, settings: Any) -> Seen:
    max_age_s = (settings or Settings()).max_age_s
    return Seen(session.cwd, max_age_s, readable=session.readable)
