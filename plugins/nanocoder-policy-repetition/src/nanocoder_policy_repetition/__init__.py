"""Ends a run in which the model makes the same calls with the same results again and again."""

from collections.abc import Callable
from typing import Any, Final

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

from nanocoder_policy_repetition.guard import Guard

GUARD: Final = "guard"
ALREADY_DONE: Final = "You just made this exact call; its result is above. Do something else now."


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer what is remembered of a session's calls."""
    return [Resource(GUARD, lambda _session, _settings: Guard())]


@hookimpl
def nanocoder_before_request(request: Request, resource: Callable[[str], Guard]) -> None:
    """End the run if the calls of the latest turn show that the model makes no progress.

    The counts begin anew with each message of the person.
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
    """Say so if a reading call and its result are those of the call right before."""
    if call.parent_id or not resource(GUARD).note(call, tool, result.output):
        return None
    return ToolResult(ALREADY_DONE, title=call.name, metadata={"repeated": True})
