"""What the calls of task and task_result do."""

from collections.abc import Sequence

from attrs import evolve
from nanocoder import NanocoderError, ToolContext, ToolResult

from nanocoder_tool_task.agent import Agent, Job, Outcome, failed
from nanocoder_tool_task.crew import MAX_AGENTS, Assignment, Crew, Known, run_together, waited
from nanocoder_tool_task.landing import landed
from nanocoder_tool_task.profiles import profile_of

CANCEL_WAIT_S = 5.0
"""How long a sub-agent that was stopped may take until it has ended."""


def worked(
    ctx: ToolContext, wanted: Sequence[Assignment], name: str, *, isolated: bool, merge: bool
) -> ToolResult:
    """Let sub-agents work and return what came of them.

    Raises: ToolError (unknown_profile), Cancelled.
    """
    ctx.cancelled.check()
    jobs = _jobs(ctx, wanted[:MAX_AGENTS], name, isolated=isolated, background=False)
    outcomes = run_together(ctx, jobs)
    ctx.cancelled.check()
    crew: Crew = ctx.resource("crew")
    outcomes = [_kept(crew, landed(ctx, one, merge=merge)) for one in outcomes]
    outcomes += [_surplus(one) for one in wanted[MAX_AGENTS:]]
    return _result(outcomes, f"Task: {wanted[0].description}", crew)


def started(
    ctx: ToolContext, wanted: Sequence[Assignment], name: str, *, isolated: bool
) -> ToolResult:
    """Start sub-agents in the background and return their ids.

    Raises: ToolError (unknown_profile), Cancelled.
    """
    ctx.cancelled.check()
    crew: Crew = ctx.resource("crew")
    known: list[Known] = []
    failures = [_surplus(one) for one in wanted[MAX_AGENTS:]]
    for job in _jobs(ctx, wanted[:MAX_AGENTS], name, isolated=isolated, background=True):
        try:
            known.append(crew.start(Agent(ctx, job)))
        except NanocoderError as error:
            failures.append(failed(job.description, error))
    lines = [f"{one.id}: {one.description} (started)" for one in known]
    lines += [f"{one.description}: {one.told}" for one in failures]
    if known:
        lines.append("Read its result with task_result.")
    return ToolResult(
        "\n".join([*lines, *_news(crew)]),
        title=f"Task in the background: {wanted[0].description}",
        data={"started": [one.id for one in known], "agents": [one.data() for one in failures]},
        metadata={"succeeded": len(known), "failed": len(failures)},
        is_error=not known,
        error_class="" if known else failures[0].error_class,
    )


def listed(ctx: ToolContext) -> ToolResult:
    """List the sub-agents of the session that can be asked for."""
    crew: Crew = ctx.resource("crew")
    rows = [(one.id, _state(one), one.description) for one in crew.all()]
    return ToolResult(
        "\n".join(f"{name} {state}: {said}" for name, state, said in rows) or "There is none.",
        title="Sub-agents",
        data={"agents": [dict(zip(("id", "state", "description"), r, strict=True)) for r in rows]},
    )


def read(
    ctx: ToolContext, agent_id: str, *, wait_s: float, cancel: bool, merge: bool
) -> ToolResult:
    """Return what came of a sub-agent, as far as it has ended.

    Raises: ToolError (unknown_agent), Cancelled.
    """
    crew: Crew = ctx.resource("crew")
    known = crew.find(agent_id)
    if cancel:
        known.stop()
    if not waited(known, CANCEL_WAIT_S if cancel else wait_s, ctx.cancelled):
        return ToolResult(
            "\n".join([f"{agent_id} still works: {known.description}", *_news(crew)]),
            title=f"{agent_id} still works",
            data={"agents": [{"id": agent_id, "state": "working"}]},
        )
    known.is_told = True
    outcome = known.outcome or Outcome(known.description, error_class="cancelled")
    if not outcome.merged:
        known.outcome = outcome = landed(ctx, outcome, merge=merge)
    return _result([outcome], f"Task: {known.description}", crew)


def _jobs(
    ctx: ToolContext,
    wanted: Sequence[Assignment],
    name: str,
    *,
    isolated: bool,
    background: bool,
) -> list[Job]:
    profile = profile_of(name, ctx.settings.profiles)
    return [Job(one.description, one.prompt, name, profile, isolated, background) for one in wanted]


def _kept(crew: Crew, outcome: Outcome) -> Outcome:
    """Keep an outcome whose patch can still be merged, and say so."""
    if not outcome.change.paths or outcome.merged:
        return outcome
    kept = crew.keep(outcome)
    if kept.change.obstacle:
        return kept
    said = f"{kept.note}\ntask_result with id {kept.id} and merge merges it."
    return evolve(kept, note=said)


def _result(outcomes: Sequence[Outcome], title: str, crew: Crew) -> ToolResult:
    bad = [one for one in outcomes if one.error_class]
    changed = dict.fromkeys(path for one in outcomes for path in one.files_changed)
    return ToolResult(
        "\n\n".join([_told(outcomes), *_news(crew)]),
        title=title,
        data={"agents": [one.data() for one in outcomes]},
        metadata={
            "succeeded": len(outcomes) - len(bad),
            "failed": len(bad),
            "files_changed": list(changed),
        },
        is_error=len(bad) == len(outcomes),
        error_class=bad[0].error_class if len(bad) == len(outcomes) else "",
    )


def _told(outcomes: Sequence[Outcome]) -> str:
    if len(outcomes) == 1:
        return outcomes[0].told
    return "\n\n".join(
        f"[{number}] {one.description}\n{one.told}" for number, one in enumerate(outcomes, 1)
    )


def _news(crew: Crew) -> list[str]:
    return [f"[{one.id} has finished: {one.description}; see task_result]" for one in crew.news()]


def _state(known: Known) -> str:
    if known.outcome is None:
        return "works"
    return f"failed ({known.outcome.error_class})" if known.outcome.error_class else "done"


def _surplus(assignment: Assignment) -> Outcome:
    problem = f"not run: at most {MAX_AGENTS} sub-agents work at once; send the rest afterwards"
    return Outcome(assignment.description, error_class="too_many_agents", problem=problem)
