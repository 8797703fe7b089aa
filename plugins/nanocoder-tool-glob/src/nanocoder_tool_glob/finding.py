"""One search from start to end: where, by which engine, and what of it is kept."""

import posixpath
from collections.abc import Collection, Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING

from attrs import frozen
from nanocoder import ToolContext, ToolError, WorkspaceError
from nanocoder_kit_glob import BadPattern, split_base
from nanocoder_kit_glob.ripgrep import find_ripgrep

from nanocoder_tool_glob import ripgrep
from nanocoder_tool_glob.wanted import Wanted, wanted

if TYPE_CHECKING:
    from nanocoder_tool_glob import Settings

QUICK_ENTRIES = 500
"""Up to so many entries of a tree, ripgrep (5 ms) is not worth its start."""


class _TooManyError(Exception):
    """The tree is not small."""


@frozen
class Found:
    """The newest files that match, and how many match in all."""

    newest: list[str]
    count: int
    engine: str


@frozen
class _Search:
    ctx: ToolContext
    top: str
    wanted: Wanted
    skip: Collection[str]
    most: int

    def by_python(self, *, entries: int = 0) -> Found:
        """Go through the tree; raises _TooManyError beyond *entries*, 0 for no limit."""
        return self._newest(_walked(self, entries), "python")

    def by_ripgrep(self, program: str) -> Found:
        """Let ripgrep go through the tree; raises RipgrepError."""
        files = ripgrep.listed(self.ctx, program, self.top, self.wanted, self.skip)
        return self._newest(files, "ripgrep")

    def _newest(self, files: Iterator[tuple[float, str]], engine: str) -> Found:
        count = 0

        def ages() -> Iterator[tuple[float, str]]:
            nonlocal count
            for changed, path in files:
                count += 1
                yield -changed, path

        newest = [path for _, path in nsmallest(self.most, ages())]
        return Found(newest, count, engine)


def find(ctx: ToolContext, pattern: str, path: str, settings: "Settings") -> Found:
    """Find files by ripgrep where it is there and sees what we see, otherwise in Python.

    Raises: ToolError for a pattern that is none, WorkspaceError for a *path* that is no directory.
    """
    base, rest = split_base(pattern)
    try:
        asked = wanted(rest)
    except BadPattern as error:
        raise ToolError(str(error), error_class="invalid_arguments") from None
    start = posixpath.join(path, base) if base else path
    if not ctx.workspace.is_dir(start):
        ctx.workspace.scan(path)  # a directory that was named has to exist, one in a pattern not
        return Found([], 0, "python")
    top = ctx.workspace.resolve(start)
    search = _Search(ctx, top, asked, frozenset(settings.skip), settings.max_results)
    program = "" if settings.engine == "python" else find_ripgrep(ctx.workspace.root)
    if not program or not ripgrep.can_list(ctx, top, search.skip):
        return search.by_python()
    try:
        if settings.engine == "auto":
            return search.by_python(entries=QUICK_ENTRIES)
    except _TooManyError:
        pass
    try:
        return search.by_ripgrep(program)
    except ripgrep.RipgrepError:
        return search.by_python()


def _walked(search: _Search, most: int) -> Iterator[tuple[float, str]]:
    """Yield the time and the path of each file that matches; times where nearly all will."""
    ctx, asked = search.ctx, search.wanted
    prefix = 0 if search.top == "." else len(search.top) + 1
    entries = ctx.workspace.walk(
        search.top, skip=search.skip, details=asked.is_anything, depth=asked.depth
    )
    for number, entry in enumerate(entries, 1):
        ctx.cancelled.check()
        if number == most:
            raise _TooManyError
        # Most files are ruled out by the end of their names, in a third of the time.
        if (
            entry.kind == "file"
            and entry.name.endswith(asked.ends)
            and (asked.is_whole or asked.matches(entry.path[prefix:]))
        ):
            yield entry.mtime or _mtime(ctx, entry.path), entry.path


def _mtime(ctx: ToolContext, path: str) -> float:
    try:
        return ctx.workspace.stat(path).st_mtime
    except WorkspaceError:  # gone meanwhile: the oldest
        return 0.0
