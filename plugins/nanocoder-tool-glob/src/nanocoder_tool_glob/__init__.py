"""The tool glob: files by name, newest first."""

import posixpath
from collections.abc import Iterator
from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Effect,
    Entry,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from nanocoder_kit_glob import SKIPPED, BadPattern, compile_glob, split_base


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
    """Find files by name; newest first."""
    settings: Settings = ctx.settings or Settings()
    if not pattern:
        raise ToolError("the pattern is empty; **/* is every file", error_class="invalid_arguments")
    found = _find(ctx, pattern, path, settings)
    wider = ""
    if not found:
        wider = _wider(pattern)
        found = _find(ctx, wider, path, settings) if wider else []
    found.sort(key=lambda entry: (-entry.mtime, entry.path))
    shown = [entry.path for entry in found[: settings.max_results]]
    return ToolResult(
        _text(pattern, wider, shown, len(found)),
        title=pattern,
        data={"files": shown, "root": str(ctx.workspace.root)},
        metadata={
            "pattern": pattern,
            "path": ctx.workspace.relative(path),
            "count": len(found),
            "truncated": len(shown) < len(found),
            "retried_as": wider if found else "",
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


def _find(ctx: ToolContext, pattern: str, path: str, settings: Settings) -> list[Entry]:
    base, rest = split_base(pattern)
    try:
        matches = compile_glob(rest)
    except BadPattern as error:
        raise ToolError(str(error), error_class="invalid_arguments") from None
    start = posixpath.join(path, base) if base else path
    if base and not ctx.workspace.is_dir(start):
        ctx.workspace.scan(
            path
        )  # a directory that was named has to exist, one in a pattern has not
        return []
    skip = frozenset(settings.skip)
    return [entry for entry, below in _files(ctx, start, skip) if matches(below)]


def _files(ctx: ToolContext, start: str, skip: frozenset[str]) -> Iterator[tuple[Entry, str]]:
    """Yield each file with its path below *start*."""
    top = ctx.workspace.resolve(start)
    prefix = 0 if top == "." else len(top) + 1
    for entry in ctx.workspace.walk(start, skip=skip):
        ctx.cancelled.check()
        if entry.kind == "file":
            yield entry, entry.path[prefix:]


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
