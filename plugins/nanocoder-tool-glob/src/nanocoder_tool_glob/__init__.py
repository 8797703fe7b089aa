"""The tool glob: files by name, newest first."""

import posixpath
import re
from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Effect,
    Entry,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    WorkspaceError,
    hookimpl,
    tool,
)
from nanocoder_kit_glob import SKIPPED, BadPattern, compile_glob, expand_braces, split_base


@frozen
class Settings:
    """What `[plugins.tool-glob]` may set.

    At most *max_results* files are named; directories with a name in *skip* are not gone into.
    """

    max_results: int = 1_000
    skip: tuple[str, ...] = tuple(sorted(SKIPPED))


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"pattern": "**/*.py"}],
    short="Find files by name, like **/*.py.",
)
def glob(
    ctx: ToolContext,
    pattern: Annotated[str, "Like src/**/*.{ts,tsx}."],
    path: Annotated[str, "Where to look."] = ".",
) -> ToolResult:
    """Find files; newest first."""
    settings: Settings = ctx.settings or Settings()
    if not pattern:
        raise ToolError("the pattern is empty; **/* is every file", error_class="invalid_arguments")
    shown, count = _find(ctx, pattern, path, settings)
    wider = ""
    if not count:
        wider = _wider(pattern)
        shown, count = _find(ctx, wider, path, settings) if wider else ([], 0)
    return ToolResult(
        _text(pattern, wider, shown, count),
        title=pattern,
        data={"files": shown, "root": str(ctx.workspace.root)},
        metadata={
            "pattern": pattern,
            "path": ctx.workspace.relative(path),
            "count": count,
            "truncated": len(shown) < count,
            "retried_as": wider if count else "",
        },
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer glob."""
    return [glob]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-glob]`."""
    return Settings


def _find(ctx: ToolContext, pattern: str, path: str, settings: Settings) -> tuple[list[str], int]:
    """Return the newest files that match, and how many match in all."""
    base, rest = split_base(pattern)
    try:
        matches = compile_glob(rest)
        ends = tuple(_end(single) for single in expand_braces(rest))
    except BadPattern as error:
        raise ToolError(str(error), error_class="invalid_arguments") from None
    start = posixpath.join(path, base) if base else path
    if base and not ctx.workspace.is_dir(start):
        ctx.workspace.scan(
            path
        )  # a directory that was named has to exist, one in a pattern has not
        return [], 0
    count = 0

    def ages() -> Iterator[tuple[float, str]]:
        nonlocal count
        for entry in _files(ctx, start, frozenset(settings.skip), ends, matches):
            count += 1
            yield -(entry.mtime or _mtime(ctx, entry.path)), entry.path

    newest = nsmallest(settings.max_results, ages())
    return [found for _, found in newest], count


def _files(
    ctx: ToolContext,
    start: str,
    skip: frozenset[str],
    ends: tuple[str, ...],
    matches: Callable[[str], bool],
) -> Iterator[Entry]:
    """Yield each file that matches; with its time where nearly all will."""
    top = ctx.workspace.resolve(start)
    prefix = 0 if top == "." else len(top) + 1
    for entry in ctx.workspace.walk(start, skip=skip, details="" in ends):
        ctx.cancelled.check()
        # Most files are ruled out by the end of their names, in a third of the time.
        if entry.kind == "file" and entry.name.endswith(ends) and matches(entry.path[prefix:]):
            yield entry


def _end(pattern: str) -> str:
    """Return how every name that matches *pattern* ends; "" when that is not known."""
    end = re.split(r"[*?\]/]", pattern)[-1]
    return "" if set(end) & set("[\\") else end


def _mtime(ctx: ToolContext, path: str) -> float:
    try:
        return ctx.workspace.stat(path).st_mtime
    except WorkspaceError:  # gone meanwhile: the oldest
        return 0.0


def _wider(pattern: str) -> str:
    """Return the pattern for the same kind of file anywhere; "" when it would be the same."""
    name = pattern.rpartition("/")[2]
    extension = name.rpartition(".")[2] if "." in name else ""
    wider = f"**/*.{extension}" if extension and "*" in name else f"**/{name}"
    return "" if wider == pattern or name in {"*", "**", ""} else wider


def _text(pattern: str, wider: str, shown: list[str], count: int) -> str:
    if not count:
        return f"No files match {pattern!r}" + (f", nor {wider!r}" if wider else "")
    head = f"{count} file{'s' if count != 1 else ''}:"
    if wider:
        head = f"No files match {pattern!r}. {count} match {wider!r}:"
    rest = [f"[{count - len(shown):,} more files]"] if len(shown) < count else []
    return "\n".join([head, *shown, *rest])
