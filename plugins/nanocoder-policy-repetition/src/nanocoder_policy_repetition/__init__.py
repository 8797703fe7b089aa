"""Advises a model that repeats the same calls, and finally ends the run."""

from collections.abc import Callable
from typing import Any, Final

from attrs import evolve
from nanocoder import (
    Request,
    Resource,
    StopReason,
    StopRun,
    Tool,
    ToolCall,
    ToolResult,
    hookimpl,
)

from nanocoder_policy_repetition.guard import ADVISED, Guard

GUARD: Final = "guard"
ALREADY_DONE: Final = "You just made this exact call; its result is above. Do something else now."
ADVICE: Final = (
    "[this call came to the same result {count} times in a row: do something else, or answer;"
    " to wait for something, let one command wait for it]"
)


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the record of a session's calls."""
    return [Resource(GUARD, lambda session, _: Guard(is_small=session.profile == "small"))]


@hookimpl
def nanocoder_before_request(request: Request, resource: Callable[[str], Guard]) -> None:
    """End the run if the calls of the latest turn show that the model makes no progress.

    The counts restart with each message of the user.
    """
    guard = resource(GUARD)
    *_, before, latest = (None, *request.messages)
    if before is None or latest.role != "tool":
        guard.reset()
    elif problem := guard.check_turn(before.calls, latest.results):
        raise StopRun("policy-repetition", f"stopped: {problem}", StopReason.LOOP)


@hookimpl
def nanocoder_after_execute(
    result: ToolResult, call: ToolCall, tool: Tool[..., Any], resource: Callable[[str], Guard]
) -> ToolResult | None:
    """Add advice if a call and its result equal those of the turns right before."""
    count = 1 if call.parent_id else resource(GUARD).note(call, tool, result.output)
    if count > 1 and tool.is_read_only and not result.is_error:
        return ToolResult(ALREADY_DONE, title=call.name, metadata={"repeated": True})
    if count < ADVISED:
        return None
    return evolve(result, output=f"{result.output}\n{ADVICE.format(count=count)}".lstrip("\n"))
