"""landlock: what tools start keeps only the rights to files that it needs, without a namespace."""

from typing import Any

from nanocoder import Resource, Sandbox, SessionInfo, hookimpl

# Every start imports this module; what starts commands is imported at the first one.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.sandbox-landlock]."""
    from nanocoder_kit_sandbox import Settings

    return Settings


@hookimpl
def nanocoder_sandboxes() -> list[Sandbox]:
    """Offer Landlock."""
    return [Sandbox("landlock", in_force, rank=20, system="linux")]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep a session's folder for temporary files until it ends."""
    return [Resource("landlock", open_sandbox)]


def in_force(settings: Any) -> str:
    """Return "landlock", with what it lacks; raises ToolError (sandbox_unavailable)."""
    from nanocoder_sandbox_landlock.landlock import in_force

    return in_force(settings)


def open_sandbox(session: SessionInfo, settings: Any) -> Any:
    """Return the sandbox of one session."""
    from nanocoder_sandbox_landlock.landlock import Landlocked

    return Landlocked(session, settings)
