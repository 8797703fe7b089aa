"""Tools that are composed of others, with one question to the person for all steps."""

from typing import Annotated, Any

from nanocoder import (
    Effect,
    SessionInfo,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)

from nanocoder_tool_compose.patterns import expand
from nanocoder_tool_compose.preview import preview_edit, preview_refactor
from nanocoder_tool_compose.refactor import Refactor, refactor
from nanocoder_tool_compose.steps import Steps


@tool(
    risk="dangerous",
    effects={Effect.READ, Effect.WRITE, Effect.REVERSIBLE},
    composed_of=("read_file", "edit_file"),
    single_confirmation=True,
    transactional=True,
    examples=[{"file_path": "hello.py", "old_string": "hello", "new_string": "good morning"}],
    short="Read a file and replace text in it.",
)
def atomic_edit(
    ctx: ToolContext,
    file_path: Annotated[str, "To edit."],
    old_string: Annotated[str, "Unique in it."],
    new_string: Annotated[str, "Replacement."],
) -> ToolResult:
    """Read a file and replace text in it."""
    steps = Steps(ctx)
    # The session then knows the file, as after a read by the model itself.
    steps.run("read_file", path=file_path)
    edit_result = steps.run(
        "edit_file", path=file_path, old_string=old_string, new_string=new_string
    )
    return ToolResult(
        edit_result.output,
        title=edit_result.title,
        data={"steps": steps.log, "edit": edit_result.data},
        metadata=edit_result.metadata,
    )


@tool(
    risk="dangerous",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    composed_of=("read_file", "write_file", "bash"),
    single_confirmation=True,
    transactional=True,
    timeout_s=0,
    commands=("check",),
    examples=[
        {"files": ["hello.py"], "old": "hello", "new": "welcome", "check": "test -f hello.py"}
    ],
    short="Rename in several files, check, undo if the check fails.",
)
def atomic_refactor(
    ctx: ToolContext,
    files: Annotated[tuple[str, ...], "To change; globs, too."],
    old: Annotated[str, "Name or text."],
    new: Annotated[str, "Replacement."],
    check: Annotated[str, "Command."],
) -> ToolResult:
    """Replace or rename a symbol in many files; undone if the check fails."""
    return refactor(ctx, expand(ctx.workspace, Refactor(files, old, new, check)))


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer both tools."""
    return [atomic_edit, atomic_refactor]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Show the steps, and one diff of all that would change."""
    if result is not None or call.name not in {atomic_edit.name, atomic_refactor.name}:
        return None

    if call.name == atomic_edit.name:
        return preview_edit(session, atomic_edit.signature.check(call.arguments))
    return preview_refactor(session, atomic_refactor.signature.check(call.arguments))
