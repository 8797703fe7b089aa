"""The tool task: sub-agents whose every call takes the same way as a call of their parent."""

from collections.abc import Sequence
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import Effect, Param, Tool, ToolContext, ToolResult, hookimpl, tool

from nanocoder_tool_task.agent import Budget, Outcome
from nanocoder_tool_task.crew import Assignment, run_together
from nanocoder_tool_task.profiles import Profile

MAX_AGENTS = 8


@frozen
class Settings:
    """The table [plugins.tool-task].

    *model*: the model of sub-agents, "provider/model"; the session's own by default. *max_turns*,
    *max_calls* and *max_tokens*: what one sub-agent may use. *without*: tools that sub-agents do
    not get.
    """

    model: str = ""
    max_turns: int = field(default=25, metadata={"tighten": "min"})
    max_calls: int = field(default=50, metadata={"tighten": "min"})
    max_tokens: int = field(default=50_000, metadata={"tighten": "min"})
    without: tuple[str, ...] = field(
        default=("todo_read", "todo_write"), metadata={"tighten": "union"}
    )

    @property
    def budget(self) -> Budget:
        """What one sub-agent may use."""
        return Budget(self.max_turns, self.max_calls, self.max_tokens)


@tool(
    risk="medium",
    effects={Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK},
    composed_of=("*",),
    timeout_s=0,
    examples=[
        {"description": "Find the parser", "prompt": "Where are arguments parsed? Name the files."}
    ],
)
def task(
    ctx: ToolContext,
    description: Annotated[str, "The task in 3 to 5 words."],
    prompt: Annotated[str, Param("All it needs to know; it sees nothing else.", min_length=1)],
    name: Annotated[Profile, "All but build and general only read."] = Profile.GENERAL,
    also: Annotated[
        tuple[Assignment, ...],
        Param(f"Up to {MAX_AGENTS - 1} more that work at the same time."),
    ] = (),
) -> ToolResult:
    """Let a sub-agent work on a task in its own context; returns its answer."""
    ctx.cancelled.check()
    wanted = [Assignment(description, prompt), *also]
    outcomes = run_together(ctx, wanted[:MAX_AGENTS], name)
    ctx.cancelled.check()
    outcomes += [_surplus(one) for one in wanted[MAX_AGENTS:]]
    failed = [one for one in outcomes if one.error_class]
    return ToolResult(
        _told(outcomes),
        title=f"Task: {description}",
        data={"agents": [one.data() for one in outcomes]},
        metadata={
            "succeeded": len(outcomes) - len(failed),
            "failed": len(failed),
            "files_changed": list(dict.fromkeys(p for one in outcomes for p in one.files_changed)),
        },
        is_error=len(failed) == len(outcomes),
        error_class=failed[0].error_class if len(failed) == len(outcomes) else "",
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-task]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer task."""
    return [task]


def _told(outcomes: Sequence[Outcome]) -> str:
    if len(outcomes) == 1:
        return outcomes[0].told
    return "\n\n".join(
        f"[{number}] {one.description}\n{one.told}" for number, one in enumerate(outcomes, 1)
    )


def _surplus(assignment: Assignment) -> Outcome:
    problem = f"not run: at most {MAX_AGENTS} sub-agents work at once; send the rest afterwards"
    return Outcome(assignment.description, error_class="too_many_agents", problem=problem)
