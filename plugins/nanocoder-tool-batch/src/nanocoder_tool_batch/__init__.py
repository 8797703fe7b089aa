"""The tool batch: several calls at once, each judged and approved separately."""

from collections.abc import Sequence
from typing import Annotated, Any

from nanocoder import (
    Effect,
    OutputLimit,
    Param,
    Tool,
    ToolContext,
    ToolResult,
    clip_output,
    hookimpl,
    tool,
)

from nanocoder_tool_batch.parallel import Call, run_together

MAX_CALLS = 25
OUTPUT_CHARS = 40_000
OUTPUT_LINES = 1_500
"""The limits of all outputs together; each output gets the same share."""


@tool(
    risk="medium",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    composed_of=("*",),
    timeout_s=0,
    examples=[
        {
            "tool_calls": [
                {"tool": "read_file", "parameters": {"path": "hello.py"}},
                {"tool": "list_files", "parameters": {}},
            ]
        }
    ],
)
def batch(
    ctx: ToolContext,
    tool_calls: Annotated[
        list[Call], Param(f"Up to {MAX_CALLS}; each judged by itself.", min_length=1)
    ],
) -> ToolResult:
    """Run independent calls of other tools at once; returns each result."""
    ctx.cancelled.check()
    calls = tool_calls[:MAX_CALLS]
    results = run_together(ctx, calls, lambda count: ctx.progress(f"{count} of {len(calls)} done"))
    ctx.cancelled.check()
    names = [call.tool for call in tool_calls]
    # Every call gets a result, even if it was not run: results are in the order of calls.
    results += [_too_many()] * (len(names) - len(results))
    worked = sum(not result.is_error for result in results)
    failed = [
        f"{number} ({_problem(result)})"
        for number, result in enumerate(results, 1)
        if result.is_error
    ]
    head = f"{worked} of {len(names)} calls succeeded."
    head = f"{head} Failed: {', '.join(failed)}." if failed else head
    return ToolResult(
        "\n\n".join([head, *_sections(ctx, names, results)]),
        title=f"Batch: {worked} of {len(names)}",
        data={
            "succeeded": worked,
            "total": len(names),
            "calls": [_data(name, result) for name, result in zip(names, results, strict=True)],
        },
        metadata={"succeeded": worked, "failed": len(names) - worked, "total": len(names)},
        attachments=tuple(item for result in results for item in result.attachments),
        is_error=not worked,
        error_class="" if worked else "batch_failed",
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer batch."""
    return [batch]


def _sections(ctx: ToolContext, names: Sequence[str], results: Sequence[ToolResult]) -> list[str]:
    share = OutputLimit.of(OUTPUT_CHARS // len(results), OUTPUT_LINES // len(results), head=2 / 3)
    sections = []
    for number, (name, result) in enumerate(zip(names, results, strict=True), 1):
        how = f"error ({_problem(result)})" if result.is_error else "ok"
        output = result.output
        if not share.holds(output):
            where = result.artifact or ctx.artifact(
                f"{ctx.message_id}-{number}.txt", output.encode("utf-8", "replace")
            )
            output = clip_output(output, share, where=where)
        sections.append(f"[{number}] {name}: {how}\n{output}".rstrip())
    return sections


def _problem(result: ToolResult) -> str:
    """Return the class of an error, and the exit code of a command that failed."""
    code = result.metadata.get("exit_code")
    return f"{result.error_class}, exit code {code}" if code else result.error_class


def _data(name: str, result: ToolResult) -> dict[str, Any]:
    return {
        "tool": name,
        "call_id": result.call_id,
        "title": result.title,
        "is_error": result.is_error,
        "error_class": result.error_class,
        "exit_code": result.metadata.get("exit_code"),
    }


def _too_many() -> ToolResult:
    return ToolResult(
        f"not run: a batch takes at most {MAX_CALLS} calls; send the rest in another one",
        is_error=True,
        error_class="too_many_calls",
    )
