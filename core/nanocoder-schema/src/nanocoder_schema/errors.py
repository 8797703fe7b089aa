"""The root of the exceptions of the family; `nanocoder.errors` draws the whole tree."""

from collections.abc import Mapping, Sequence
from typing import Any


class NanocoderError(Exception):
    """The root of the tree; never raised itself."""

    error_class: str = "failed"


class ToolError(NanocoderError):
    """A tool could not do what was asked; the message is what the model reads.

    Plugins raise this with an *error_class* of their own when none below fits; *data* is structured
    detail.
    """

    error_class = "tool_failed"

    def __init__(
        self, message: str, *, error_class: str = "", data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        if error_class:
            self.error_class = error_class
        self.data: dict[str, Any] = dict(data or {})


class BadArguments(ToolError):
    """The arguments do not fit the schema; *problems* has a line for each fault."""

    error_class = "invalid_arguments"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems), data={"problems": list(problems)})
        self.problems = tuple(problems)
