"""One search from start to end: the walk, and the selection of the newest files."""

import posixpath
from collections.abc import Iterable, Iterator
from heapq import nsmallest

from attrs import frozen
from nanocoder import ToolContext, ToolError
from nanocoder_kit_files.glob import BadPattern, split_base
from nanocoder_kit_files.glob.git_ignore import list_files
from nanocoder_kit_files.glob.left_out import LeftOut
from nanocoder_kit_files.glob.walks import Files

from nanocoder_tool_glob.pattern import FilePattern, compile_pattern
from nanocoder_tool_glob.settings import Settings


@frozen
class Results:
    """The newest files that match, and the number of matches.

    *is_complete* is false if the search ended early; *left_out* are files that were excluded.
    """

    newest: list[str]
    count: int
    left_out: LeftOut
    is_complete: bool = True


def find(ctx: ToolContext, pattern: str, path: str, settings: Settings) -> Results:
    """Find files.

    Raises: ToolError for an invalid pattern, WorkspaceError for a *path* that is no directory.
    """
    base, rest = split_base(pattern)
    try:
        file_pattern = compile_pattern(rest)
    except BadPattern as error:
        raise ToolError(str(error), error_class="invalid_arguments") from None
    start = posixpath.join(path, base) if base else path
    if not ctx.workspace.is_dir(start):
        ctx.workspace.scan(path)  # *path* has to exist, a directory inside the pattern need not
        return Results([], 0, LeftOut())
    top = ctx.workspace.resolve(start)
    prefix = 0 if top == "." else len(top) + 1
    left_out = LeftOut()
    skip = frozenset(settings.skip)
    folders = list_files(ctx.workspace, top, skip=skip, depth=file_pattern.depth, left_out=left_out)
    ages: list[tuple[float, str]] = []
    is_complete = True
    for files, names in _filter_names(ctx, folders, file_pattern, prefix):
        room = settings.max_matches - len(ages)
        ages += _with_ages(files, names[:room])
        if len(names) > room:
            is_complete = False
            break
    newest = [path for _, path in nsmallest(settings.max_results, ages)]
    left_out.keep(lambda path: file_pattern.matches(path[prefix:]))
    return Results(newest, len(ages), left_out, is_complete)


def _filter_names(
    ctx: ToolContext, folders: Iterable[Files], file_pattern: FilePattern, prefix: int
) -> Iterator[tuple[Files, list[str]]]:
    """Yield each directory's files with the names that match."""
    for files in folders:
        ctx.cancelled.check()
        # The ending of the name alone rules out most files.
        names = [name for name in files.names if name.endswith(file_pattern.ends)]
        if names and not file_pattern.ends_decide:
            # The endings alone do not decide: the whole path has to match.
            names = [name for name in names if file_pattern.matches(files.path(name)[prefix:])]
        if names:
            yield files, names


def _with_ages(files: Files, names: list[str]) -> Iterator[tuple[float, str]]:
    """Return paths with their negated times: the newest comes first."""
    folder = files.path("")
    return ((-time, folder + name) for time, name in zip(files.mtimes(names), names, strict=True))
