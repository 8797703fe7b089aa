"""container: what tools start runs in a container of docker or podman, of one pinned image."""

from typing import Any

from nanocoder import Resource, Sandbox, SessionInfo, hookimpl
from nanocoder_kit_sandbox import unavailable

from nanocoder_sandbox_container.container import Containers
from nanocoder_sandbox_container.program import problem
from nanocoder_sandbox_container.settings import ContainerSettings


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.sandbox-container]."""
    return ContainerSettings


@hookimpl
def nanocoder_sandboxes() -> list[Sandbox]:
    """Offer containers."""
    return [Sandbox("container", in_force)]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Keep a session's /tmp, and end its containers with it."""
    return [Resource("container", open_sandbox)]


def in_force(settings: Any) -> str:
    """Return "container"; raises ToolError (sandbox_unavailable) where none can be started."""
    if why := problem(settings):
        raise unavailable("container", why)
    return "container"


def open_sandbox(session: SessionInfo, settings: Any) -> Any:
    """Return the sandbox of one session."""
    return Containers(session, settings)
