"""The tool tool_search: a model asks for the tools that requests leave out."""

from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import Effect, Param, Tool, ToolContext, ToolResult, hookimpl, tool

from nanocoder_tool_search.answer import answer
from nanocoder_tool_search.ranking import find_tools


@frozen
class Settings:
    """The keys of `[plugins.tool-search]`."""

    max_results: Annotated[int, Param(ge=1)] = field(
        default=5, metadata={"description": "The most tools that one search by words finds."}
    )


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    reveals=True,
    examples=[{"query": "delete a file"}, {"query": "select:read_file,bash"}],
)
def tool_search(
    ctx: ToolContext,
    query: Annotated[str, "Words, or select:name,name."],
) -> ToolResult:
    """Find more tools, then call them."""
    settings: Settings = ctx.settings or Settings()
    others = [info for info in ctx.tools if info.name != tool_search.name]
    ctx.cancelled.check()
    return answer(query, find_tools(query, others, settings.max_results), others)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer tool_search."""
    return [tool_search]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-search]`."""
    return Settings
