"""Return of the changes of a worktree: merged by the session's own tool, or as a patch."""

from attrs import evolve
from nanocoder import ToolContext

from nanocoder_tool_task.agent import Outcome

APPLY = "apply_patch"
MAX_LINES = 50


def bring_back(ctx: ToolContext, outcome: Outcome, *, merge: bool) -> Outcome:
    """Return *outcome* with its patch stored, or merged into the session's files if *merge*.

    The merge is a call of `apply_patch` like any other: it is judged and approved, fails if the
    files have changed, and is all or nothing.
    """
    change = outcome.change
    if not change.paths:
        return outcome
    if not outcome.patch:
        patch_path = ctx.artifact(
            f"{ctx.message_id}-{outcome.session or 'agent'}.patch", change.patch
        )
        outcome = evolve(outcome, patch=patch_path)
    if not merge:
        return evolve(outcome, note=_note(outcome, "Its changes are kept as a patch"))
    problem = change.obstacle
    if not problem:
        result = ctx.call(APPLY, {"patch": change.text})
        problem = result.output if result.is_error else ""
    if problem:
        return evolve(outcome, note=_note(outcome, f"Its changes were not merged ({problem})"))
    return evolve(
        outcome,
        merged=True,
        files_changed=change.paths,
        note=_note(outcome, "Its changes were merged"),
    )


def _note(outcome: Outcome, fact: str) -> str:
    lines = outcome.change.lines
    more = [f"and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
    patch_line = [f"The patch: {outcome.patch}"] if outcome.patch else []
    count = "1 file" if len(lines) == 1 else f"{len(lines)} files"
    return "\n".join([f"{fact}: {count}", *lines[:MAX_LINES], *more, *patch_line])
