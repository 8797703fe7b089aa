"""The steps of a patch: it is read and planned as a whole before any file changes."""

from nanocoder import SessionInfo, ToolContext, ToolResult, Workspace
from nanocoder_kit_files.text import check_change

from nanocoder_tool_patch.answer import answer, preview
from nanocoder_tool_patch.parse import parse
from nanocoder_tool_patch.perform import perform
from nanocoder_tool_patch.plan import plan


def apply(ctx: ToolContext, patch: str) -> ToolResult:
    """Apply *patch* to the workspace, all of it or nothing; raises ToolError."""
    changes = plan(ctx.workspace, parse(patch))
    notes = [check_change(change.checked(), ctx) for change in changes if change.letter != "D"]
    perform(ctx.workspace, changes, ctx.cancelled)
    return answer(changes, notes)


def show(session: SessionInfo, patch: str) -> str:
    """Return the diffs of *patch*, and the faults that it would introduce; raises ToolError."""
    with Workspace(session.cwd, readable=session.readable) as workspace:
        changes = plan(workspace, parse(patch))
    notes = [check_change(change.checked()) for change in changes if change.letter != "D"]
    return "\n".join(filter(None, [preview(changes), *notes]))
