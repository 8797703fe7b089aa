"""Make a checked result of what a handler returned."""

from typing import Any

from attrs import evolve
from nanocoder_schema import canonical_json, json_problem

from nanocoder.values import Attachment, ToolResult, wrong_field


def as_result(value: Any, name: str) -> ToolResult:
    """Make a ToolResult of what a handler returned: itself, text, or a JSON-ready value.

    Raises: TypeError for a result with a field of another type than declared.
    """
    if isinstance(value, ToolResult):
        refuse_unsound(value)
        return value if value.title else evolve(value, title=name)
    if isinstance(value, str):
        return ToolResult(value, title=name)
    if problem := json_problem(value):
        raise TypeError(f"what it returned cannot be JSON: {problem}")
    return ToolResult("" if value is None else canonical_json(value), title=name, data=value)


def refuse_unsound(result: ToolResult) -> None:
    """Raise TypeError, naming the field, for a result whose fields are not of their types.

    The journal keeps data and metadata as JSON; without a record of its end a call seems to run on.
    """
    if problem := wrong_field(result):
        raise TypeError(problem)
    for item in result.attachments:
        if not isinstance(item, Attachment):
            raise TypeError(f"ToolResult.attachments holds {type(item).__name__}, not Attachment")
    for name, value in (("data", result.data), ("metadata", dict(result.metadata))):
        if problem := json_problem(value):
            raise TypeError(f"ToolResult.{name} cannot be JSON: {problem}")
