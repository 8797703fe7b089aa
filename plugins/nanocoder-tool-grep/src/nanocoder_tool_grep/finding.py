"""One search from start to end: the passes, the order, and the page of results."""

import contextlib
import time
from collections.abc import Generator, Iterable, Iterator
from heapq import merge
from pathlib import Path
from tempfile import NamedTemporaryFile

from attrs import define, evolve, field, frozen
from nanocoder import ToolContext, ToolError
from nanocoder_kit_files.glob.left_out import LeftOut

from nanocoder_tool_grep.encodings import Copies
from nanocoder_tool_grep.programs import find_ripgrep
from nanocoder_tool_grep.query import COUNTED, Line, Query, Stopped, invalid
from nanocoder_tool_grep.ripgrep import BadPatternError, Place, Ripgrep
from nanocoder_tool_grep.selection import Selection, place, select
from nanocoder_tool_grep.spellings import as_extended, reason_in, required_letters
from nanocoder_tool_grep.texts import kind_of, with_texts

MAX_LOOKED_AT = 1_000
"""Limit of the files to examine one by one; beyond it ripgrep finds other encodings."""


class _Enough(Exception):
    """There are more matches than are counted."""


@frozen
class Page:
    """The results to return: *limit* of them, after the first *offset*."""

    offset: int
    limit: int

    @property
    def end(self) -> int:
        """The number of results up to the last one of the page."""
        return min(self.offset + self.limit, COUNTED)


EVERYTHING = Page(0, COUNTED)


@define
class Results:
    """The results of one page, in order, and the total number.

    *page_count* is the number of results on *page*, without lines around them. *count* is the
    number of matching lines (of files, if the output is files), up to *counted*, and *files* the
    number of their files. *is_complete* is false if there are more; *files* then counts only the
    files on the page. *stopped* is true after a timeout of *limit_s* seconds. *skipped* are the
    files that were left out; *unreadable*, *too_slow* and *too_large* count those that failed.
    *read_as* is the pattern that was searched instead of the given one.
    """

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
    skipped: LeftOut = field(factory=LeftOut)
    unreadable: int = 0
    too_slow: int = 0
    too_large: int = 0
    read_as: str = ""
    _around: list[Line] = field(factory=list)
    _file: str = ""
    _page_files: int = 0

    @property
    def has_more(self) -> bool:
        """True if there are results after those of the page."""
        return not self.is_complete or self.page.offset + self.page_count < self.count

    def take(self, lines: Iterable[Line]) -> None:
        """Store the page's matches with the lines around them, and count the others."""
        with contextlib.suppress(_Enough):
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


def find(
    ctx: ToolContext, query: Query, page: Page, *, skip: frozenset[str], limit_s: float
) -> Results:
    """Search the files that the workspace's own walk visits.

    A pattern without matches is tried once more in grep's basic syntax.
    Raises: ToolError for an invalid pattern or glob, or without ripgrep.
    """
    deadline = time.monotonic() + limit_s
    ripgrep = Ripgrep(find_ripgrep(ctx.workspace.root), ctx.cancelled, deadline)
    selection = select(ctx, query, skip)
    results = Search(ctx, query, ripgrep, selection).results(page)
    basic = "" if query.fixed or results.count or results.stopped else as_extended(query.pattern)
    if basic:
        other = evolve(query, pattern=basic)
        with contextlib.suppress(ToolError):
            results = Search(ctx, other, ripgrep, selection).results(page)
            results.read_as = basic
    results.limit_s = limit_s
    return results


@define
class Search:
    """One pattern in the files of *selection*."""

    ctx: ToolContext
    query: Query
    ripgrep: Ripgrep
    selection: Selection
    _copies: Copies = field(factory=Copies)
    _has_profile: bool = False

    def results(self, page: Page) -> Results:
        """Return the results of *page*, in order, with their texts; raises ToolError."""
        results = Results(page, self.query.context)
        try:
            self._find(results)
        except BadPatternError as error:
            raise self._invalid(str(error)) from None
        except Stopped:
            results.stopped = True
        results.skipped = self.selection.left_out
        results.unreadable, results.too_slow = self.ripgrep.unreadable, self.ripgrep.too_slow
        results.too_large = self._copies.too_large
        if self.query.output == "content":
            results.lines = [*with_texts(self.ctx, results.lines, self._copies.paths)]
        return results

    def _find(self, results: Results) -> None:
        """Search on all processors; with too many results to sort, search again in order."""
        query = self.query
        if query.is_file and kind_of(self.ctx, query.path) != "plain":
            self._copies.add(self.ctx, query.path, self.selection.left_out)
            results.take(self._in_copies())
            return
        if not query.is_found_in_bytes:
            self._profile()
        everything = Results(EVERYTHING, query.context)
        everything.take(self._in_files(in_order=False))
        if not everything.count and not everything.stopped and not self._has_profile:
            self._profile()  # to report binary files, and for letters of two bytes
        everything.take(self._in_copies())
        if everything.is_complete:
            results.take(line for line in sorted(everything.lines, key=_order))
            results.stopped = everything.stopped
            return
        # The number of results is known by now; only the first ones are needed, in order.
        copied = sorted(self._in_copies(), key=_order)
        results.counted = results.page.end
        results.take(merge(copied, self._in_files(in_order=True), key=_order))
        results.count, results.is_complete = COUNTED, False

    def _profile(self) -> None:
        """Copy the files that ripgrep would decode differently, and record binary ones."""
        self._has_profile = True
        letters = required_letters(self.query)
        profile = self.ripgrep.profile(self._search_root(), self.selection.has, letters)
        if letters and sum(profile.values()) > MAX_LOOKED_AT:
            letters, profile = "", self.ripgrep.profile(self._search_root(), self.selection.has, "")
        self._copies.add_odd(self.ctx, self.selection, profile, is_sure=not letters)

    def _in_files(self, *, in_order: bool) -> Generator[Line]:
        """Yield the matches in the files themselves, except those that have copies.

        Matching files with another encoding are copied, and the copies are searched later.
        """
        path, is_included = "", False
        has = self.selection.has
        lines = self.ripgrep.search(self.query, self._search_root(), has, in_order=in_order)
        with contextlib.closing(lines):
            for line in lines:
                if line.path != path:
                    path = line.path
                    is_included = self._is_plain(path)
                if is_included:
                    yield line

    def _is_plain(self, path: str) -> bool:
        if path in self._copies.paths:
            return False
        kind = kind_of(self.ctx, path)
        if kind == "odd":
            self._copies.add(self.ctx, path, self.selection.left_out)
        return kind == "plain"

    def _in_copies(self) -> Iterator[Line]:
        if self._copies.root is None:
            return
        names = self._copies.names
        place = Place(self._copies.root, is_file=True)
        for line in self.ripgrep.search(self.query, place, names.__contains__):
            yield evolve(line, path=names[line.path])

    def _search_root(self) -> Place:
        workspace, query = self.ctx.workspace, self.query
        where = place(workspace.root, workspace.real_path(query.path))
        rules = None
        if not query.is_file and (lines := self.selection.rules()):
            with NamedTemporaryFile(dir=self.ctx.tmp_dir, delete=False) as file:
                file.write(b"\n".join([*lines, b""]))
            rules = Path(file.name)
        return Place(workspace.root, where, rules, is_file=query.is_file)

    def _invalid(self, complaint: str) -> ToolError:
        is_offered = self.ctx.offers("grep", "fixed_string")
        hint = "; with fixed_string=true it is taken letter by letter" if is_offered else ""
        reason = reason_in(complaint)
        return invalid(f"{self.query.pattern!r} is not a regular expression: {reason}{hint}")


def _order(line: Line) -> tuple[list[str], int]:
    return line.path.split("/"), line.number
