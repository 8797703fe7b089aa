"""One search from start to end: where, and what of it is kept."""

import posixpath
from collections.abc import Iterable, Iterator
from heapq import nsmallest

from attrs import frozen
from nanocoder import Files, LeftOut, ToolContext, ToolError
from nanocoder_kit_glob import BadPattern, split_base

from nanocoder_tool_glob.settings import Settings
from nanocoder_tool_glob.wanted import Wanted, wanted


@frozen
class Found:
    """The newest files that match, and how many match.

    *is_complete* is false when the search ended before it saw all of them; *left_out* is what
    policies keep from it.
    """

    newest: list[str]
    count: int
    left_out: LeftOut
    is_complete: bool = True


def find(ctx: ToolContext, pattern: str, path: str, settings: Settings) -> Found:
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
        return Found([], 0, LeftOut())
    top = ctx.workspace.resolve(start)
    prefix = 0 if top == "." else len(top) + 1
    left_out = LeftOut()
    walked = ctx.workspace.files(
        top, skip=frozenset(settings.skip), depth=asked.depth, left_out=left_out
    )
    ages: list[tuple[float, str]] = []
    is_complete = True
    for files, names in _matching(ctx, walked, asked, prefix):
        room = settings.max_matches - len(ages)
        ages += _aged(files, names[:room])
        if len(names) > room:
            is_complete = False
            break
    newest = [path for _, path in nsmallest(settings.max_results, ages)]
    left_out.files = [path for path in left_out.files if asked.matches(path[prefix:])]
    return Found(newest, len(ages), left_out, is_complete)


def _matching(
    ctx: ToolContext, walked: Iterable[Files], asked: Wanted, prefix: int
) -> Iterator[tuple[Files, list[str]]]:
    """Yield files of one directory, and the names of those that match."""
    for files in walked:
        ctx.cancelled.check()
        # Most files are ruled out by the end of their names alone.
        names = [name for name in files.names if name.endswith(asked.ends)]
        if names and not asked.is_whole:
            names = [name for name in names if asked.matches(files.path(name)[prefix:])]
        if names:
            yield files, names


def _aged(files: Files, names: list[str]) -> Iterator[tuple[float, str]]:
    """Return paths with their times: the newest has the least."""
    folder = files.path("")
    return ((-time, folder + name) for time, name in zip(files.mtimes(names), names, strict=True))
