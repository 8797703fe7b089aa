"""The tool: words or names in, the definitions that fit out."""

from typing import Annotated

from nanocoder import Effect, ToolContext, ToolResult, tool

from nanocoder_tool_search.answer import answer
from nanocoder_tool_search.deferral import TOOLS
from nanocoder_tool_search.ranking import find_tools
from nanocoder_tool_search.settings import Settings


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"query": "delete a file"}, {"query": "select:read_file,bash"}],
)
def tool_search(
    ctx: ToolContext,
    query: Annotated[str, "Words; e.g. delete a file. Or names; e.g. select:task,move_file."],
) -> ToolResult:
    """Find more tools by what they do; returns their names, and you can call them then.

    A tool that you know by name can be called without a search.
    """
    settings: Settings = ctx.settings or Settings()
    deferred = ctx.resource(TOOLS).deferred
    others = [info for info in ctx.tools if info.name != tool_search.name]
    ctx.cancelled.check()
    matches = find_tools(query, others, deferred, settings.max_results)
    return answer(query, matches, [info.name for info in others], deferred)
