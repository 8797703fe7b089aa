"""The operations of task and task_result."""

from collections.abc import Sequence

from attrs import evolve
from nanocoder import NanocoderError, ToolContext, ToolError, ToolResult

from nanocoder_tool_task.agent import Agent, Job, Outcome, failure_outcome
from nanocoder_tool_task.merging import bring_back
from nanocoder_tool_task.profile_files import profile_files
from nanocoder_tool_task.profiles import BUILT_IN, Profile, find_profile
from nanocoder_tool_task.sub_agents import (
    MAX_AGENTS,
    Assignment,
    Record,
    SubAgents,
    run_together,
    wait_for,
)

CANCEL_WAIT_S = 5.0
"""The time that a stopped sub-agent gets to end."""


def run_tasks(
    ctx: ToolContext, assignments: Sequence[Assignment], name: str, *, isolated: bool, merge: bool
) -> ToolResult:
    """Run sub-agents and return their outcomes.

    Raises: ToolError (unknown_profile), Cancelled.
    """
    ctx.cancelled.check()
    jobs = _jobs(ctx, assignments[:MAX_AGENTS], name, isolated=isolated, background=False)
    outcomes = run_together(ctx, jobs)
    ctx.cancelled.check()
    agents: SubAgents = ctx.resource("agents")
    outcomes = [_store_mergeable(agents, bring_back(ctx, each, merge=merge)) for each in outcomes]
    outcomes += [_too_many(surplus) for surplus in assignments[MAX_AGENTS:]]
    return _result(outcomes, f"Task: {assignments[0].description}")


def start_tasks(
    ctx: ToolContext, assignments: Sequence[Assignment], name: str, *, isolated: bool
) -> ToolResult:
    """Start sub-agents in the background and return their ids.

    Raises: ToolError (unknown_profile), Cancelled.
    """
    ctx.cancelled.check()
    agents: SubAgents = ctx.resource("agents")
    records: list[Record] = []
    failures = [_too_many(surplus) for surplus in assignments[MAX_AGENTS:]]
    for job in _jobs(ctx, assignments[:MAX_AGENTS], name, isolated=isolated, background=True):
        try:
            records.append(agents.start(Agent(ctx, job)))
        except NanocoderError as error:
            failures.append(failure_outcome(job.description, error))
    lines = [f"{record.id}: {record.description} (started)" for record in records]
    lines += [f"{failure.description}: {failure.for_model}" for failure in failures]
    if records:
        lines.append("You are told when one has finished; task_result reads its answer.")
    return ToolResult(
        "\n".join(lines),
        title=f"Task in the background: {assignments[0].description}",
        data={
            "started": [record.id for record in records],
            "agents": [failure.data() for failure in failures],
        },
        metadata={"succeeded": len(records), "failed": len(failures)},
        is_error=not records,
        error_class="" if records else failures[0].error_class,
    )


def list_agents(ctx: ToolContext) -> ToolResult:
    """List the sub-agents of the session whose results can be read."""
    agents: SubAgents = ctx.resource("agents")
    rows = [(record.id, _state(record), record.description) for record in agents.all()]
    return ToolResult(
        "\n".join(f"{name} {state}: {title}" for name, state, title in rows) or "There are none.",
        title="Sub-agents",
        data={"agents": [dict(zip(("id", "state", "description"), r, strict=True)) for r in rows]},
    )


def read_result(
    ctx: ToolContext, agent_id: str, *, wait_s: float, cancel: bool, merge: bool
) -> ToolResult:
    """Return the outcome of a sub-agent if it has ended.

    Raises: ToolError (unknown_agent), Cancelled.
    """
    agents: SubAgents = ctx.resource("agents")
    record = agents.find(agent_id)
    if cancel:
        record.stop()
    if not wait_for(record, CANCEL_WAIT_S if cancel else wait_s, ctx.cancelled):
        return ToolResult(
            f"{agent_id} still works: {record.description}",
            title=f"{agent_id} still works",
            data={"agents": [{"id": agent_id, "state": "working"}]},
        )
    record.is_reported = True
    outcome = record.outcome or Outcome(record.description, error_class="cancelled")
    if not outcome.merged:
        record.outcome = outcome = bring_back(ctx, outcome, merge=merge)
    return _result([outcome], f"Task: {record.description}")


def _jobs(
    ctx: ToolContext,
    assignments: Sequence[Assignment],
    name: str,
    *,
    isolated: bool,
    background: bool,
) -> list[Job]:
    profile = _find_profile(ctx, name)
    return [
        Job(assignment.description, assignment.prompt, name, profile, isolated, background)
        for assignment in assignments
    ]


def _find_profile(ctx: ToolContext, name: str) -> Profile:
    """Return the profile of the configuration, a built-in one, or that of a file.

    Raises: ToolError (unknown_profile), with the problem of the file of that name.
    """
    own = ctx.settings.profiles
    if name in own or name in BUILT_IN or ctx.session is None:
        return find_profile(name, own)

    files = profile_files(ctx.session, with_project=ctx.settings.project_profiles)
    for file in files:
        if file.name == name and file.problem:
            raise ToolError(file.problem, error_class="unknown_profile")
    usable = {file.name: file.profile for file in files if file.profile is not None}
    return find_profile(name, {**usable, **own})


def _store_mergeable(agents: SubAgents, outcome: Outcome) -> Outcome:
    """Store an outcome whose patch can still be merged, and add a hint."""
    if not outcome.change.paths or outcome.merged:
        return outcome
    stored = agents.keep(outcome)
    if stored.change.obstacle:
        return stored
    note = f"{stored.note}\ntask_result with id {stored.id} and merge merges it."
    return evolve(stored, note=note)


def _result(outcomes: Sequence[Outcome], title: str) -> ToolResult:
    failures = [outcome for outcome in outcomes if outcome.error_class]
    changed = dict.fromkeys(path for outcome in outcomes for path in outcome.files_changed)
    return ToolResult(
        _outcome_texts(outcomes),
        title=title,
        data={"agents": [outcome.data() for outcome in outcomes]},
        metadata={
            "succeeded": len(outcomes) - len(failures),
            "failed": len(failures),
            "files_changed": list(changed),
        },
        is_error=len(failures) == len(outcomes),
        error_class=failures[0].error_class if len(failures) == len(outcomes) else "",
    )


def _outcome_texts(outcomes: Sequence[Outcome]) -> str:
    if len(outcomes) == 1:
        return outcomes[0].for_model
    return "\n\n".join(
        f"[{number}] {outcome.description}\n{outcome.for_model}"
        for number, outcome in enumerate(outcomes, 1)
    )


def _state(record: Record) -> str:
    if record.outcome is None:
        return "works"
    return f"failed ({record.outcome.error_class})" if record.outcome.error_class else "done"


def _too_many(assignment: Assignment) -> Outcome:
    problem = f"not run: at most {MAX_AGENTS} sub-agents work at once; send the rest afterwards"
    return Outcome(assignment.description, error_class="too_many_agents", problem=problem)
