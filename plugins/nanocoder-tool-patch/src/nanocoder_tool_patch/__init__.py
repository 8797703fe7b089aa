"""The tool apply_patch: changes to several files in one call, all of them or none."""

from collections.abc import Mapping
from typing import Annotated, Any

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


def deletes(arguments: Mapping[str, Any]) -> bool:
    """Tell whether a patch, in either form, deletes a file."""
    from nanocoder_tool_patch.parse import parse

    try:
        return any(section.kind == "delete" for section in parse(str(arguments.get("patch", ""))))
    except ToolError:
        return False  # an invalid patch is never applied


@tool(
    risk="dangerous",
    effects={Effect.WRITE, Effect.REVERSIBLE},
    transactional=True,
    confirm=deletes,
    examples=[
        {
            "patch": "*** Begin Patch\n*** Add File: greeting.txt\n+Good morning.\n"
            "*** Update File: hello.py\n@@\n"
            '-print("hello")\n+print("good morning")\n*** End Patch\n'
        }
    ],
)
def apply_patch(
    ctx: ToolContext,
    patch: Annotated[
        str,
        Param(
            "Unified diff; or *** Begin Patch to *** End Patch, in it *** Add File: (Update,"
            " Delete), Move to:, hunks after @@.",
            min_length=1,
        ),
    ],
) -> ToolResult:
    """Apply a patch: all of it or nothing."""
    from nanocoder_tool_patch.answer import answer
    from nanocoder_tool_patch.parse import parse
    from nanocoder_tool_patch.perform import perform
    from nanocoder_tool_patch.plan import plan

    changes = plan(ctx.workspace, parse(patch))
    perform(ctx.workspace, changes, ctx.cancelled)
    return answer(changes)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer apply_patch."""
    return [apply_patch]


@hookimpl
def nanocoder_render(call: ToolCall, result: ToolResult | None, session: SessionInfo) -> str | None:
    """Show the diffs of a patch that was not applied; raises ToolError for one that cannot be."""
    if call.name != apply_patch.name or result is not None:
        return None
    from nanocoder_tool_patch.answer import preview
    from nanocoder_tool_patch.parse import parse
    from nanocoder_tool_patch.plan import plan

    patch = str(call.arguments.get("patch", ""))
    with Workspace(session.cwd, readable=session.readable) as workspace:
        changes = plan(workspace, parse(patch))
    return preview(changes)
