"""Tools made of tools: tried again, limited in time, replaced where they fail.

Each function returns a new tool with the name and the parameters of the one that it wraps.
"""

from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve, has

from nanocoder.errors import PluginError, ToolError
from nanocoder.tools.tool import Tool, ToolContext
from nanocoder.values import Effect, Risk, ToolResult

FINAL = frozenset(
    {"cancelled", "denied", "approval_needed", "invalid_arguments", "unknown_tool", "nested_call"}
)
"""Error classes that another try, or another tool, does not change."""


def with_retry(tool: Tool[..., Any], attempts: int = 3, *, wait_s: float = 0.0) -> Tool[..., Any]:
    """Try a call that fails again, up to *attempts* times, *wait_s* seconds apart.

    All tries together have the time of one call; an interruption ends the waiting. What a person, a
    policy or the arguments decided is not tried again.
    Raises: PluginError for a tool whose calls change something and are not idempotent.
    """
    if not (tool.is_read_only or Effect.IDEMPOTENT in tool.effects):
        raise PluginError(
            tool.plugin or tool.name,
            f"{tool.name} cannot be wrapped with a retry: its calls change something, and a second"
            " one could change it twice; declare Effect.IDEMPOTENT if that does no harm",
        )

    def retried(ctx: ToolContext, **arguments: Any) -> ToolResult:
        for attempt in range(1, attempts):
            result = _tried(tool, ctx, arguments)
            if result is not None:
                return result
            ctx.progress(f"attempt {attempt} of {attempts} failed")
            ctx.cancelled.wait(wait_s)
            ctx.cancelled.check()
        return tool.invoke(ctx, arguments)

    return evolve(tool, handler=retried)


def with_timeout(tool: Tool[..., Any], timeout_s: float) -> Tool[..., Any]:
    """End a call after *timeout_s* seconds (0: no limit), whatever limit the tool has itself."""
    return evolve(tool, timeout_s=timeout_s)


def with_fallback(tool: Tool[..., Any], other: Tool[..., Any]) -> Tool[..., Any]:
    """Call *other* with the same arguments where a call of *tool* fails.

    The new tool has the effects of both and the higher risk, so that whoever consents to one
    consents to either. What a person, a policy or the arguments decided stays.
    Raises: PluginError when *other* does not take what *tool* takes.
    """
    own = set(tool.parameters.get("properties", ()))
    missing = sorted(own - set(other.parameters.get("properties", ())))
    if missing:
        raise PluginError(
            tool.plugin or tool.name,
            f"{other.name} cannot stand in for {tool.name}: it does not take {', '.join(missing)}",
        )

    def replaced(ctx: ToolContext, **arguments: Any) -> ToolResult:
        result = _tried(tool, ctx, arguments)
        if result is not None:
            return result
        ctx.cancelled.check()
        ctx.progress(f"{tool.name} failed; {other.name} takes over")
        return other.invoke(ctx, other.signature.check(as_sent(arguments)))

    return evolve(
        tool,
        handler=replaced,
        risk=max(tool.risk, other.risk, key=list(Risk).index),
        effects=_together(tool.effects, other.effects),
        composed_of=tuple(dict.fromkeys((*tool.composed_of, *other.composed_of))),
        single_confirmation=tool.single_confirmation and other.single_confirmation,
        commands=tuple(dict.fromkeys((*tool.commands, *other.commands))),
    )


def as_sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked arguments as a model would have sent them: as JSON, what is None left out."""
    return {name: _plain(value) for name, value in arguments.items() if value is not None}


def _plain(value: Any) -> Any:
    if has(type(value)):
        return as_sent(asdict(value, recurse=False))
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _tried(
    tool: Tool[..., Any], ctx: ToolContext, arguments: Mapping[str, Any]
) -> ToolResult | None:
    """Return the result of a call; None where it failed and that need not be the last word."""
    try:
        result = tool.invoke(ctx, arguments)
    except ToolError as error:
        if error.error_class in FINAL:
            raise
        return None
    return None if result.is_error and result.error_class not in FINAL else result


def _together(some: frozenset[Effect], others: frozenset[Effect]) -> frozenset[Effect]:
    """Return what either does; of what describes it, only what is true of both."""
    described = {Effect.IDEMPOTENT, Effect.REVERSIBLE}
    return ((some | others) - described) | (some & others & described)
