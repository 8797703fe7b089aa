"""The request of edit_file: one edit of a file, or several that are made together."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from attrs import frozen
from nanocoder import BadArguments, Param, ToolError

MAX_EDITS = 100


@frozen
class Edit:
    """One replacement, of a text or of lines."""

    new_string: Annotated[str, "New text."]
    old_string: Annotated[str, "Exact text; or lines:"] = ""
    start_line: Annotated[int, Param("First, from 1.", ge=0)] = 0
    end_line: Annotated[int, Param("Last.", ge=0)] = 0
    replace_all: Annotated[bool, "Everywhere."] = False


@frozen
class Request:
    """Checked arguments: *edits* of the file *path*, one after the other."""

    path: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "Request":
        """Read the checked arguments of the tool.

        Raises: BadArguments, ToolError (invalid_arguments).
        """
        names = [name for name in ("old_string", "new_string") if arguments[name] is not None]
        if arguments["edits"] and (any(map(arguments.get, names)) or arguments["replace_all"]):
            raise invalid("give edits, or old_string and new_string, not both")
        if arguments["edits"]:
            return cls(arguments["path"], _check_all(arguments["edits"]))
        if len(names) < 2:  # noqa: PLR2004 - the two of them
            missing = "new_string" if names == ["old_string"] else "old_string"
            raise BadArguments([f"{missing}: required, but missing; or give edits"])
        edit = Edit(
            arguments["new_string"],
            arguments["old_string"],
            replace_all=arguments["replace_all"],
        )
        _check(edit)
        return cls(arguments["path"], (edit,))


def invalid(message: str) -> ToolError:
    """Return the error for arguments that contradict each other or the file."""
    return ToolError(message, error_class="invalid_arguments")


def refuse_equal(edit: Edit) -> None:
    """Raise ToolError (invalid_arguments) for an edit that changes nothing."""
    if edit.old_string and edit.old_string == edit.new_string:
        raise invalid("old_string and new_string are equal; nothing would change")


def _check_all(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    for number, edit in enumerate(edits, 1):
        try:
            _check(edit)
        except ToolError as error:
            raise number_error(error, number, len(edits)) from None
    return tuple(edits)


def number_error(error: ToolError, number: int, count: int) -> ToolError:
    """Return *error* with the *number* of the edit that it is about."""
    if count == 1:
        return error
    counted = "; lines are counted with those before it made" if number > 1 else ""
    return ToolError(
        f"edit {number} of {count}: {error}\n[none of the {count} was made{counted}]",
        error_class=error.error_class,
        data={**(error.data or {}), "edit": number},
    )


def _check(edit: Edit) -> None:
    if edit.start_line and edit.old_string:
        raise invalid("give old_string or start_line, not both; old_string is then empty")
    if edit.end_line and not edit.start_line:
        raise invalid("end_line needs start_line")
    if "\0" in edit.new_string:
        raise invalid("new_string has a NUL; edit_file writes text only")
