"""What an edit is going to do, found out without doing it."""

from collections.abc import Callable, Sequence

from attrs import frozen
from nanocoder import TextFile, ToolError, Workspace, WorkspaceError
from nanocoder_kit_diff import Diff, unified_parts

from nanocoder_tool_edit.complaint import not_found, several
from nanocoder_tool_edit.document import (
    Span,
    composed,
    edited_bytes,
    edited_text,
    without_returns,
)
from nanocoder_tool_edit.request import Edit, Request, invalid, numbered
from nanocoder_tool_edit.strategies import Found, find
from nanocoder_tool_edit.view import View, views


@frozen
class Search:
    """How to look for a text: also *tolerant*ly; *offers* tells what the model may ask for."""

    tolerant: bool = True
    offers: Callable[[str], bool] = lambda _: True


@frozen
class Plan:
    """An edit that has not happened. *file* is None for a file that is going to be created.

    *founds* tells of each single edit where its text was, *spans* replace all of it in *before*.
    """

    path: str
    file: TextFile | None
    founds: tuple[Found, ...]
    before: str
    spans: Sequence[Span]
    views: Sequence[View]
    data: Sequence[bytes | memoryview]

    def after(self) -> str:
        """Return the whole text after the edit."""
        return edited_text(self.before, self.spans)

    def diff(self) -> Diff:
        """Return what changes."""
        return unified_parts([view.part for view in self.views], self.path)

    def strategies(self) -> str:
        """Name the strategies that found something, each once."""
        return ", ".join(dict.fromkeys(found.strategy for found in self.founds))

    def confidence(self) -> float:
        """Return how sure the least sure of the edits is, from 0 to 1."""
        return min(found.confidence for found in self.founds)


def plan_edit(workspace: Workspace, request: Request, search: Search) -> Plan:
    """Find the places, and prepare the bytes.

    Raises: ToolError (invalid_arguments, text_not_found, several_matches, placeholder),
    WorkspaceError.
    """
    file = _read(workspace, request)
    before = file.text if file else ""
    path = file.path if file else workspace.relative(request.path)
    founds, spans = _found(path, before, file, request.edits, search)
    if all(before[span.start : span.end] == span.new for span in spans) and file:
        raise invalid(f"nothing would change in {path!r}")
    data = (
        edited_bytes(workspace, file, spans)
        if file
        else [workspace.encode(edited_text(before, spans))]
    )
    return Plan(path, file, tuple(founds), before, spans, views(before, spans), data)


def _read(workspace: Workspace, request: Request) -> TextFile | None:
    try:
        return workspace.read_file(request.path, note=False)
    except WorkspaceError as error:
        if error.error_class != "file_not_found":
            raise
        if request.edits[0].old_string or request.edits[0].start_line:
            raise WorkspaceError(
                f"{error}; nothing was edited. write_file creates a new file",
                error_class=error.error_class,
                data=error.data,
            ) from None
    return None


def _found(
    path: str, text: str, file: TextFile | None, edits: Sequence[Edit], search: Search
) -> tuple[list[Found], Sequence[Span]]:
    """Make *edits* in memory, one after the other; return what each found, and all at once."""
    founds: list[Found] = []
    spans: Sequence[Span] = ()
    for number, edit in enumerate(edits, 1):
        if founds:
            text = edited_text(text, founds[-1].spans)
        try:
            found = _place(path, text, file, edit, search)
        except ToolError as error:
            raise numbered(error, number, len(edits)) from None
        spans = composed(spans, text, found.spans) if founds else found.spans
        founds.append(found)
    return founds, spans


def _place(path: str, text: str, file: TextFile | None, edit: Edit, search: Search) -> Found:
    both = (edit.old_string, edit.new_string)
    old, new = (without_returns(file, part) if file else part for part in both)
    if edit.start_line:
        return Found("line_range", 1.0, [_line_range(path, text, edit, new)])
    if not old:
        return Found("append" if file else "create", 1.0, [_end(text, new)])
    _refuse_placeholder(new, text)
    found = find(text, old, new, tolerant=search.tolerant)
    if found is None:
        raise not_found(path, text, old, can_name_lines=search.offers("edits"))
    if len(found.spans) == 1:
        return found
    if found.strategy != "exact" or not edit.replace_all:
        raise several(path, text, found, can_replace_all=search.offers("replace_all"))
    return Found("exact", 1.0, _apart(found.spans))


def _refuse_placeholder(new: str, text: str) -> None:
    from nanocoder_kit_diff.placeholder import placeholder_in

    if line := placeholder_in(new, text):
        raise ToolError(
            f"not edited: {line!r} in new_string stands for code that is left out; write out"
            " everything that replaces old_string",
            error_class="placeholder",
            data={"line": line},
        )


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Leave out matches that overlap an earlier one."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _line_range(path: str, text: str, edit: Edit, new: str) -> Span:
    start, end = edit.start_line, edit.end_line or edit.start_line
    lines = text.split("\n", end)[:end]
    total = text.count("\n") + (text != "" and not text.endswith("\n"))
    if not start <= end <= total:
        raise invalid(
            f"lines {start} to {end} are not a range of {path!r}, which has {total} lines"
        )
    first = sum(len(line) + 1 for line in lines[: start - 1])
    last = first + sum(len(line) + 1 for line in lines[start - 1 :])
    if new and not new.endswith("\n"):
        new += "\n"
    if last > len(text):  # the last line has no newline, and does not get one
        return Span(first, len(text), new.removesuffix("\n"))
    return Span(first, last, new)


def _end(text: str, new: str) -> Span:
    """Append: on a line of its own, and with a final newline where the text has one."""
    end = len(text)
    if not text or not new:
        return Span(end, end, new)
    if not text.endswith("\n"):
        return Span(end, end, "\n" + new)
    return Span(end, end, new if new.endswith("\n") else new + "\n")
