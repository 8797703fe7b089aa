"""The tool code_complexity: the size of a code base, and its most complex functions."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import Effect, Tool, ToolContext, ToolResult, hookimpl, tool

from nanocoder_tool_complexity.answer import answer
from nanocoder_tool_complexity.measure import measure

DEFAULT_EXTENSIONS = (".go", ".py")


@frozen
class Settings:
    """The settings of `[plugins.tool-complexity]`.

    *skip_dirs* are names of folders to leave out in addition to the usual ones. Functions are
    measured for *time_limit_s* seconds; lines are always counted completely.
    """

    skip_dirs: tuple[str, ...] = ()
    time_limit_s: float = 30.0


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{}, {"extensions": [".ts", ".tsx"]}],
    # No short text: asked to complete a function, a small model measured the code and was done.
)
def code_complexity(
    ctx: ToolContext,
    skip_dirs: Annotated[tuple[str, ...], "Folders."] = (),
    extensions: Annotated[tuple[str, ...], "Else .go and .py."] = (),
) -> ToolResult:
    """Measure code; find the hardest functions."""
    settings: Settings = ctx.settings or Settings()
    measures = measure(
        ctx.workspace,
        skip={*settings.skip_dirs, *skip_dirs},
        extensions=extensions or DEFAULT_EXTENSIONS,
        limit_s=settings.time_limit_s,
        cancel=ctx.cancelled,
    )
    return answer(measures)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer code_complexity."""
    return [code_complexity]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-complexity]`."""
    return Settings
