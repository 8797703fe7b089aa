"""How many calls of each risk may follow each other: a policy that only ever denies."""

import math
from typing import Any

from attrs import field, frozen
from nanocoder import Decision, SessionInfo, Tool, ToolCall, Verdict, hookimpl

from nanocoder_policy_limits.buckets import Buckets


def _not_negative(_: object, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{attribute.name}: {value} is no number from 0 on")


def _burst(risk: str, default: int) -> Any:
    said = f"How many {risk} calls may follow each other at once; 0: no limit."
    metadata = {"description": said, "tighten": "min", "unlimited": 0}
    return field(default=default, validator=_not_negative, metadata=metadata)


def _per_s(risk: str, default: float) -> Any:
    said = f"How many more {risk} calls may come with each second; 0: none in this session."
    metadata = {"description": said, "tighten": "min"}
    return field(default=default, validator=_not_negative, metadata=metadata)


@frozen
class Settings:
    """The table [plugins.policy-limits]. A project's file may lower each number.

    *buckets* is no setting: what is left of them lives as long as the settings do.
    """

    safe_burst: int = _burst("safe", 200)
    safe_per_s: float = _per_s("safe", 50.0)
    medium_burst: int = _burst("medium", 100)
    medium_per_s: float = _per_s("medium", 20.0)
    dangerous_burst: int = _burst("dangerous", 50)
    dangerous_per_s: float = _per_s("dangerous", 5.0)
    destructive_burst: int = _burst("destructive", 20)
    destructive_per_s: float = _per_s("destructive", 1.0)
    buckets: Buckets = field(factory=Buckets, init=False, repr=False, eq=False)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-limits]."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings
) -> Verdict | None:
    """Deny a call that comes too soon after too many others of its risk in its session."""
    burst = getattr(settings, f"{tool.risk}_burst")
    if not burst or call.edited:
        return None  # what a person edited was counted before it reached them
    per_s = getattr(settings, f"{tool.risk}_per_s")
    wait_s = settings.buckets.wait_s((session.id, tool.risk), burst, per_s)
    if not wait_s:
        return None
    return Verdict(
        Decision.DENY,
        f"too many {tool.risk} calls: {_advice(wait_s)}",
        rule=f"{burst} at once, then {per_s:g} per second",
        source=f"plugins.policy-limits.{tool.risk}_burst",
    )


def _advice(wait_s: float) -> str:
    if math.isinf(wait_s):
        return "this session may make no more of them"
    return f"wait {math.ceil(wait_s * 10) / 10:g} s"
