"""batch: calls of the dialect inside a call of the dialect."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from attrs import field, frozen
from nanocoder import BadArguments, Param, ToolCall, ToolResult
from nanocoder_kit_dialect import Arguments, shape

from nanocoder_dialect_nano.shapes import SHAPES, TASK_AND_SKILL

_HEADING = re.compile(r"^\[(\d+)\] (\w+): ", re.MULTILINE)
_UNKNOWN = "(unknown)"
_GUESSES = re.compile(rf"^(Unknown tool: \S+) {re.escape(_UNKNOWN)}.*", re.MULTILINE)


@frozen
class Call:
    """One call."""

    tool: Annotated[str, "Its name."]
    parameters: Annotated[dict[str, Any], "Its arguments."] = field(factory=dict)


def _rename_tools(_: Mapping[str, Any], result: ToolResult) -> str:
    names = {shape.tool: shape.name for shape in SHAPES}
    text = _GUESSES.sub(r"\1", result.output)
    return _HEADING.sub(lambda match: f"[{match[1]}] {names.get(match[2], match[2])}: ", text)


@shape("batch", "batch", render=_rename_tools, render_failure=_rename_tools)
def batch(
    tool_calls: Annotated[list[Call], Param("1 to 25 calls.", min_length=1)],
) -> Arguments:
    """Run independent calls of the other tools at the same time."""
    return {"tool_calls": [_translate(call) for call in tool_calls]}


def _translate(call: Call) -> dict[str, Any]:
    shapes = {shape.name: shape for shape in (*SHAPES, *TASK_AND_SKILL)}
    shape = shapes.get(call.tool)
    if shape is None:
        # This is no valid name on purpose: the call must not reach a tool that was not offered.
        return {"tool": f"{call.tool} {_UNKNOWN}", "parameters": {}}
    try:
        parameters = shape.translate(ToolCall("", call.tool, call.parameters))
    except BadArguments:
        # A bad call stops no other; the tool itself reports the problem.
        parameters = dict(call.parameters)
    return {"tool": shape.tool, "parameters": parameters}
