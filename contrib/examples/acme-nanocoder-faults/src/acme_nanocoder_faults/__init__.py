"""Faults on purpose: late results, errors, garbage and a call that hangs, to see who copes."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

from attrs import evolve, field, frozen
from nanocoder import Effect, Param, Tool, ToolCall, ToolContext, ToolResult, hookimpl, tool

KINDS = ("latency", "error", "garbage")
GARBAGE = '\x1b[2J\x00{"unfinished": [\ufffd' + "\udcff" * 8
"""A terminal's command, a null, JSON that ends early, and halves of characters."""
MAX_LATENCY_S = 60.0
MAX_HANG_S = 3_600.0


def _known_faults(_: object, __: object, faults: Mapping[str, str]) -> None:
    for name, kind in faults.items():
        if kind not in KINDS:
            raise ValueError(f"{name}: there is no fault {kind!r}; there are: {', '.join(KINDS)}")


def _bearable(_: object, __: object, seconds: float) -> None:
    if not 0 <= seconds <= MAX_LATENCY_S:
        raise ValueError(f"latency_s: {seconds} is not between 0 and {MAX_LATENCY_S:g}")


@frozen
class Settings:
    """The table [plugins.acme-faults].

    *faults*: by the tool's name, one of latency, error, garbage. *latency_s*: how late a result is,
    in seconds.
    """

    faults: Mapping[str, str] = field(factory=dict, validator=_known_faults)
    latency_s: float = field(default=1.0, validator=_bearable)


@tool(
    risk="safe",
    effects={Effect.READ},
    examples=[{"seconds": 0.01}],
    short="Hang, for tests.",
)
def hang(
    ctx: ToolContext,
    seconds: Annotated[float, Param("For how long.", ge=0, le=MAX_HANG_S)] = MAX_HANG_S,
) -> str:
    """Do nothing until cancelled; for tests."""
    ctx.cancelled.wait(seconds)
    ctx.cancelled.check()
    return f"hung for {seconds:g} s"


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.acme-faults]."""
    return Settings


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer hang."""
    return [hang]


@hookimpl
def nanocoder_after_execute(
    result: ToolResult, call: ToolCall, settings: Settings
) -> ToolResult | None:
    """Spoil the result of a tool that is to be broken."""
    kind = settings.faults.get(call.name)
    if kind == "latency":
        time.sleep(settings.latency_s)
    if kind == "error":
        return evolve(
            result, output="a fault, on purpose", is_error=True, error_class="injected_fault"
        )
    return evolve(result, output=GARBAGE) if kind == "garbage" else None
