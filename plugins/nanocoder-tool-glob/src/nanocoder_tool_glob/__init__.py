"""The tool glob: files by name, newest first."""

from typing import TYPE_CHECKING, Annotated, Any

from nanocoder import (
    Effect,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    hookimpl,
    nearest,
    tool,
)
from nanocoder_kit_files.glob.left_out import left_out_metadata, left_out_note

from nanocoder_tool_glob.search import find
from nanocoder_tool_glob.settings import Settings

if TYPE_CHECKING:
    from nanocoder_tool_glob.search import Results

MAX_OTHERS = 10
"""Limit of the suggested files that only have the kind which a pattern asks for."""


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"pattern": "**/*.py"}],
    always_listed=True,
    short="Find files by name, like **/*.py.",
)
def glob(
    ctx: ToolContext,
    pattern: Annotated[str, "Like src/**/*.{ts,tsx}; ** is any directories."],
    path: Annotated[str, "Directory; where the pattern starts."] = ".",
) -> ToolResult:
    """Find files by name: at most 1,000 paths, the last changed first.

    Left out are files that git ignores and directories like node_modules. For what is in files use
    grep.
    """
    settings: Settings = ctx.settings or Settings()
    if not pattern:
        raise ToolError("the pattern is empty; **/* is every file", error_class="invalid_arguments")
    results = find(ctx, pattern, path, settings)
    tried: list[str] = []
    for wider in _wider(pattern):
        if results.count:
            break
        results = find(ctx, wider, path, settings)
        tried.append(wider)
    files, count = results.newest, results.count
    if tried and len(files) > MAX_OTHERS and not pattern.endswith(tried[-1].removeprefix("**/")):
        # Files of the same kind are only suggestions.
        files = nearest(pattern, files, limit=MAX_OTHERS, cutoff=0.0)
    note = left_out_note(results.left_out, found_nothing=not count)
    return ToolResult(
        "\n".join([_text(pattern, tried, results, files), *([note] if note else [])]),
        title=pattern,
        data={"files": files, "root": str(ctx.workspace.root)},
        metadata={
            "pattern": pattern,
            "path": ctx.workspace.relative(path),
            "count": count,
            "truncated": len(files) < count or not results.is_complete,
            "summary": f"{count:,} path{'' if count == 1 else 's'}",
            **left_out_metadata(results.left_out),
            "retried_as": tried[-1] if tried and count else "",
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


def _wider(pattern: str) -> list[str]:
    """Return patterns that find more: the same name anywhere, then the same kind of file."""
    name = pattern.rpartition("/")[2]
    extension = name.rpartition(".")[2] if "." in name else ""
    wider = [] if "*" in name or not name else [f"**/{name}"]
    wider += [f"**/*.{extension}"] if extension.strip("*") else []
    return [candidate for candidate in wider if candidate != pattern]


def _text(pattern: str, tried: list[str], results: "Results", files: list[str]) -> str:
    count = results.count
    if not count:
        return ", nor ".join([f"No files match {pattern!r}", *map(repr, tried)])
    head = f"{count} file{'s' if count != 1 else ''}:"
    if not results.is_complete:
        head = f"More than {count:,} files; the newest of the first {count:,}:"
    if tried:
        nothing = ", nor ".join([f"No files match {pattern!r}", *map(repr, tried[:-1])])
        head = f"{nothing}. {count} match {tried[-1]!r}:"
    rest = [] if results.is_complete else ["[the search ended there; narrow the pattern]"]
    rest += [f"[{count - len(files):,} more files]"] if len(files) < count else []
    return "\n".join([head, *files, *rest])
