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


def _in_our_names(_: Mapping[str, Any], result: ToolResult) -> str:
    names = {shape.tool: shape.name for shape in SHAPES}
    text = _GUESSES.sub(r"\1", result.output)
    return _HEADING.sub(lambda found: f"[{found[1]}] {names.get(found[2], found[2])}: ", text)


@shape("batch", "batch", render=_in_our_names, failed=_in_our_names)
def batch(
    tool_calls: Annotated[list[Call], Param("1 to 25 calls.", min_length=1)],
) -> Arguments:
    """Run independent calls of the other tools at the same time."""
    return {"tool_calls": [_translated(call) for call in tool_calls]}


def _translated(call: Call) -> dict[str, Any]:
    known = {shape.name: shape for shape in (*SHAPES, *TASK_AND_SKILL)}
    shape = known.get(call.tool)
    if shape is None:
        # A name that is no name: it must not reach a tool that the model was never told of.
        return {"tool": f"{call.tool} {_UNKNOWN}", "parameters": {}}
    try:
        parameters = shape.translated(ToolCall("", call.tool, call.parameters))
    except BadArguments:
        # One bad call stops no other; the tool itself says what is wrong with it.
        parameters = dict(call.parameters)
    return {"tool": shape.tool, "parameters": parameters}
