"""The tool list_files: a directory as a tree."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import Effect, Entry, Param, Tool, ToolContext, ToolResult, hookimpl, tool
from nanocoder_kit_files.glob import SKIPPED
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_files.glob.left_out import LeftOut, left_out_metadata, left_out_note

MAX_DEPTH = 20
_MARKS = {"dir": "/", "link": "@", "other": "|", "file": ""}


@frozen
class Settings:
    """The settings of `[plugins.tool-list]`.

    At most *max_entries* are listed; directories with a name in *skip* are left out.
    """

    max_entries: int = 500
    skip: tuple[str, ...] = tuple(sorted(SKIPPED))


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{}, {"path": ".", "depth": 1}],
    always_listed=True,
    short="List a directory.",
)
def list_files(
    ctx: ToolContext,
    path: Annotated[str, "Directory; relative to the workspace."] = ".",
    depth: Annotated[int, Param("Levels; how far down.", ge=1, le=MAX_DEPTH)] = 2,
) -> ToolResult:
    """List a directory as a tree: at most 500 names, without what git ignores.

    To find files by name use glob.
    """
    settings: Settings = ctx.settings or Settings()
    top = ctx.workspace.resolve(path)
    entries: list[Entry] = []
    count = 0
    left_out = LeftOut()
    # Without details: sizes and times are not shown, and each would take a system call.
    for entry in walk(
        *(ctx.workspace, path), skip=settings.skip, depth=depth, details=False, left_out=left_out
    ):
        ctx.cancelled.check()
        count += 1
        if len(entries) < settings.max_entries:
            entries.append(entry)
    return ToolResult(
        # An incomplete list misleads, even if it is not empty.
        "\n".join(
            filter(None, [_text(top, entries, count), left_out_note(left_out, found_nothing=True)])
        ),
        title=top,
        data={"path": top, "entries": [{"path": e.path, "kind": e.kind} for e in entries]},
        metadata={
            "path": top,
            "count": count,
            "truncated": len(entries) < count,
            "summary": f"{count:,} entr{'y' if count == 1 else 'ies'}",
            **left_out_metadata(left_out),
        },
    )


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer list_files."""
    return [list_files]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-list]`."""
    return Settings


def _text(top: str, entries: list[Entry], count: int) -> str:
    if not count:
        return f"{top}/ has nothing to list"
    levels = 0 if top == "." else top.count("/") + 1
    lines = [f"{top}/"]
    for entry in entries:
        indent = "  " * (entry.path.count("/") - levels + 1)
        problem = f" [{entry.problem}]" if entry.problem else ""
        lines.append(f"{indent}{entry.name}{_MARKS[entry.kind]}{problem}")
    if len(entries) < count:
        lines.append(f"[{count - len(entries):,} more entries]")
    return "\n".join(lines)
