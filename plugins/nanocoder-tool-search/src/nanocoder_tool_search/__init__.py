"""The tool tool_search, and the definitions that requests leave out until the model needs them."""

from collections.abc import Callable
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import (
    Effect,
    Param,
    Request,
    Resource,
    SessionInfo,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)

from nanocoder_tool_search.deferral import SessionTools, can_search

TOOLS = "tools"


@frozen(eq=False, repr=False)
class Settings:
    """The keys of `[plugins.tool-search]`."""

    max_results: Annotated[int, Param(ge=1)] = field(
        default=5, metadata={"description": "The most tools that one search by words finds."}
    )
    always: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "Tools in every request, in place of those that are meant to be there."
        },
    )


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"query": "delete a file"}, {"query": "select:read_file,bash"}],
)
def tool_search(
    ctx: ToolContext,
    query: Annotated[str, "Words, or select:name,name."],
) -> ToolResult:
    """Find more tools, then call them."""
    # Only a search needs these modules, and every start imports this one.
    from nanocoder_tool_search.answer import answer
    from nanocoder_tool_search.ranking import find_tools

    settings: Settings = ctx.settings or Settings()
    deferred = ctx.resource(TOOLS).deferred
    others = [info for info in ctx.tools if info.name != tool_search.name]
    ctx.cancelled.check()
    matches = find_tools(query, others, deferred, settings.max_results)
    return answer(query, matches, [info.name for info in others], deferred)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer tool_search."""
    return [tool_search]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer what a session's model has found."""
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
