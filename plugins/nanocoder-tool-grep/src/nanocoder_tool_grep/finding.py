"""One search from start to end: which engine, in what order, how much is kept."""

import contextlib
import time
from collections.abc import Callable, Generator

from attrs import define, field, frozen
from nanocoder import ToolContext, WorkspaceError
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
from nanocoder_tool_grep.trouble import Trouble

QUICK_FILES = 100
QUICK_BYTES = 500_000
"""Up to so many entries of a tree, and bytes, ripgrep (5 ms) is not worth its start."""


class _Enough(Exception):
    """There is more than anybody counts."""


@frozen
class Page:
    """Which results are wanted: *limit*, after the first *offset*."""

    offset: int
    limit: int

    @property
    def end(self) -> int:
        """How many results there are up to the last that is wanted."""
        return min(self.offset + self.limit, COUNTED)


EVERYTHING = Page(0, COUNTED)


@define
class Found:
    """What was kept, in order, and how much there is.

    *kept* are the results of *page*, lines around them not counted. *count* are lines that match
    (files, when files were asked for), counted up to *counted*, and *files* in how many files they
    are; *is_complete* is false when there are more, and *files* then are those of the lines that
    are kept. *stopped* is true when time ran out, after *limit_s* seconds. *trouble* is what
    was not looked at.
    """

    engine: str
    page: Page
    context: int
    counted: int = COUNTED
    lines: list[Line] = field(factory=list)
    kept: int = 0
    count: int = 0
    files: int = 0
    is_complete: bool = True
    stopped: bool = False
    limit_s: float = 0.0
    trouble: Trouble = field(factory=Trouble)
    _around: list[Line] = field(factory=list)
    _file: str = ""
    _kept_files: int = 0

    @property
    def has_more(self) -> bool:
        """Whether there are results behind those of the page."""
        return not self.is_complete or self.page.offset + self.kept < self.count

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
            self.files = self._kept_files
            raise _Enough
        self.count += 1
        if line.path != self._file:
            self.files += 1
            self._file = line.path
        if self.count > self.page.offset and self.kept < self.page.limit:
            self.kept += 1
            self._kept_files += not self.lines or self.lines[-1].path != line.path
            # Those of another file came after a match that was passed over.
            self.lines += [one for one in self._around if one.path == line.path]
            self.lines.append(line)
        self._around.clear()

    def _add_around(self, line: Line) -> None:
        last = self.lines[-1] if self.lines else None
        if last and last.path == line.path and line.number <= self._last_match() + self.context:
            self.lines.append(line)
        elif self.kept < self.page.limit:
            self._around = [*self._around[1 - self.context or len(self._around) :], line]

    def _last_match(self) -> int:
        return next(line.number for line in reversed(self.lines) if line.is_match)


def find(ctx: ToolContext, query: Query, page: Page, *, engine: str, limit_s: float) -> Found:
    """Search by ripgrep where it is there and sees what we see, otherwise in Python.

    Raises: ToolError for a pattern or a glob that is none.
    """
    allowed = path_filter(query)
    itself = engine == "python" or (engine == "auto" and _is_quick(ctx, query))
    program = "" if itself else find_ripgrep(ctx.workspace.root)
    if program and ripgrep.can_search(ctx.workspace, query):
        try:
            return _by_ripgrep(ctx, program, query, allowed, page=page, limit_s=limit_s)
        except ripgrep.BadPatternError:
            pass  # look-around and back references, which Python has; else it says what is wrong
    found = Found("python", page, query.context, limit_s=limit_s)
    found.take(scan.search(ctx, query, allowed, found.trouble, limit_s=limit_s))
    return found


def _is_quick(ctx: ToolContext, query: Query) -> bool:
    """Tell whether looking at every file takes less time than starting ripgrep."""
    if not query.is_plain or query.ignore_case:
        return False  # a pattern costs the import of its engine
    if ctx.workspace.is_file(query.path):
        return ctx.workspace.stat(query.path).st_size <= QUICK_BYTES
    files = size = 0
    for entry in ctx.workspace.walk(query.path):
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
) -> Found:
    """Search on all processors, and again on one where there is too much to put it into order."""
    deadline = time.monotonic() + limit_s
    # A file was opened already: then nobody refuses it.
    below = None if query.is_file else ctx.workspace.readable_below(query.path)
    trouble = Trouble()

    def lines(*, in_order: bool, meanwhile: Callable[[], object] = lambda: None) -> Generator[Line]:
        left = max(0.0, deadline - time.monotonic())
        raw = ripgrep.search(
            ctx, program, query, trouble, in_order=in_order, limit_s=left, meanwhile=meanwhile
        )
        return _textual(ctx, raw, lambda path: allowed(path) and (below is None or below(path)))

    def count_left_out() -> None:
        if not query.is_file:
            for _ in ctx.workspace.files(query.path, left_out=trouble.left_out):
                ctx.cancelled.check()
            trouble.left_out.unreadable.clear()  # ripgrep counts them, too

    if query.is_file and _is_binary(ctx, query.path):
        return Found("ripgrep", page, query.context)
    everything = Found("ripgrep", EVERYTHING, query.context)
    everything.take(lines(in_order=False, meanwhile=count_left_out))
    if everything.is_complete:
        found = Found("ripgrep", page, query.context, limit_s=limit_s, trouble=trouble)
        found.take(line for line in sorted(everything.lines, key=_order))
        found.stopped = everything.stopped
        return found
    # How much there is, is known; now only the first are wanted.
    found = Found(
        "ripgrep", page, query.context, counted=page.end, limit_s=limit_s, trouble=trouble
    )
    found.take(lines(in_order=True))
    found.count = COUNTED
    found.is_complete = False
    return found


def _order(line: Line) -> tuple[list[str], int]:
    return line.path.split("/"), line.number


def _textual(
    ctx: ToolContext, lines: Generator[Line], allowed: Callable[[str], bool]
) -> Generator[Line]:
    """Leave out what is not *allowed*, and binary files: ripgrep shows lines before the NUL."""
    path, is_wanted = "", False
    with contextlib.closing(lines):
        for line in lines:
            if line.path != path:
                path = line.path
                is_wanted = allowed(path) and not _is_binary(ctx, path)
            if is_wanted:
                yield line


def _is_binary(ctx: ToolContext, path: str) -> bool:
    try:
        with ctx.workspace.open(path) as file:
            return b"\0" in file.read(BLOCK_BYTES)
    except WorkspaceError:
        return True
