"""Plan an edit without doing it."""

from collections.abc import Callable, Sequence

from attrs import frozen
from nanocoder import ToolError, Workspace, WorkspaceError
from nanocoder_kit_diff import Diff, unified_parts
from nanocoder_kit_text import TextFile, encode, read_text_file

from nanocoder_tool_edit.document import (
    Span,
    combine_spans,
    encode_edits,
    replace_spans,
    unify_newlines,
)
from nanocoder_tool_edit.errors import several_matches, text_not_found
from nanocoder_tool_edit.request import Edit, Request, invalid, number_error, refuse_equal
from nanocoder_tool_edit.small_models import is_new_definition, is_word, whole_words
from nanocoder_tool_edit.strategies import Match, find
from nanocoder_tool_edit.view import View, views


@frozen
class Search:
    """How to search: *tolerant* of small differences; *offers* knows the model's arguments.

    With *for_small_model* an edit means what a small model intends by it.
    """

    tolerant: bool = True
    offers: Callable[[str], bool] = lambda _: True
    for_small_model: bool = False


@frozen
class Plan:
    """An edit that has not happened. *file* is None for a file that is going to be created.

    *matches* has the places of each single edit; *spans* make all edits at once in *before*.
    """

    path: str
    file: TextFile | None
    matches: tuple[Match, ...]
    before: str
    spans: Sequence[Span]
    views: Sequence[View]
    data: Sequence[bytes | memoryview]

    def after(self) -> str:
        """Return the whole text after the edit."""
        return replace_spans(self.before, self.spans)

    def diff(self) -> Diff:
        """Return what changes."""
        return unified_parts([view.part for view in self.views], self.path)

    def strategies(self) -> str:
        """Name the strategies that matched, each once."""
        return ", ".join(dict.fromkeys(match.strategy for match in self.matches))

    def confidence(self) -> float:
        """Return the lowest confidence of all edits, from 0 to 1."""
        return min(match.confidence for match in self.matches)


def plan_edit(workspace: Workspace, request: Request, search: Search) -> Plan:
    """Find the places, and prepare the bytes.

    Raises: ToolError (invalid_arguments, text_not_found, several_matches, placeholder),
    WorkspaceError.
    """
    file = _read(workspace, request)
    before = file.text if file else ""
    path = file.path if file else workspace.relative(request.path)
    matches, spans = _find_all(path, before, file, request.edits, search)
    if all(before[span.start : span.end] == span.new for span in spans) and file:
        raise invalid(f"nothing would change in {path!r}")
    data = encode_edits(file, spans) if file else [encode(replace_spans(before, spans))]
    return Plan(path, file, tuple(matches), before, spans, views(before, spans), data)


def _read(workspace: Workspace, request: Request) -> TextFile | None:
    try:
        # Without note=False this read would hide that the file changed since the model read it.
        return read_text_file(workspace, request.path, note=False)
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


def _find_all(
    path: str, text: str, file: TextFile | None, edits: Sequence[Edit], search: Search
) -> tuple[list[Match], Sequence[Span]]:
    """Make *edits* in memory, one after the other; return each match, and the combined spans."""
    matches: list[Match] = []
    spans: Sequence[Span] = ()
    for number, edit in enumerate(edits, 1):
        if matches:
            text = replace_spans(text, matches[-1].spans)
        try:
            match = _find_one(path, text, file, edit, search)
        except ToolError as error:
            raise number_error(error, number, len(edits)) from None
        spans = combine_spans(spans, text, match.spans) if matches else match.spans
        matches.append(match)
    return matches, spans


def _find_one(path: str, text: str, file: TextFile | None, edit: Edit, search: Search) -> Match:
    both = (edit.old_string, edit.new_string)
    old, new = (unify_newlines(file, part) if file else part for part in both)
    if edit.start_line:
        return Match("line_range", 1.0, [_line_range(path, text, edit, new)])
    adds_old = search.for_small_model and old == new and old not in text
    if not old or adds_old:
        return Match("append" if file else "create", 1.0, [_end(text, new)])
    refuse_equal(edit)
    _refuse_placeholder(new, text)
    match = find(text, old, new, tolerant=search.tolerant)
    if match is None and search.for_small_model and is_new_definition(text, old, new):
        return Match("append" if file else "create", 1.0, [_end(text, f"\n\n{new}")])
    if match is None:
        raise text_not_found(path, text, old, can_name_lines=search.offers("edits"))
    if len(match.spans) == 1:
        return match
    renames = search.for_small_model and is_word(old) and is_word(new)
    if match.strategy == "exact" and renames and not edit.replace_all:
        return Match("whole_words", 1.0, whole_words(text, match.spans) or match.spans)
    if match.strategy != "exact" or not edit.replace_all:
        raise several_matches(path, text, match, can_replace_all=search.offers("replace_all"))
    return Match("exact", 1.0, _drop_overlaps(match.spans))


def _refuse_placeholder(new: str, text: str) -> None:
    from nanocoder_kit_diff.placeholder import placeholder_in

    if line := placeholder_in(new, text):
        raise ToolError(
            f"not edited: {line!r} in new_string stands for code that is left out; write out"
            " everything that replaces old_string",
            error_class="placeholder",
            data={"line": line},
        )


def _drop_overlaps(spans: Sequence[Span]) -> list[Span]:
    """Leave out matches that overlap an earlier one."""
    separate: list[Span] = []
    for span in spans:
        if not separate or span.start >= separate[-1].end:
            separate.append(span)
    return separate


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
