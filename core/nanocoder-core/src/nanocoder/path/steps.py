"""Which tools a composed tool may call: those that it declares, with the effects it declares."""

from collections.abc import Mapping
from typing import Any

from nanocoder.errors import ToolError
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import Effect

OUTWARD = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})
"""Effects that somebody else may notice."""


def refuse_step(tool: Tool[..., Any], name: str, offered: Mapping[str, Tool[..., Any]]) -> None:
    """Raise ToolError unless *tool* declares that it calls the tool *name*, and what that can do.

    Whoever consented to *tool*, or found it harmless, went by the effects that it declares.
    """
    if name in tool.composed_of:
        _refuse_undeclared(tool, offered.get(name))
        return
    if ANY_TOOL not in tool.composed_of:
        have = ", ".join(tool.composed_of) or "none"
        raise ToolError(f"{tool.name} may not call {name!r}; it declares: {have}")
    other = offered.get(name)
    if other is not None and ANY_TOOL in other.composed_of:
        raise ToolError(
            f"{tool.name} may not call {name!r}, which calls other tools itself; call it directly",
            error_class="nested_call",
        )


def _refuse_undeclared(tool: Tool[..., Any], step: Tool[..., Any] | None) -> None:
    beyond = (step.effects - tool.effects) & OUTWARD if step is not None else frozenset()
    if step is not None and beyond:
        raise ToolError(
            f"{tool.name} may not call {step.name!r}: it does not declare that it can"
            f" {' and '.join(sorted(beyond))}",
            error_class="undeclared_effect",
        )
