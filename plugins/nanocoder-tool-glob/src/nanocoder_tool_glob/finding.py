"""One search from start to end: where, and what of it is kept."""

import posixpath
from collections.abc import Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING

from attrs import frozen
from nanocoder import ToolContext, ToolError
from nanocoder_kit_glob import BadPattern, split_base

from nanocoder_tool_glob.wanted import Wanted, wanted

if TYPE_CHECKING:
    from nanocoder_tool_glob import Settings


@frozen
class Found:
    """The newest files that match, and how many match in all."""

    newest: list[str]
    count: int


def find(ctx: ToolContext, pattern: str, path: str, settings: "Settings") -> Found:
    """Find files.

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
        return Found([], 0)
    top = ctx.workspace.resolve(start)
    count = 0

    def ages() -> Iterator[tuple[float, str]]:
        nonlocal count
        for found in _matching(ctx, top, asked, frozenset(settings.skip)):
            count += len(found)
            yield from found

    newest = [path for _, path in nsmallest(settings.max_results, ages())]
    return Found(newest, count)


def _matching(
    ctx: ToolContext, top: str, asked: Wanted, skip: frozenset[str]
) -> Iterator[list[tuple[float, str]]]:
    """Yield the files of one directory that match, each with its time: the newest has the least."""
    prefix = 0 if top == "." else len(top) + 1
    for files in ctx.workspace.files(top, skip=skip, depth=asked.depth):
        ctx.cancelled.check()
        # Most files are ruled out by the end of their names alone.
        names = [name for name in files.names if name.endswith(asked.ends)]
        if names and not asked.is_whole:
            names = [name for name in names if asked.matches(files.path(name)[prefix:])]
        folder = files.path("")
        yield [
            (-time, folder + name) for time, name in zip(files.mtimes(names), names, strict=True)
        ]
