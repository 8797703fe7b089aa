"""What an edit is going to do, found out without doing it."""

from collections.abc import Sequence

from attrs import frozen
from nanocoder import TextFile, ToolError, Workspace, WorkspaceError
from nanocoder_kit_diff import Diff, unified

from nanocoder_tool_edit.document import (
    Span,
    edited_bytes,
    edited_text,
    line_of,
    without_returns,
)
from nanocoder_tool_edit.strategies import SHOWN_PLACES, Found, find

SHOWN_LINES = 8


@frozen
class Request:
    """What was asked for, as the tool got it."""

    path: str
    old: str
    new: str
    replace_all: bool = False
    start_line: int = 0
    end_line: int = 0


@frozen
class Plan:
    """An edit that has not happened. *file* is None for a file that is going to be created."""

    path: str
    file: TextFile | None
    found: Found
    before: str
    after: str
    data: bytes

    def diff(self) -> Diff:
        """Return what changes."""
        return unified(self.before, self.after, self.path)


def plan_edit(workspace: Workspace, request: Request, *, tolerant: bool) -> Plan:
    """Find the place, and prepare the bytes.

    Raises: ToolError (invalid_arguments, text_not_found, several_matches), WorkspaceError.
    """
    from nanocoder_tool_edit.placeholder import refuse_placeholder

    _check(request)
    try:
        file = workspace.read_file(request.path, note=False)
    except WorkspaceError as error:
        if error.error_class != "file_not_found":
            raise
        return _creation(workspace, request, error)
    old, new = without_returns(file, request.old), without_returns(file, request.new)
    if old:
        refuse_placeholder(new, file.text)
    found = _found(file, request, old, new, tolerant=tolerant)
    after = edited_text(file.text, found.spans)
    if after == file.text:
        raise _invalid(f"nothing would change in {file.path!r}")
    data = edited_bytes(workspace, file, found.spans, after)
    return Plan(file.path, file, found, file.text, after, data)


def _found(file: TextFile, request: Request, old: str, new: str, *, tolerant: bool) -> Found:
    if request.start_line:
        return Found("line_range", 1.0, [_line_range(file, request, new)])
    if not old:
        return Found("append", 1.0, [_end(file, new)])
    found = find(file.text, old, new, tolerant=tolerant)
    if found is None:
        raise _not_found(file, old)
    if len(found.spans) == 1:
        return found
    if found.strategy != "exact" or not request.replace_all:
        raise _several(file, found)
    return Found("exact", 1.0, _apart(found.spans))


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Leave out matches that overlap an earlier one."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _line_range(file: TextFile, request: Request, new: str) -> Span:
    lines = file.text.split("\n")
    if file.final_newline:
        lines.pop()
    start, end = request.start_line, request.end_line or request.start_line
    if not start <= end <= len(lines):
        raise _invalid(
            f"lines {start} to {end} are no range of {file.path!r}, which has {file.lines} lines"
        )
    first = sum(len(line) + 1 for line in lines[: start - 1])
    last = first + sum(len(line) + 1 for line in lines[start - 1 : end])
    if new and not new.endswith("\n"):
        new += "\n"
    if last > len(file.text):  # the last line has no newline, and does not get one
        return Span(first, len(file.text), new.removesuffix("\n"))
    return Span(first, last, new)


def _end(file: TextFile, new: str) -> Span:
    """Append: on a line of its own, and with a final newline where the file has one."""
    end = len(file.text)
    if file.text and new and not file.final_newline:
        return Span(end, end, "\n" + new)
    if file.text and new and not new.endswith("\n"):
        new += "\n"
    return Span(end, end, new)


def _creation(workspace: Workspace, request: Request, missing: WorkspaceError) -> Plan:
    if request.old or request.start_line:
        raise WorkspaceError(
            f"{missing}; nothing was edited. write_file creates a new file",
            error_class=missing.error_class,
            data=missing.data,
        )
    path, new = workspace.relative(request.path), request.new
    found = Found("create", 1.0, [Span(0, 0, new)])
    return Plan(path, None, found, "", new, workspace.encode(new))


def _check(request: Request) -> None:
    if request.start_line and request.old:
        raise _invalid("give old_string or start_line, not both; old_string is then empty")
    if request.end_line and not request.start_line:
        raise _invalid("end_line needs start_line")
    if request.old and request.old == request.new:
        raise _invalid("old_string and new_string are equal; nothing would change")
    if "\0" in request.new:
        raise _invalid("new_string has a NUL; edit_file writes text only")


def _invalid(message: str) -> ToolError:
    return ToolError(message, error_class="invalid_arguments")


def _several(file: TextFile, found: Found) -> ToolError:
    lines = [line_of(file.text, span.start) for span in found.spans[:SHOWN_PLACES]]
    more = ", \u2026" if len(found.spans) > SHOWN_PLACES else ""
    shown = ", ".join(map(str, dict.fromkeys(lines)))
    advice = (
        "add lines around it until it is unique, or set replace_all"
        if found.strategy == "exact"
        else "copy it from the file exactly, with lines around it"
    )
    like = "stands" if found.strategy == "exact" else f"is like text ({found.strategy}) that stands"
    return ToolError(
        f"old_string {like} {len(found.spans)} times in {file.path!r}, in lines {shown}{more};"
        f" {advice}",
        error_class="several_matches",
        data={"lines": lines, "count": len(found.spans), "strategy": found.strategy},
    )


def _not_found(file: TextFile, old: str) -> ToolError:
    from nanocoder_tool_edit.nearest import nearest  # loads rapidfuzz, for a failed edit only

    sizes = f"old_string ({_count(old)}) is not in {file.path!r} ({_count(file.text)})"
    near = nearest(file.text, old)
    if near is None:
        return ToolError(f"{sizes}; read the file again", error_class="text_not_found")
    shown = near.lines[:SHOWN_LINES]
    region = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, near.first))
    last = near.first + len(near.lines) - 1
    return ToolError(
        f"{sizes}. {near.difference}.\nThe nearest are lines {near.first}-{last}:\n{region}",
        error_class="text_not_found",
        data={"first": near.first, "last": last, "difference": near.difference},
    )


def _count(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    return f"{lines:,} line{'s' if lines != 1 else ''}, {len(text):,} characters"
