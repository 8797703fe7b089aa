"""The tool edit_file: replaces text in one place and keeps every other byte of the file."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Effect,
    Param,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    hookimpl,
    tool,
)
from nanocoder_kit_diff import clip_lines

from nanocoder_tool_edit.answer import answer
from nanocoder_tool_edit.plan import Request, plan_edit


@frozen
class Settings:
    """What `[plugins.tool-edit]` may set.

    *tolerant*: text that is not in the file exactly as given is looked for with other white space,
    and with small differences. *preview_lines* of the diff are shown to the person who is asked.
    """

    tolerant: bool = True
    preview_lines: int = 1_000


@tool(
    risk="dangerous",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    examples=[{"path": "hello.py", "old_string": "hello", "new_string": "good morning"}],
    short="Replace old_string, copied from the file, by new_string.",
)
def edit_file(
    ctx: ToolContext,
    path: Annotated[str, "File, relative to the workspace."],
    old_string: Annotated[str, "Text exactly as in the file, only once in it. Empty: append."],
    new_string: Annotated[str, "What replaces it."],
    replace_all: Annotated[bool, "Replace every occurrence."] = False,  # noqa: FBT002
    start_line: Annotated[int, Param("Replace lines instead.", ge=0)] = 0,
    end_line: Annotated[int, Param("Last of them.", ge=0)] = 0,
) -> ToolResult:
    """Replace text in a file."""
    settings: Settings = ctx.settings or Settings()
    request = Request(path, old_string, new_string, replace_all, start_line, end_line)
    plan = plan_edit(ctx.workspace, request, tolerant=settings.tolerant)
    # Between reading and writing somebody else may have been here.
    digest = plan.file.digest if plan.file else ""
    written = ctx.workspace.write_bytes(path, plan.data, expect_digest=digest)
    return answer(plan, request, written)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer edit_file."""
    return [edit_file]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-edit]`."""
    return Settings


@hookimpl
def nanocoder_render(
    call: ToolCall,
    tool: Tool[..., Any],
    result: ToolResult | None,
    session: SessionInfo,
    settings: Any,
) -> str | None:
    """Show the diff of an edit that has not happened."""
    if tool.name != edit_file.name or result is not None:
        return None
    settings = settings or Settings()
    arguments = edit_file.signature.check(call.arguments)
    request = Request(
        arguments["path"],
        arguments["old_string"],
        arguments["new_string"],
        arguments["replace_all"],
        arguments["start_line"],
        arguments["end_line"],
    )
    with Workspace(session.cwd) as workspace:
        try:
            plan = plan_edit(workspace, request, tolerant=settings.tolerant)
        except ToolError as error:
            return f"{request.path}\n[this edit will fail: {error}]"
    how = "" if plan.found.confidence == 1.0 else f"\n[found by {plan.found.strategy}]"
    return clip_lines(plan.diff().text, settings.preview_lines) + how
