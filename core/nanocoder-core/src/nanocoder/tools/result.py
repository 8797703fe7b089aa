"""What a handler returned, as a result: checked before anybody works with it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve
from nanocoder_schema import canonical_json, json_problem

from nanocoder.values import Attachment, ToolResult

RESULT_FIELDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("output", "title", "error_class", "artifact"), str),
    "metadata": Mapping,
    "attachments": Sequence,
    "is_error": bool,
}
"""What the fields of a result must be, whoever made it."""


def as_result(value: Any, name: str) -> ToolResult:
    """Make a ToolResult of what a handler returned: itself, text, or a JSON-ready value.

    Raises: TypeError for a result with a field that nobody could work with.
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
    """Raise TypeError, naming the field, for a result whose fields are not what they should be.

    The journal keeps data and metadata as JSON; a record that it cannot write is a call that never
    ended for whoever reads it later.
    """
    for name, expected in RESULT_FIELDS.items():
        value = getattr(result, name)
        if not isinstance(value, expected):
            raise TypeError(f"ToolResult.{name} is {type(value).__name__}, not {expected.__name__}")
    for attachment in result.attachments:
        if not isinstance(attachment, Attachment):
            raise TypeError(
                f"ToolResult.attachments holds {type(attachment).__name__}, not Attachment"
            )
    for name, value in (("data", result.data), ("metadata", dict(result.metadata))):
        if problem := json_problem(value):
            raise TypeError(f"ToolResult.{name} cannot be JSON: {problem}")
