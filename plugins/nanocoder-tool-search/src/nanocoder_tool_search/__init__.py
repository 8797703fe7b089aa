"""The tool tool_search, and the definitions that requests leave out until the model needs them."""

from collections.abc import Callable
from typing import Any

from nanocoder import Request, Resource, SessionInfo, Tool, hookimpl

from nanocoder_tool_search.deferral import TOOLS, SessionTools, can_search
from nanocoder_tool_search.settings import Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer tool_search."""
    # Every start imports this module for its requests; few sessions search.
    from nanocoder_tool_search.tool import tool_search

    return [tool_search]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the tools that a session's model has found."""
    return [Resource(TOOLS, lambda _session, _settings: SessionTools())]


@hookimpl
def nanocoder_before_request(
    request: Request,
    session: SessionInfo,
    settings: Settings,
    resource: Callable[[str], SessionTools],
) -> Request | None:
    """Leave out the tools that the model can find; a small model gets few tools anyway."""
    if session.profile == "small" or not can_search(request.tools):
        return None
    return resource(TOOLS).reduce(request, settings.always)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-search]`."""
    return Settings
