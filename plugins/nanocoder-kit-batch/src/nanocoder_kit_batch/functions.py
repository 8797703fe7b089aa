"""Functions that a task defines instead of tools: calls are recorded, and nothing runs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder import (
    Effect,
    Plugins,
    Risk,
    Tool,
    ToolResult,
    UsageError,
    hookimpl,
)
from nanocoder_schema import SchemaSignature

PLUGIN: Final = "task-functions"
KEYS: Final = {"name": str, "description": str, "parameters": dict}
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
NOTED: Final = "done"


def check_functions(functions: Any) -> list[dict[str, Any]]:
    """Return the *functions* of a task, each with name, description and JSON Schema.

    Raises: UsageError that names the first which is wrong.
    """
    for number, function in enumerate(functions, 1):
        where = f"functions: number {number}"
        if not isinstance(function, dict) or function.keys() != KEYS.keys():
            raise UsageError(f"{where}: expected an object with {', '.join(KEYS)}")
        for key, expected in KEYS.items():
            if not isinstance(function[key], expected):
                raise UsageError(f"{where}: {key} is {expected.__name__}, please")
        if not NAME.fullmatch(function["name"]):
            raise UsageError(f"{where}: {function['name']!r:.80} cannot be the name of a function")
    names = [function["name"] for function in functions]
    if len(set(names)) < len(names):
        raise UsageError("functions: two have the same name")
    return list(functions)


def replace_tools(plugins: Plugins, functions: Sequence[Mapping[str, Any]]) -> None:
    """Offer *functions* and no tool of any plugin; policies stay."""
    for name, entry in list(plugins.entries.items()):
        if "nanocoder_tools" in entry.hooks and not entry.is_policy:
            plugins.remove(name, "is not used: the task has functions of its own")
    plugins.add(_Functions(functions), PLUGIN)


class _Functions:
    """The plugin that offers the functions of one task."""

    def __init__(self, functions: Sequence[Mapping[str, Any]]) -> None:
        self._functions = functions

    @hookimpl
    def nanocoder_tools(self) -> list[Tool[..., Any]]:
        """Offer the functions; a call has no effect, so it needs no approval."""
        return [_tool(function) for function in self._functions]


def _tool(function: Mapping[str, Any]) -> Tool[..., Any]:
    return Tool(
        name=function["name"],
        description=function["description"],
        handler=_record,
        # The task's check judges them.
        signature=SchemaSignature(function["parameters"]),
        risk=Risk.SAFE,
        effects=frozenset({Effect.READ}),
        always_listed=True,
        short=" ".join(function["description"].split()),
    )


def _record(arguments: Mapping[str, Any]) -> ToolResult:
    """Answer as a function that has worked; the session's events have the call."""
    del arguments
    return ToolResult(NOTED)
