"""What edit_file is asked for: one edit of a file, or several that happen together."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from attrs import frozen
from nanocoder import BadArguments, Effect, Param, ToolError, tool

MAX_EDITS = 100


@frozen
class Edit:
    """One replacement, of a text or of the lines *start_line* to *end_line* (from 1)."""

    old: str
    new: str
    replace_all: bool = False
    start_line: int = 0
    end_line: int = 0


@frozen
class Request:
    """What was asked for, checked: *edits* of the file *path*, one after the other."""

    path: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "Request":
        """Read the checked arguments of the tool.

        Raises: BadArguments, ToolError (invalid_arguments).
        """
        given = [name for name in ("old_string", "new_string") if arguments[name] is not None]
        if arguments["edits"] and (any(map(arguments.get, given)) or arguments["replace_all"]):
            raise invalid("give edits, or old_string and new_string, not both")
        if arguments["edits"]:
            return cls(arguments["path"], _edits(arguments["edits"]))
        if len(given) < 2:  # noqa: PLR2004 - the two of them
            missing = "new_string" if given == ["old_string"] else "old_string"
            raise BadArguments([f"{missing}: required, but missing; or give edits"])
        one = Edit(arguments["old_string"], arguments["new_string"], arguments["replace_all"])
        _check(one)
        return cls(arguments["path"], (one,))


def invalid(message: str) -> ToolError:
    """Return the error for arguments that cannot be meant."""
    return ToolError(message, error_class="invalid_arguments")


@tool(risk="safe", effects={Effect.READ})
def _item(
    new_string: Annotated[str, "What replaces it."],
    old_string: Annotated[str, "Text of the file."] = "",
    replace_all: Annotated[bool, "Every match."] = False,  # noqa: FBT002
    start_line: Annotated[int, Param("Lines instead of a text.", ge=0)] = 0,
    end_line: Annotated[int, Param("The last of them.", ge=0)] = 0,
) -> Edit:
    """Take one of the edits; a tool in form only, for the check of its arguments."""
    one = Edit(old_string, new_string, replace_all, start_line, end_line)
    _check(one)
    return one


def _edits(items: Sequence[Any]) -> tuple[Edit, ...]:
    if len(items) > MAX_EDITS:
        raise BadArguments([f"edits: {len(items)} of them; at most {MAX_EDITS} in one call"])
    edits, problems = [], []
    for number, item in enumerate(items, 1):
        try:
            checked = _item.signature.check(item)
            edits.append(_item.handler(**checked))
        except BadArguments as error:
            problems += [f"edits[{number - 1}].{line}" for line in error.problems]
        except ToolError as error:
            raise numbered(error, number, len(items)) from None
    if problems:
        raise BadArguments(problems)
    return tuple(edits)


def numbered(error: ToolError, number: int, count: int) -> ToolError:
    """Say in *error* which of *count* edits it is about."""
    if count == 1:
        return error
    counted = "; lines are counted with those before it made" if number > 1 else ""
    return ToolError(
        f"edit {number} of {count}: {error}\n[none of the {count} was made{counted}]",
        error_class=error.error_class,
        data={**(error.data or {}), "edit": number},
    )


def _check(one: Edit) -> None:
    if one.start_line and one.old:
        raise invalid("give old_string or start_line, not both; old_string is then empty")
    if one.end_line and not one.start_line:
        raise invalid("end_line needs start_line")
    if one.old and one.old == one.new:
        raise invalid("old_string and new_string are equal; nothing would change")
    if "\0" in one.new:
        raise invalid("new_string has a NUL; edit_file writes text only")
