"""Reads a call that names a tool or a parameter as other agents do, or gives another type."""

from collections.abc import Mapping
from typing import Any

from nanocoder import Effect, SessionInfo, Tool, ToolCall, Understood, hookimpl

from nanocoder_call_meaning.copies import in_the_copy
from nanocoder_call_meaning.meaning import find_tool, read_arguments


@hookimpl
def nanocoder_understand(
    call: ToolCall, tools: Mapping[str, Tool[..., Any]], session: SessionInfo
) -> Understood | None:
    """Return the call repaired for its tool, if it has only one possible meaning."""
    name = call.name if call.name in tools else find_tool(call.name, tools)
    if not name:
        return None
    tool = tools[name].real()
    commands = ("command", *tool.commands) if Effect.EXECUTE in tool.effects else ()
    check = tool.signature.check
    fitting, remarks = read_arguments(call.arguments, tool.parameters, check, commands)
    arguments, moved = in_the_copy(fitting, session)
    if name == call.name and arguments == call.arguments:
        return None
    renamed = [f"{call.name} as {name}"] if name != call.name else []
    return Understood(name, arguments, (*renamed, *remarks, *moved))
