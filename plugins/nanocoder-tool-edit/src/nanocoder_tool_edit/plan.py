"""Plan an edit without doing it."""

from collections.abc import Callable, Sequence

from attrs import evolve, frozen
from nanocoder import ToolError, Workspace, WorkspaceError
from nanocoder_kit_files.diff import Diff, unified_parts
from nanocoder_kit_files.text import (
    Notebook,
    TextChange,
    TextFile,
    encode,
    notebook_of,
    read_text_file,
)

from nanocoder_tool_edit.document import (
    Span,
    combine_spans,
    encode_edits,
    replace_spans,
    tidy,
    unify_newlines,
)
from nanocoder_tool_edit.errors import several_matches, text_not_found
from nanocoder_tool_edit.request import Edit, Request, invalid, number_error, refuse_equal
from nanocoder_tool_edit.small_models import is_new_definition, is_word, whole_words
from nanocoder_tool_edit.strategies import Match, find
from nanocoder_tool_edit.view import View, views


@frozen
class Search:
    """Options of a search: *tolerant* of small differences; *offers* tests an argument's name.

    With *for_small_model* an edit is interpreted as small models mean it.
    """

    tolerant: bool = True
    offers: Callable[[str], bool] = lambda _: True
    for_small_model: bool = False


@frozen
class Plan:
    """A planned edit. *file* is None for a file to be created.

    *before* is the text to edit, of a notebook its cells. *matches* has the spans of each single
    edit; *spans* make all edits at once in *before*.
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

    def change(self, request: Request) -> TextChange:
        """Return the change for the checks before the write."""
        added = "\n".join(edit.new_string for edit in request.edits)
        return TextChange(self.path, self.before, self.after, added)

    def diff(self) -> Diff:
        """Return the changes as a diff."""
        return unified_parts([view.part for view in self.views], self.path)

    def strategies(self) -> str:
        """Name the strategies that matched, each once."""
        return ", ".join(dict.fromkeys(match.strategy for match in self.matches))

    def confidence(self) -> float:
        """Return the lowest confidence of all edits, from 0 to 1."""
        return min(match.confidence for match in self.matches)


@frozen
class _Target:
    """The target of an edit: a *file*, or None before it is created, perhaps a *notebook*."""

    path: str
    file: TextFile | None
    notebook: Notebook | None


def plan_edit(workspace: Workspace, request: Request, search: Search) -> Plan:
    """Find the spans to replace, and prepare the bytes.

    Raises: ToolError (invalid_arguments, text_not_found, several_matches), WorkspaceError.
    """
    file = _read(workspace, request)
    notebook = notebook_of(file) if file else None
    before = notebook.text if notebook else file.text if file else ""
    path = file.path if file else workspace.relative(request.path)
    target = _Target(path, file, notebook)
    matches, spans = _find_all(target, before, request.edits, search)
    if all(before[span.start : span.end] == span.new for span in spans) and file:
        raise invalid(f"nothing would change in {path!r}")
    data: Sequence[bytes | memoryview]
    if notebook or not file:
        after = replace_spans(before, spans)
        data = [notebook.encode(after) if notebook else encode(after)]
    else:
        data = encode_edits(file, spans)
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
    target: _Target, text: str, edits: Sequence[Edit], search: Search
) -> tuple[list[Match], Sequence[Span]]:
    """Make *edits* in memory, one after the other; return each match, and the combined spans."""
    matches: list[Match] = []
    spans: Sequence[Span] = ()
    for number, edit in enumerate(edits, 1):
        if matches:
            text = replace_spans(text, matches[-1].spans)
        try:
            match = _find_one(target, text, edit, search)
        except ToolError as error:
            raise number_error(error, number, len(edits)) from None
        spans = combine_spans(spans, text, match.spans) if matches else match.spans
        matches.append(match)
    return matches, spans


def _find_one(target: _Target, text: str, edit: Edit, search: Search) -> Match:
    path, file = target.path, target.file
    both = (edit.old_string, edit.new_string)
    old, new = (unify_newlines(file, part) if file else part for part in both)
    if edit.start_line:
        return Match("line_range", 1.0, [_line_range(path, text, edit, new)])
    adds_old = search.for_small_model and old == new and old not in text
    if not old or adds_old:
        return Match("append" if file else "create", 1.0, [_end(text, new)])
    refuse_equal(edit)
    match = find(text, old, new, tolerant=search.tolerant)
    if match is not None and target.notebook:
        match = _outside_headings(match, text, target.notebook)
    if match is None and search.for_small_model and is_new_definition(text, old, new):
        return Match("append" if file else "create", 1.0, [_end(text, f"\n\n{new}")])
    if match is None:
        raise text_not_found(path, text, old, can_name_lines=search.offers("edits"))
    match = evolve(match, spans=[tidy(text, span, old) for span in match.spans])
    if len(match.spans) == 1:
        return match
    return _several(path, text, edit, match, search)


def _several(path: str, text: str, edit: Edit, match: Match, search: Search) -> Match:
    renames = search.for_small_model and is_word(edit.old_string) and is_word(edit.new_string)
    if match.strategy == "exact" and renames and not edit.replace_all:
        return Match("whole_words", 1.0, whole_words(text, match.spans) or match.spans)
    if match.strategy == "fuzzy_anchor" or not edit.replace_all:
        raise several_matches(path, text, match, can_replace_all=search.offers("replace_all"))
    return evolve(match, spans=_drop_overlaps(match.spans))


def _outside_headings(match: Match, text: str, notebook: Notebook) -> Match | None:
    """Drop spans within the heading of a cell; return None if no other is left."""
    spans = [span for span in match.spans if not notebook.is_in_heading(text, span.start, span.end)]
    return evolve(match, spans=spans) if spans else None


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
