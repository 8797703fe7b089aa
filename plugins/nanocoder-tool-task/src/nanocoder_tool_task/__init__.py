"""The tools task and task_result: sub-agents under all rules and hooks of their parent."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from attrs import field, frozen
from nanocoder import (
    Argument,
    Command,
    Effect,
    Host,
    Param,
    Resource,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)

from nanocoder_tool_task.command import run
from nanocoder_tool_task.operations import list_agents, read_result, run_tasks, start_tasks
from nanocoder_tool_task.profiles import Profile
from nanocoder_tool_task.sub_agents import MAX_AGENTS, Assignment, SubAgents

MAX_WAIT_S = 600.0
READERS = frozenset({"explore", "plan", "review", "security"})
EFFECTS = (Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK)


@frozen
class Settings:
    """The table [plugins.tool-task].

    *model*: the model of sub-agents, "provider/model"; the session's own by default. *max_turns*,
    *max_calls* and *max_tokens*: the limits of one sub-agent. *without*: tools that sub-agents do
    not get. *profiles*: profiles by name, which add to or replace those built in.
    *project_profiles*: use the project's files in `.nanocoder/agents`; a trusted project can enable
    this itself.
    """

    model: str = ""
    max_turns: int = field(default=25, metadata={"tighten": "min"})
    max_calls: int = field(default=50, metadata={"tighten": "min"})
    max_tokens: int = field(default=50_000, metadata={"tighten": "min"})
    without: tuple[str, ...] = field(
        default=("todo_read", "todo_write"), metadata={"tighten": "union"}
    )
    profiles: dict[str, Profile] = field(factory=dict, metadata={"user_only": True})
    project_profiles: bool = False


def _makes_worktree(arguments: Mapping[str, Any]) -> bool:
    """Return True if a call itself writes: git creates a worktree in the repository."""
    isolation: str = arguments.get("isolation", "none")
    return isolation != "none"


def _only_reads(arguments: Mapping[str, Any]) -> bool:
    """Return True if the sub-agents of a call have tools that read, and nothing else."""
    return arguments.get("name", "") in READERS and not _makes_worktree(arguments)


@tool(
    risk="medium",
    effects=EFFECTS,
    composed_of=("*",),
    timeout_s=0,
    confirm=_makes_worktree,
    only_reads=_only_reads,
    examples=[
        {"description": "Find the parser", "prompt": "Where are arguments parsed? Name the files."}
    ],
)
def task(
    ctx: ToolContext,
    description: Annotated[str, "3 to 5 words."],
    prompt: Annotated[str, Param("Full instructions.", min_length=1)],
    name: Annotated[str, "general, build; read-only: explore, plan, review, security."] = "general",
    also: Annotated[
        tuple[Assignment, ...],
        Param(f"Up to {MAX_AGENTS - 1} more at once."),
    ] = (),
    isolation: Annotated[Literal["none", "worktree"], "worktree: a copy; a patch."] = "none",
    *,
    merge: Annotated[bool, "Merge the patch."] = False,
    background: Annotated[bool, "Do not wait."] = False,
) -> ToolResult:
    """Give work to a sub-agent with a context of its own; returns its answer.

    Good for a search through many files, or for independent parts. It sees nothing of this
    conversation.
    """
    assignments = [Assignment(description, prompt), *also]
    if background:
        return start_tasks(ctx, assignments, name, isolated=isolation != "none")
    return run_tasks(ctx, assignments, name, isolated=isolation != "none", merge=merge)


@tool(
    risk="medium",
    effects=EFFECTS,
    composed_of=("*",),
    timeout_s=0,
    repeatable=True,
    examples=[{}],
)
def task_result(
    ctx: ToolContext,
    id: Annotated[str, "Empty lists all."] = "",  # noqa: A002 - the model's word
    wait_s: Annotated[float, Param("Seconds.", ge=0, le=MAX_WAIT_S)] = 60.0,
    *,
    cancel: Annotated[bool, "Stop it."] = False,
    merge: Annotated[bool, "Merge its patch."] = False,
) -> ToolResult:
    """Read a sub-agent's answer or merge its patch."""
    if not id:
        if cancel or merge:
            raise ToolError("say which sub-agent, by its id", error_class="invalid_arguments")
        return list_agents(ctx)
    return read_result(ctx, id, wait_s=wait_s, cancel=cancel, merge=merge)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.tool-task]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer task and task_result."""
    return [task, task_result]


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the command that lists profiles."""
    output = Argument("--output", "output format", default="text", choices=("text", "json"))
    directory = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
    return [Command("agents", "list the profiles of sub-agents", _agents, (output, directory))]


def _agents(arguments: Namespace, host: Host) -> int:
    return run(arguments, host, host.plugins.settings("tool-task"))


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer the records of a session's sub-agents."""
    return [Resource("agents", lambda _session, _settings: SubAgents())]
