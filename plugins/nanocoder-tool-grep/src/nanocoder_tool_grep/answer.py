"""What grep answers: the number first, then the lines."""

from typing import Any

from nanocoder import ToolResult

from nanocoder_tool_grep.finding import Found
from nanocoder_tool_grep.matching import MAX_LINE
from nanocoder_tool_grep.query import COUNTED, LINE_BY_LINE, Line, Query, path_filter


def answer(query: Query, found: Found, *, hint: str, can_go_on: bool) -> ToolResult:
    """Describe what was *found*.

    *hint* follows the note that a pattern is matched line by line; *can_go_on* says whether the
    model can ask for the results after those shown.
    """
    trouble = found.trouble
    unreadable = trouble.unreadable + len(trouble.left_out.unreadable)
    return ToolResult(
        "\n".join(
            [
                _head(query, found, can_go_on=can_go_on),
                *_body(query, found),
                *_notes(query, found, unreadable, hint),
            ]
        ),
        title=query.pattern,
        data=_data(query, found),
        metadata={
            "pattern": query.pattern,
            "path": query.path,
            "count": found.count,
            "files": found.files,
            "truncated": found.has_more or found.stopped,
            "engine": found.engine,
            "summary": f"{found.count:,} match{'' if found.count == 1 else 'es'}",
            **trouble.left_out.metadata(path_filter(query)),
            **({"unreadable": unreadable} if unreadable else {}),
        },
    )


def _head(query: Query, found: Found, *, can_go_on: bool) -> str:
    count = _count(query, found, can_go_on=can_go_on)
    if found.stopped:
        limit = f"[the search was stopped after {found.limit_s:g} s; narrow the path or the files]"
        return f"{limit}\n{count}" if found.count else f"{limit}\nNothing found yet"
    return count


def _count(query: Query, found: Found, *, can_go_on: bool) -> str:
    noun = "line" if query.output == "content" else "file"
    if not found.count:
        where = "" if query.path == "." else f" in {query.path}"
        kinds = [f"files like {query.glob}"] if query.glob else []
        kinds += [f"type {query.type}"] if query.type else []
        only = f" ({', '.join(kinds)})" if kinds else ""
        return f"No {noun}s match {query.pattern!r}{where}{only}"
    number = f"{found.count:,}" if found.is_complete else f"More than {COUNTED:,}"
    head = f"{number} {noun} matches" if found.count == 1 else f"{number} {noun}s match"
    return head + _part(found, can_go_on=can_go_on) + ":" * (found.kept > 0)


def _part(found: Found, *, can_go_on: bool) -> str:
    """Say which of the results these are, and how to get the others."""
    offset, end = found.page.offset, found.page.offset + found.kept
    if not found.kept:
        return f", none after the first {offset:,}"
    if not offset and not found.has_more:
        return ""
    part = f"; {offset + 1} to {end}" if offset else f"; the first {end}"
    has_more = found.has_more and end < COUNTED and not found.stopped
    return f"{part}, continue with offset {end}" if has_more and can_go_on else part


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


def _notes(query: Query, found: Found, unreadable: int, hint: str) -> list[str]:
    notes = [found.trouble.left_out.note(path_filter(query))]
    if unreadable:
        notes.append(f"[{_files(unreadable)} could not be read: the system refused]")
    if found.trouble.too_large:
        notes.append(f"[{_files(found.trouble.too_large)} too large to be searched across lines]")
    if query.looks_across and not found.count:
        notes.append(f"[{LINE_BY_LINE}{hint}]")
    return list(filter(None, notes))


def _files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"


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
