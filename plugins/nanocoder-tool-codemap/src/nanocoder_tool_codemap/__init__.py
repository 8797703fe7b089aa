"""The tool code_map: the parts of a code base, and their dependencies."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import field, frozen, validators
from nanocoder import (
    ConfigError,
    Effect,
    Resource,
    SessionInfo,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_kit_files.glob.left_out import left_out_metadata, left_out_note

if TYPE_CHECKING:
    from nanocoder_tool_codemap.index import Index

Operation = Literal[
    "structure",
    "symbols",
    "dependencies",
    "define",
    "references",
    "upstream",
    "downstream",
    "relevant",
]


@frozen
class Settings:
    """The settings of `[plugins.tool-codemap]`.

    *max_tokens* is the limit of an answer. *prompt_tokens* is the limit of the map in the system
    prompt of each session, 0 for none. *cache* stores the map in the user's cache directory for the
    next session.
    """

    max_tokens: int = 2_000
    prompt_tokens: int = field(default=0, validator=validators.ge(0))
    cache: bool = True


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[
        {},
        {"operation": "symbols", "target": "src"},
        {"operation": "define", "target": "main"},
        {"operation": "relevant", "target": "start of the program"},
    ],
    short="Show what the code defines and what depends on what.",
)
def code_map(
    ctx: ToolContext,
    operation: Annotated[Operation, "View."] = "structure",
    target: Annotated[str, "Path, name or words."] = ".",
) -> ToolResult:
    """Map code: upstream is what target needs."""
    from nanocoder_tool_codemap.budget import Budget
    from nanocoder_tool_codemap.operations import COUNTED, OPERATIONS, Inquiry, split_target

    ctx.cancelled.check()
    path, query = split_target(ctx.workspace, operation, target)
    index: Index = ctx.resource("index")
    code = index.refresh(ctx.workspace, ctx.cancelled)
    inquiry = Inquiry(ctx.workspace, index, code, path, query, ctx.cancelled)
    budget = Budget((ctx.settings or Settings()).max_tokens)
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


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer code_map."""
    return [code_map]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-codemap]`."""
    return Settings


@hookimpl
def nanocoder_prompt(session: SessionInfo, settings: Any) -> str | None:
    """Return the map of the code, if a person set how much of it; a small model gets none."""
    tokens = (settings or Settings()).prompt_tokens
    if not tokens or session.profile == "small":
        return None
    from nanocoder_tool_codemap.prompt import map_text  # few sessions have the map in the prompt

    return map_text(session, _open_index(session, settings), tokens)


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the index of a session."""
    return [Resource("index", _open_index)]


def _open_index(session: SessionInfo, settings: Any) -> "Index":
    from nanocoder_tool_codemap.index import Index
    from nanocoder_tool_codemap.store import file_of

    file = None
    if (settings or Settings()).cache:
        with suppress(ConfigError):  # there is no home for it
            file = file_of(session.cwd.resolve())
    return Index(file)
