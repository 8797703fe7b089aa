"""The search in Python, for machines without ripgrep and patterns that it does not know."""

import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO

from attrs import define
from nanocoder import ToolContext, WorkspaceError
from nanocoder_kit_glob.git_ignore import list_files

from nanocoder_tool_grep import workers
from nanocoder_tool_grep.matching import (
    BLOCK_BYTES,
    Blocks,
    LateError,
    Matcher,
    NoRegexError,
    Row,
    find_rows,
    make_matcher,
)
from nanocoder_tool_grep.multiline import MAX_FILE_BYTES, AcrossMatcher, find_rows_across
from nanocoder_tool_grep.query import Line, Query, Stopped, invalid, name_ends
from nanocoder_tool_grep.skipped import SkippedFiles

ALONE_FILES = 300
"""Up to so many files, or bytes, a search takes less time than workers need to start."""
ALONE_BYTES = 6_000_000

FolderFiles = tuple[str, list[str]]
"""A directory, "" for the root, and names of files in it."""


def search(
    ctx: ToolContext,
    query: Query,
    allowed: Callable[[str], bool],
    skipped: SkippedFiles,
    *,
    limit_s: float,
) -> Generator[Line]:
    """Yield the matches, sorted by path; *skipped* counts the files that were not searched.

    Raises: ToolError for an invalid pattern, Stopped after *limit_s* seconds, Cancelled.
    """
    deadline = time.monotonic() + limit_s
    make = AcrossMatcher if query.multiline else make_matcher
    try:
        matcher = make(
            query.pattern, plain=query.is_plain, ignore_case=query.ignore_case, deadline=deadline
        )
    except NoRegexError as error:
        is_offered = ctx.offers("grep", "fixed_string")
        hint = "; with fixed_string=true it is taken letter by letter" if is_offered else ""
        problem = f"{query.pattern!r} is not a regular expression: {error}{hint}"
        raise invalid(problem) from None
    try:
        folders = _list_files(ctx, query, allowed, skipped)
        yield from _Scan(ctx, query, matcher, deadline, skipped).lines(folders)
    except LateError:
        raise Stopped from None


def _list_files(
    ctx: ToolContext, query: Query, allowed: Callable[[str], bool], skipped: SkippedFiles
) -> Iterator[FolderFiles]:
    if query.is_file:
        if allowed(query.path):
            folder, _, name = query.path.rpartition("/")
            yield folder, [name]
        return
    ends = name_ends(query)
    for files in list_files(ctx.workspace, query.path, left_out=skipped.left_out):
        ctx.cancelled.check()
        names = files.names
        if query.glob or query.type:
            # Most are ruled out by the end of their names alone.
            names = [each for each in names if each.endswith(ends) and allowed(files.path(each))]
        if names:
            yield files.folder, names


@define
class _Scan:
    """One search: the first files alone, the others on all processors."""

    ctx: ToolContext
    query: Query
    matcher: Matcher | AcrossMatcher
    deadline: float
    skipped: SkippedFiles
    files: int = 0
    size: int = 0

    def lines(self, folders: Iterator[FolderFiles]) -> Iterator[Line]:
        """Yield the matches in *folders*, in their order."""
        # A multiline search holds whole files: with several workers that is too much memory.
        number = 0 if self.query.is_file or self.query.multiline else workers.count_workers()
        for folder, names in folders:
            for at, name in enumerate(names):
                if number and (self.files >= ALONE_FILES or self.size >= ALONE_BYTES):
                    yield from self._search_in_workers(
                        chain([(folder, names[at:])], folders), number
                    )
                    return
                yield from self._search_alone(f"{folder}/{name}" if folder else name)

    def _search_in_workers(self, folders: Iterator[FolderFiles], number: int) -> Iterator[Line]:
        root, cancel = self.ctx.workspace.root, self.ctx.cancelled
        remaining_s = self.deadline - time.monotonic()
        try:
            yield from workers.search(
                root, self.query, folders, cancel, self.skipped, number=number, limit_s=remaining_s
            )
        except workers.WorkerDiedError as died:
            for folder, names in died.unanswered:
                for name in names:
                    yield from self._search_alone(f"{folder}/{name}" if folder else name)

    def _search_alone(self, path: str) -> Iterator[Line]:
        self.ctx.cancelled.check()
        if time.monotonic() > self.deadline:
            raise Stopped
        try:
            file = self.ctx.workspace.open(path)
        except WorkspaceError as error:
            if error.error_class != "file_not_found":  # deleted since it was listed
                self.skipped.unreadable += 1
            return
        with file:
            self.files += 1
            try:
                for row in self._rows(file):
                    yield Line(path, *row)
            except OSError:
                self.skipped.unreadable += 1

    def _rows(self, file: BinaryIO) -> Iterator[Row]:
        query, matcher = self.query, self.matcher
        if isinstance(matcher, AcrossMatcher):
            data = self._read(file, MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                self.skipped.too_large += 1
                return iter(())
            return find_rows_across(data, matcher, query.output, query.context)
        first = self._read(file, BLOCK_BYTES)
        read = partial(self._read, file)
        blocks = Blocks(first, read, partial(file.seek, 0), named=query.is_file)
        return find_rows(blocks, matcher, query.output, query.context)

    def _read(self, file: BinaryIO, size: int) -> bytes:
        self.ctx.cancelled.check()
        if time.monotonic() > self.deadline:
            raise Stopped
        data = file.read(size)
        self.size += len(data)
        return data
