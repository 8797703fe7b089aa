"""The tool code_map: the parts of a code base, and their dependencies."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import field, frozen, validators
from nanocoder import (
    Effect,
    Resource,
    SessionInfo,
    Tool,
    ToolContext,
    ToolResult,
    hookimpl,
    tool,
)

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
    # The prompt needs this module alone.
    from nanocoder_tool_codemap.answer import answer

    return answer(ctx, operation, target, (ctx.settings or Settings()).max_tokens)


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
    from nanocoder_tool_codemap.index import open_index

    return open_index(session.cwd if (settings or Settings()).cache else None)
