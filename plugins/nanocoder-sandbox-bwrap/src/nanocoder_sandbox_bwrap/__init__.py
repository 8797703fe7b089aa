"""bwrap: what tools start sees the system read-only, and cannot leave the workspace."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from nanocoder import Event, Resource, Sandbox, SessionInfo, hookimpl

if TYPE_CHECKING:
    from nanocoder import Readable

    from nanocoder_sandbox_bwrap.ahead import OpenedAhead

# Every start imports this module; what runs bubblewrap is imported while the model first thinks.

_ahead: "Final[WeakKeyDictionary[Readable, OpenedAhead]]" = WeakKeyDictionary()
"""What opens the sandbox of each session that has asked a model.

The key is what the session may read, which is its own: sessions that are not kept share one ID. As
a resource it would need the settings, and with them the base of all sandboxes, in each run.
"""


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.sandbox-bwrap]."""
    from nanocoder_kit_sandbox import Settings

    return Settings


@hookimpl
def nanocoder_sandboxes() -> list[Sandbox]:
    """Offer bubblewrap, the first choice where it works."""
    return [Sandbox("bwrap", in_force, rank=10)]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep a session's /tmp, and what is held in its workspace, until it ends."""
    return [Resource("bwrap", open_sandbox)]


@hookimpl(events=["request.started", "request.finished", "session.finished"])
def nanocoder_event(event: Event, session: SessionInfo, resource: Callable[[str], Any]) -> None:
    """Have a sandbox made for the next command while the model thinks."""
    from nanocoder_sandbox_bwrap.ahead import OpenedAhead

    if event.kind == "session.finished":
        _ahead.pop(session.readable, OpenedAhead()).end()
        return
    ahead = _ahead.setdefault(session.readable, OpenedAhead())
    if event.kind == "request.finished":
        ahead.answered()
    elif not session.changes_nothing_by:
        ahead.begin(lambda: resource("bwrap") if session.sandbox == "bwrap" else None)


def in_force(settings: Any) -> str:  # noqa: ARG001 - each setting works where bubblewrap does
    """Return "bwrap"; raises ToolError (sandbox_unavailable) where bubblewrap does not work."""
    from nanocoder_kit_sandbox import unavailable
    from nanocoder_kit_sandbox.bubblewrap import problem

    if why := problem():
        raise unavailable("bwrap", why)
    return "bwrap"


def open_sandbox(session: SessionInfo, settings: Any) -> Any:
    """Return the sandbox of one session."""
    from nanocoder_kit_sandbox import Settings

    from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap

    return Bubblewrap(session, settings or Settings())
