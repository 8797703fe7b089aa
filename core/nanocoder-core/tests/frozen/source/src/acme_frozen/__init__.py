"""Three tools and a policy, written against the first published interface."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Decision,
    Effect,
    Param,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Verdict,
    hookimpl,
    tool,
)


@frozen
class Settings:
    """The table [plugins.acme-frozen].

    *locked*: the file that no call may change.
    """

    locked: str = "locked.txt"


@tool(risk="safe", effects={Effect.READ}, examples=[{"path": "README.md"}])
def first_line(
    ctx: ToolContext,
    path: Annotated[str, "File, relative to the workspace."],
    chars: Annotated[int, Param("At most so many characters.", ge=1, le=200)] = 80,
) -> ToolResult:
    """Return the first line of a text file. Use it to see what a file is."""
    lines = ctx.workspace.read_text(path).splitlines()
    if not lines:
        raise ToolError(f"{path} is empty", error_class="empty_file")
    line = lines[0][:chars]
    return ToolResult(line, title=path, data={"line": line}, metadata={"path": path})


@tool(risk="medium", effects={Effect.WRITE}, examples=[{"path": "old.txt", "line": "new"}])
def append_line(
    ctx: ToolContext,
    path: Annotated[str, "File, relative to the workspace."],
    line: Annotated[str, "The line to add."],
) -> str:
    """Add a line to the end of a text file that is there."""
    ctx.cancelled.check()
    ctx.progress(f"adding to {path}")
    ctx.workspace.write_text(path, f"{ctx.workspace.read_text(path)}{line}\n")
    return f"added to {path}"


@tool(
    risk="medium",
    effects={Effect.READ, Effect.WRITE},
    composed_of=("first_line", "append_line"),
    single_confirmation=True,
    examples=[{"source": "README.md", "destination": "old.txt"}],
)
def copy_first_line(
    ctx: ToolContext,
    source: Annotated[str, "Where the line is."],
    destination: Annotated[str, "The file that gets it."],
) -> ToolResult:
    """Add the first line of one file to the end of another one."""
    found = ctx.call("first_line", {"path": source})
    if found.is_error:
        return found
    return ctx.call("append_line", {"path": destination, "line": found.output})


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.acme-frozen]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer the tools."""
    return [first_line, append_line, copy_first_line]


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: Tool[..., Any], settings: Settings
) -> Verdict | None:
    """Keep the locked file as it is."""
    if Effect.WRITE in tool.effects and call.arguments.get("path") == settings.locked:
        return Verdict(Decision.DENY, f"{settings.locked} is locked")
    return None
