"""Wrappers of tools: retry, time limit, fallback.

Each function returns a new tool with the name and the parameters of the one that it wraps.
"""

from collections.abc import Mapping
from typing import Any

from attrs import asdict, evolve, has
from nanocoder import Effect, PluginError, Risk, Tool, ToolContext, ToolError, ToolResult

FINAL = frozenset(
    {"cancelled", "denied", "approval_needed", "invalid_arguments", "unknown_tool", "nested_call"}
)
"""Error classes that another attempt, or another tool, does not change."""


def with_retry(
    tool: Tool[..., Any], attempts: int = 3, *, wait_s: float = 0.0, repeatable: bool = False
) -> Tool[..., Any]:
    """Return *tool* with retries of failed calls: up to *attempts*, *wait_s* seconds apart.

    All attempts together have the timeout of one call; an interruption ends the wait. A denial or
    invalid arguments are not retried. *repeatable* declares that a second call does no harm.
    Raises: PluginError for a tool with side effects that is neither idempotent nor *repeatable*.
    """
    if not (repeatable or tool.is_read_only or Effect.IDEMPOTENT in tool.effects):
        raise PluginError(
            tool.plugin or tool.name,
            f"{tool.name} cannot be wrapped with a retry: its calls change something, and a second"
            " one could change it twice; name it in `repeatable` if that does no harm",
        )

    def retried(ctx: ToolContext, **arguments: Any) -> ToolResult:
        for attempt in range(1, attempts):
            result = _attempt(tool, ctx, arguments)
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
    """Return a tool that calls *other* with the same arguments if a call of *tool* fails.

    The new tool has the effects of both and the higher risk, so that approving one approves either.
    A denial or invalid arguments do not trigger the fallback.
    Raises: PluginError if *other* does not accept the arguments of *tool*.
    """
    parameters = set(tool.parameters.get("properties", ()))
    missing = sorted(parameters - set(other.parameters.get("properties", ())))
    if missing:
        raise PluginError(
            tool.plugin or tool.name,
            f"{other.name} cannot stand in for {tool.name}: it does not take {', '.join(missing)}",
        )

    def replaced(ctx: ToolContext, **arguments: Any) -> ToolResult:
        result = _attempt(tool, ctx, arguments)
        if result is not None:
            return result
        ctx.cancelled.check()
        ctx.progress(f"{tool.name} failed; {other.name} takes over")
        return other.invoke(ctx, other.signature.check(as_json(arguments)))

    return evolve(
        tool,
        handler=replaced,
        risk=max(tool.risk, other.risk, key=list(Risk).index),
        effects=_combine(tool.effects, other.effects),
        composed_of=tuple(dict.fromkeys((*tool.composed_of, *other.composed_of))),
        single_confirmation=tool.single_confirmation and other.single_confirmation,
        commands=tuple(dict.fromkeys((*tool.commands, *other.commands))),
    )


def call_as_step(other: Tool[..., Any]) -> Tool[..., Any]:
    """Return *other* as a step of the call that it replaces: judged, with its own settings."""

    def step(ctx: ToolContext, **arguments: Any) -> ToolResult:
        return ctx.call(other.name, as_json(arguments))

    return evolve(other, handler=step, composed_of=(other.name,), load=None)


def as_json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked arguments as a model would have sent them, without None values."""
    return {name: _plain(value) for name, value in arguments.items() if value is not None}


def _plain(value: Any) -> Any:
    if has(type(value)):
        return as_json(asdict(value, recurse=False))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _attempt(
    tool: Tool[..., Any], ctx: ToolContext, arguments: Mapping[str, Any]
) -> ToolResult | None:
    """Return the result of a call, or None for a failure that a retry may avoid."""
    try:
        result = tool.invoke(ctx, arguments)
    except ToolError as error:
        if error.error_class in FINAL:
            raise
        return None
    return None if result.is_error and result.error_class not in FINAL else result


def _combine(effects: frozenset[Effect], others: frozenset[Effect]) -> frozenset[Effect]:
    """Return the union of effects, but only common descriptions (idempotent, reversible)."""
    descriptions = {Effect.IDEMPOTENT, Effect.REVERSIBLE}
    return ((effects | others) - descriptions) | (effects & others & descriptions)
