"""bwrap: what tools start sees the system read-only, and cannot leave the workspace."""

from typing import Any

from nanocoder import Resource, Sandbox, SessionInfo, hookimpl

# Every start imports this module; what runs bubblewrap is imported at the first command.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.sandbox-bwrap]."""
    from nanocoder_kit_sandbox import Settings

    return Settings


@hookimpl
def nanocoder_sandboxes() -> list[Sandbox]:
    """Offer bubblewrap, the first choice where it works."""
    return [Sandbox("bwrap", in_force, rank=10, system="linux")]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep a session's /tmp, and its namespaces, until it ends."""
    return [Resource("bwrap", open_sandbox)]


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
