"""The answer of the tool: the lines of one operation, within a budget of tokens."""

from nanocoder import ToolContext, ToolResult
from nanocoder_kit_files.glob.left_out import left_out_metadata, left_out_note

from nanocoder_tool_codemap.budget import Budget
from nanocoder_tool_codemap.index import Index
from nanocoder_tool_codemap.operations import COUNTED, OPERATIONS, Inquiry, split_target


def answer(ctx: ToolContext, operation: str, target: str, max_tokens: int) -> ToolResult:
    """Return the view *operation* of *target*, at most *max_tokens*; raises ToolError."""
    ctx.cancelled.check()
    path, query = split_target(ctx.workspace, operation, target)
    index: Index = ctx.resource("index")
    code = index.refresh(ctx.workspace, ctx.cancelled)
    inquiry = Inquiry(ctx.workspace, index, code, path, query, ctx.cancelled)
    budget = Budget(max_tokens)
    budget.extend(OPERATIONS[operation](inquiry), COUNTED[operation])
    return ToolResult(
        "\n".join(filter(None, [budget.text() or "Nothing found", left_out_note(code.left_out)])),
        title=f"{operation} {target}",
        data={"lines": budget.lines},
        metadata={
            "operation": operation,
            "target": target,
            "files": len(code.records),
            "parsed": code.parsed,
            **left_out_metadata(code.left_out),
            "truncated": budget.left_out > 0,
        },
    )
