"""One search from start to end: the choice of the engine, the order, and the page to keep."""

import contextlib
import time
from collections.abc import Callable, Generator
from functools import partial

from attrs import define, field, frozen
from nanocoder import ToolContext, WorkspaceError
from nanocoder_kit_glob.git_ignore import list_files, walk
from nanocoder_kit_glob.ripgrep import find_ripgrep

from nanocoder_tool_grep import ripgrep, scan
from nanocoder_tool_grep.matching import BLOCK_BYTES
from nanocoder_tool_grep.query import (
    COUNTED,
    Line,
    Query,
    Stopped,
    path_filter,
)
from nanocoder_tool_grep.skipped import SkippedFiles

QUICK_FILES = 100
QUICK_BYTES = 500_000
"""Up to so many entries of a tree, and bytes, ripgrep (5 ms) is not worth its start."""


class _Enough(Exception):
    """There are more matches than are counted."""


@frozen
class Page:
    """The results to keep: *limit* of them, after the first *offset*."""

    offset: int
    limit: int

    @property
    def end(self) -> int:
        """The number of results up to the last one of the page."""
        return min(self.offset + self.limit, COUNTED)


EVERYTHING = Page(0, COUNTED)


@define
class Results:
    """The results of one page, in order, and how many there are in all.

    *page_count* is the number of results on *page*, without lines around them. *count* is the
    number of lines that match (of files, when the output is files), counted up to *counted*, and
    *files* the number of their files. *is_complete* is false when there are more; *files*
    then counts only the files on the page. *stopped* is true when time ran out, after *limit_s*
    seconds. *skipped* counts the files that were not searched.
    """

    engine: str
    page: Page
    context: int
    counted: int = COUNTED
    lines: list[Line] = field(factory=list)
    page_count: int = 0
    count: int = 0
    files: int = 0
    is_complete: bool = True
    stopped: bool = False
    limit_s: float = 0.0
    skipped: SkippedFiles = field(factory=SkippedFiles)
    _around: list[Line] = field(factory=list)
    _file: str = ""
    _page_files: int = 0

    @property
    def has_more(self) -> bool:
        """Whether there are results after those of the page."""
        return not self.is_complete or self.page.offset + self.page_count < self.count

    def take(self, lines: Generator[Line]) -> None:
        """Keep the first matches with the lines around them, and count the others."""
        with contextlib.closing(lines), contextlib.suppress(_Enough):
            try:
                for line in lines:
                    self._add(line)
            except Stopped:
                self.stopped = True

    def _add(self, line: Line) -> None:
        if not line.is_match:
            self._add_around(line)
            return
        if self.count == self.counted:
            self.is_complete = False
            self.files = self._page_files
            raise _Enough
        self.count += 1
        if line.path != self._file:
            self.files += 1
            self._file = line.path
        if self.count > self.page.offset and self.page_count < self.page.limit:
            self.page_count += 1
            self._page_files += not self.lines or self.lines[-1].path != line.path
            # Lines around of another file belong to a match that is not on the page.
            self.lines += [around for around in self._around if around.path == line.path]
            self.lines.append(line)
        self._around.clear()

    def _add_around(self, line: Line) -> None:
        last = self.lines[-1] if self.lines else None
        if last and last.path == line.path and line.number <= self._last_match() + self.context:
            self.lines.append(line)
        elif self.page_count < self.page.limit:
            self._around = [*self._around[1 - self.context or len(self._around) :], line]

    def _last_match(self) -> int:
        return next(line.number for line in reversed(self.lines) if line.is_match)


def find(ctx: ToolContext, query: Query, page: Page, *, engine: str, limit_s: float) -> Results:
    """Search by ripgrep where it is installed and sees the same files, otherwise in Python.

    Raises: ToolError for an invalid pattern or glob.
    """
    allowed = path_filter(query)
    in_python = engine == "python" or (engine == "auto" and _is_quick(ctx, query))
    program = "" if in_python else find_ripgrep(ctx.workspace.root)
    if program and ripgrep.can_search(ctx.workspace, query):
        try:
            return _by_ripgrep(ctx, program, query, allowed, page=page, limit_s=limit_s)
        except ripgrep.BadPatternError:
            pass  # look-around and back references work in Python; for others its error is better
    results = Results("python", page, query.context, limit_s=limit_s)
    results.take(scan.search(ctx, query, allowed, results.skipped, limit_s=limit_s))
    return results


def _is_quick(ctx: ToolContext, query: Query) -> bool:
    """Tell whether looking at every file takes less time than starting ripgrep."""
    if not query.is_plain or query.ignore_case:
        return False  # a pattern costs the import of its engine
    if ctx.workspace.is_file(query.path):
        return ctx.workspace.stat(query.path).st_size <= QUICK_BYTES
    files = size = 0
    for entry in walk(ctx.workspace, query.path):
        files, size = files + 1, size + entry.size
        if files > QUICK_FILES or size > QUICK_BYTES:
            return False
    return True


def _by_ripgrep(
    ctx: ToolContext,
    program: str,
    query: Query,
    allowed: Callable[[str], bool],
    *,
    page: Page,
    limit_s: float,
) -> Results:
    """Search on all processors; with too many results to sort, search again in order."""
    deadline = time.monotonic() + limit_s
    # A single file was opened before, so the policies allow it.
    below = _is_anything if query.is_file else ctx.workspace.readable_below(query.path)
    skipped = SkippedFiles()

    def lines(*, in_order: bool, meanwhile: Callable[[], object] = lambda: None) -> Generator[Line]:
        remaining_s = max(0.0, deadline - time.monotonic())
        raw = ripgrep.search(
            ctx,
            program,
            query,
            skipped,
            in_order=in_order,
            limit_s=remaining_s,
            meanwhile=meanwhile,
        )
        return _drop_unwanted(ctx, raw, lambda path: allowed(path) and below(path))

    if query.is_file and _is_binary(ctx, query.path):
        return Results("ripgrep", page, query.context)
    everything = Results("ripgrep", EVERYTHING, query.context)
    everything.take(lines(in_order=False, meanwhile=partial(_count_left_out, ctx, query, skipped)))
    if everything.is_complete:
        results = Results("ripgrep", page, query.context, limit_s=limit_s, skipped=skipped)
        results.take(line for line in sorted(everything.lines, key=_order))
        results.stopped = everything.stopped
        return results
    # The number of results is known by now; only the first ones are needed, in order.
    results = Results(
        "ripgrep", page, query.context, counted=page.end, limit_s=limit_s, skipped=skipped
    )
    results.take(lines(in_order=True))
    results.count = COUNTED
    results.is_complete = False
    return results


def _is_anything(_path: str) -> bool:
    return True


def _count_left_out(ctx: ToolContext, query: Query, skipped: SkippedFiles) -> None:
    if not query.is_file:
        for _ in list_files(ctx.workspace, query.path, left_out=skipped.left_out):
            ctx.cancelled.check()
        skipped.left_out.unreadable.clear()  # ripgrep counts them, too


def _order(line: Line) -> tuple[list[str], int]:
    return line.path.split("/"), line.number


def _drop_unwanted(
    ctx: ToolContext, lines: Generator[Line], allowed: Callable[[str], bool]
) -> Generator[Line]:
    """Drop paths that are not *allowed*, and binary files: ripgrep shows lines before the NUL."""
    path, is_included = "", False
    with contextlib.closing(lines):
        for line in lines:
            if line.path != path:
                path = line.path
                is_included = allowed(path) and not _is_binary(ctx, path)
            if is_included:
                yield line


def _is_binary(ctx: ToolContext, path: str) -> bool:
    try:
        with ctx.workspace.open(path) as file:
            return b"\0" in file.read(BLOCK_BYTES)
    except WorkspaceError:
        return True
