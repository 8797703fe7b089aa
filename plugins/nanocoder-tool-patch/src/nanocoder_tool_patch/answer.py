"""The answer of a patch, and its preview for a person."""

from collections.abc import Sequence

from nanocoder import ToolResult
from nanocoder_kit_files.diff import clip_lines

from nanocoder_tool_patch.plan import Change

MAX_DIFF_LINES = 2_000
SHOWN_FILES = 100


def answer(changes: Sequence[Change], faults: Sequence[str] = ()) -> ToolResult:
    """Return the result for *changes*, and the *faults* that they introduced."""
    files = [
        {
            "change": change.letter,
            "path": change.path,
            "target": change.target,
            "added": diff.added,
            "removed": diff.removed,
            "mode": f"{change.mode:o}" if change.mode else "",
        }
        for change in changes
        for diff in (change.diff(),)
    ]
    count = len(changes)
    title = f"{count} file{'s' if count != 1 else ''}"
    lines = [_line(file) for file in files[:SHOWN_FILES]]
    if count > SHOWN_FILES:
        lines.append(f"[{count - SHOWN_FILES} more files]")
    return ToolResult(
        "\n".join([f"Patch applied: {title}", *lines, *_notes(changes), *filter(None, faults)]),
        title=title,
        data={"files": files},
        metadata={
            "files_changed": _paths(changes),
            "added": sum(file["added"] for file in files),
            "removed": sum(file["removed"] for file in files),
            "diff": clip_lines(preview(changes), MAX_DIFF_LINES),
        },
    )


def preview(changes: Sequence[Change]) -> str:
    """Return the diffs of all *changes*."""
    return "\n".join(line for change in changes for line in _preview_lines(change))


def _preview_lines(change: Change) -> list[str]:
    lines = []
    if change.target:
        lines += [f"rename from {change.path}", f"rename to {change.target}"]
    text = change.diff().text
    if not text and not change.target:  # an empty file, or one that is not text
        size = len(change.data)
        verb = "add" if change.letter == "A" else "delete"
        text = f"{verb} {change.path} ({size:,} byte{'' if size == 1 else 's'})"
    return [*lines, text] if text else lines


def _line(file: dict[str, object]) -> str:
    name = f"{file['path']} -> {file['target']}" if file["target"] else file["path"]
    mode = f", mode {file['mode']}" if file["mode"] else ""
    return f"{file['change']} {name} (+{file['added']} -{file['removed']}{mode})"


def _paths(changes: Sequence[Change]) -> list[str]:
    """Return every path whose content has changed, in order."""
    both = (path for change in changes for path in (change.path, change.target) if path)
    return list(dict.fromkeys(both))


def _notes(changes: Sequence[Change]) -> list[str]:
    tolerated = [
        f"[{change.final_path}: white space or signs differ at line"
        f" {', '.join(map(str, change.tolerant))}; the file's own lines were kept]"
        for change in changes
        if change.tolerant
    ]
    guesses = [
        f"[{change.final_path}: written as {change.encoding}, which is a guess]"
        for change in changes
        if change.encoding
    ]
    ends = [
        f"[{change.final_path}: lines that came without context were added at the end]"
        for change in changes
        if change.is_appended
    ]
    return [*tolerated, *ends, *guesses]
