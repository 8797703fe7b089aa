"""Limits for the number of calls of each risk, for the failures of a tool, and for calls at once.

This policy can only deny, and lower how many calls work at once while they slow each other down.
"""

import math
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from attrs import field, frozen
from nanocoder import CallLimit, Decision, Event, SessionInfo, Tool, ToolCall, Verdict, hookimpl

from nanocoder_policy_limits.adaptive import Limiter
from nanocoder_policy_limits.breakers import Breakers
from nanocoder_policy_limits.buckets import Buckets

Limiters = WeakKeyDictionary[CallLimit, Limiter]

FAULTS = (
    "broken_answer",
    "io_error",
    "rate_limited",
    "sandbox_unavailable",
    "spawn_failed",
    "timeout",
    "tool_broken",
    "withheld",
)
"""Error classes that show a problem of the tool, not of its arguments."""


def _not_negative(_: object, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError(f"{attribute.name}: {value} is not a number of at least 0")


def _burst(risk: str, default: int) -> Any:
    description = f"How many {risk} calls may follow each other at once; 0: no limit."
    metadata = {"description": description, "tighten": "min", "unlimited": 0}
    return field(default=default, validator=_not_negative, metadata=metadata)


def _per_s(risk: str, default: float) -> Any:
    description = f"How many more {risk} calls may come with each second; 0: none in this session."
    metadata = {"description": description, "tighten": "min"}
    return field(default=default, validator=_not_negative, metadata=metadata)


@frozen
class Settings:
    """The table [plugins.policy-limits]. A project's file may lower each number but the cool-down.

    *buckets*, *breakers* and *limiters* are no settings but state that lives as long as these.
    """

    safe_burst: int = _burst("safe", 200)
    safe_per_s: float = _per_s("safe", 50.0)
    medium_burst: int = _burst("medium", 100)
    medium_per_s: float = _per_s("medium", 20.0)
    dangerous_burst: int = _burst("dangerous", 50)
    dangerous_per_s: float = _per_s("dangerous", 5.0)
    destructive_burst: int = _burst("destructive", 20)
    destructive_per_s: float = _per_s("destructive", 1.0)
    breaker_failures: int = field(
        default=5,
        validator=_not_negative,
        metadata={
            "description": "How many failures in a row pause a tool; 0: never.",
            "tighten": "min",
            "unlimited": 0,
        },
    )
    breaker_cooldown_s: float = field(
        default=30.0,
        validator=_not_negative,
        metadata={"description": "How long it is paused, in seconds, before one trial."},
    )
    breaker_faults: tuple[str, ...] = field(
        default=FAULTS,
        metadata={
            "description": "The error classes that count as the tool's failure.",
            "tighten": "union",
        },
    )
    breakers: Breakers = field(factory=Breakers, init=False, repr=False, eq=False)
    buckets: Buckets = field(factory=Buckets, init=False, repr=False, eq=False)
    limiters: Limiters = field(factory=WeakKeyDictionary, init=False, repr=False, eq=False)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-limits]."""
    return Settings


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings
) -> Verdict | None:
    """Deny a call whose tool fails repeatedly, or that exceeds the rate limit of its risk."""
    return _deny_failing(call, tool, session, settings) or _deny_too_soon(
        call, tool, session, settings
    )


@hookimpl(events=["call.started", "call.returned"])
def nanocoder_event(event: Event, session: SessionInfo, settings: Settings) -> None:
    """Learn how each call ended."""
    if event.kind == "call.started" and any(map(_is_limit, event.data["arguments"])):
        settings.breakers.remember_own_limit((session.id, event.call_id))
    elif event.kind == "call.returned":
        own_limit = settings.breakers.forget_own_limit((session.id, event.call_id))
        limit = session.call_limit
        limiter = settings.limiters.setdefault(limit, Limiter(limit.most))
        limiter.take(event, own_limit=own_limit)
        limit.lower_to(limiter.limit)
        if settings.breaker_failures:
            _learn(event, session, settings, own_limit=own_limit)


def _learn(event: Event, session: SessionInfo, settings: Settings, *, own_limit: bool) -> None:
    key, threshold = (session.id, event.data["tool"]), settings.breaker_failures
    error_class = event.data["error_class"]
    if own_limit and _is_own_timeout(event):
        settings.breakers.forget_trial(key, event.call_id)
    elif error_class in settings.breaker_faults:
        settings.breakers.record_failure(key, event.call_id, threshold, error_class)
    elif event.data["ran_ms"] and error_class != "cancelled":
        settings.breakers.record_success(key, event.call_id, threshold)
    else:
        settings.breakers.forget_trial(key, event.call_id)


def _is_limit(argument: str) -> bool:
    """Return True if an argument is a time limit: `timeout`, or `timeout_s` and the like."""
    return argument == "timeout" or argument.startswith("timeout_")


def _is_own_timeout(event: Event) -> bool:
    """Return True if the tool itself reported a timeout, not a limit of the call or the session."""
    data = event.data["data"]
    is_ended = isinstance(data, Mapping) and "limit_s" in data
    return event.data["error_class"] == "timeout" and not is_ended


def _deny_failing(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings
) -> Verdict | None:
    failures = settings.breaker_failures
    if not failures:
        return None
    wait_s, error_class = settings.breakers.seconds_to_wait(
        (session.id, tool.name), call.id, failures, settings.breaker_cooldown_s
    )
    if not wait_s:
        return None
    return Verdict(
        Decision.DENY,
        f"{tool.name} keeps failing ({error_class}): {_advice(wait_s)}, or use another tool",
        rule=f"{failures} failures in a row, then {settings.breaker_cooldown_s:g} s",
        source="plugins.policy-limits.breaker_failures",
    )


def _deny_too_soon(
    call: ToolCall, tool: "Tool[..., object]", session: SessionInfo, settings: Settings
) -> Verdict | None:
    burst = getattr(settings, f"{tool.risk}_burst")
    if not burst or call.edited:
        return None  # an edited call was counted before the person saw it
    per_s = getattr(settings, f"{tool.risk}_per_s")
    # Sub-agents share the bucket of their session, or eight of them could do eight times as much.
    owner = session.parent or session.id
    wait_s = settings.buckets.wait_s((owner, tool.risk), burst, per_s)
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
