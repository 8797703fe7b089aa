"""seatbelt: what tools start on macOS changes the workspace alone, and reaches no network."""

import sys
from typing import Any

from nanocoder import Resource, Sandbox, SessionInfo, hookimpl
from nanocoder_kit_sandbox import Settings, unavailable

from nanocoder_sandbox_seatbelt.seatbelt import Seatbelt, problem


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.sandbox-seatbelt]."""
    return Settings


@hookimpl
def nanocoder_sandboxes() -> list[Sandbox]:
    """Offer Seatbelt, which is a part of macOS."""
    return [Sandbox("seatbelt", in_force, rank=30, system="darwin")]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep a session's folder for temporary files until it ends."""
    return [Resource("seatbelt", open_sandbox)]


def in_force(settings: Any) -> str:
    """Return "seatbelt"; raises ToolError (sandbox_unavailable) where it does not work."""
    if sys.platform != "darwin":
        raise unavailable("seatbelt", f"it is a part of macOS, and this system is {sys.platform}")
    if settings is not None and settings.hosts and not settings.network:
        raise unavailable("seatbelt", "it knows no list of hosts; leave `hosts` empty")
    if why := problem():
        raise unavailable("seatbelt", why)
    return "seatbelt"


def open_sandbox(session: SessionInfo, settings: Any) -> Any:
    """Return the sandbox of one session."""
    return Seatbelt(session, settings or Settings())
