"""What grep answers: the number first, then the lines."""

from typing import Any

from nanocoder import ToolResult

from nanocoder_tool_grep.finding import Found
from nanocoder_tool_grep.matching import MAX_LINE
from nanocoder_tool_grep.query import COUNTED, Line, Query


def answer(query: Query, found: Found) -> ToolResult:
    """Describe what was *found*."""
    return ToolResult(
        "\n".join([_head(query, found), *_body(query, found), *_notes(found)]),
        title=query.pattern,
        data=_data(query, found),
        metadata={
            "pattern": query.pattern,
            "path": query.path,
            "count": found.count,
            "files": found.files,
            "truncated": found.has_more or found.stopped,
            "engine": found.engine,
        },
    )


def _head(query: Query, found: Found) -> str:
    noun = "line" if query.output == "content" else "file"
    if not found.count:
        where = "" if query.path == "." else f" in {query.path}"
        kinds = [f"files like {query.glob}"] if query.glob else []
        kinds += [f"type {query.type}"] if query.type else []
        only = f" ({', '.join(kinds)})" if kinds else ""
        return f"No {noun}s match {query.pattern!r}{where}{only}"
    number = f"{found.count:,}" if found.is_complete else f"More than {COUNTED:,}"
    head = f"{number} {noun} matches" if found.count == 1 else f"{number} {noun}s match"
    return head + _part(found) + ":" * (found.kept > 0)


def _part(found: Found) -> str:
    """Say which of the results these are, and how the others are got."""
    offset, end = found.page.offset, found.page.offset + found.kept
    if not found.kept:
        return f", none after the first {offset:,}"
    if not offset and not found.has_more:
        return ""
    part = f"; {offset + 1} to {end}" if offset else f"; the first {end}"
    can_go_on = found.has_more and end < COUNTED and not found.stopped
    return f"{part}, continue with offset {end}" if can_go_on else part


def _body(query: Query, found: Found) -> list[str]:
    if query.output == "files":
        return [line.path for line in found.lines]
    if query.output == "count":
        return [f"{line.path}: {line.number}" for line in found.lines]
    result: list[str] = []
    before: Line | None = None
    for line in found.lines:
        if query.context and before and not _follows(before, line):
            result.append("--")
        mark = ":" if line.is_match else "-"
        cut = "\u2026" if len(line.text) == MAX_LINE else ""
        result.append(f"{line.path}{mark}{line.number}{mark} {line.text}{cut}")
        before = line
    return result


def _follows(before: Line, line: Line) -> bool:
    return (before.path, before.number + 1) == (line.path, line.number)


def _notes(found: Found) -> list[str]:
    return ["[the search took too long and was stopped; search in less]"] if found.stopped else []


def _data(query: Query, found: Found) -> dict[str, Any]:
    if query.output == "files":
        return {"files": [line.path for line in found.lines]}
    if query.output == "count":
        return {"counts": [{"path": line.path, "count": line.number} for line in found.lines]}
    return {
        "lines": [
            {"path": line.path, "line": line.number, "text": line.text, "match": line.is_match}
            for line in found.lines
        ]
    }
