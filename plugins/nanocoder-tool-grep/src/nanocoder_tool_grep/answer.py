"""The answer of grep: the number of matches first, then the lines."""

from typing import Any

from nanocoder import ToolResult
from nanocoder_kit_files.glob.left_out import left_out_metadata, left_out_note

from nanocoder_tool_grep.finding import Results
from nanocoder_tool_grep.query import COUNTED, Line, Query, path_filter


def answer(query: Query, results: Results, *, can_go_on: bool) -> ToolResult:
    """Describe the *results* of a search.

    *can_go_on* says whether the model can ask for the results after those shown.
    """
    head = _head(query, results, can_go_on=can_go_on)
    return ToolResult(
        "\n".join([head, *_body(query, results), *_notes(query, results)]),
        title=query.pattern,
        data=_data(query, results),
        metadata={
            "pattern": query.pattern,
            "path": query.path,
            "count": results.count,
            "files": results.files,
            "truncated": results.has_more or results.stopped,
            "summary": f"{results.count:,} match{'' if results.count == 1 else 'es'}",
            **left_out_metadata(results.skipped, path_filter(query)),
            **({"unreadable": results.unreadable} if results.unreadable else {}),
            **({"read_as": results.read_as} if results.read_as else {}),
        },
    )


def _head(query: Query, results: Results, *, can_go_on: bool) -> str:
    count = _count(query, results, can_go_on=can_go_on)
    if results.stopped:
        limit = (
            f"[the search was stopped after {results.limit_s:g} s; narrow the path or the files]"
        )
        return f"{limit}\n{count}" if results.count else f"{limit}\nNo matches so far"
    return count


def _count(query: Query, results: Results, *, can_go_on: bool) -> str:
    noun = "line" if query.output == "content" else "file"
    if not results.count:
        where = "" if query.path == "." else f" in {query.path}"
        kinds = [f"files like {query.glob}"] if query.glob else []
        kinds += [f"type {query.type}"] if query.type else []
        only = f" ({', '.join(kinds)})" if kinds else ""
        return f"No {noun}s match {query.pattern!r}{where}{only}"
    number = f"{results.count:,}" if results.is_complete else f"More than {COUNTED:,}"
    head = f"{number} {noun} matches" if results.count == 1 else f"{number} {noun}s match"
    return head + _part(results, can_go_on=can_go_on) + ":" * (results.page_count > 0)


def _part(results: Results, *, can_go_on: bool) -> str:
    """Return a clause with the range of these results, and how to continue."""
    offset, end = results.page.offset, results.page.offset + results.page_count
    if not results.page_count:
        return f", none after the first {offset:,}"
    if not offset and not results.has_more:
        return ""
    part = f"; {offset + 1} to {end}" if offset else f"; the first {end}"
    # Results after COUNTED are never stored, so a larger offset would find nothing.
    has_more = results.has_more and end < COUNTED and not results.stopped
    return f"{part}, continue with offset {end}" if has_more and can_go_on else part


def _body(query: Query, results: Results) -> list[str]:
    if query.output == "files":
        return [line.path for line in results.lines]
    if query.output == "count":
        return [f"{line.path}: {line.number}" for line in results.lines]
    result: list[str] = []
    before: Line | None = None
    for line in results.lines:
        if query.context and before and not _follows(before, line):
            result.append("--")
        mark = ":" if line.is_match else "-"
        result.append(f"{line.path}{mark}{line.number}{mark} {line.text}")
        before = line
    return result


def _follows(before: Line, line: Line) -> bool:
    return (before.path, before.number + 1) == (line.path, line.number)


def _notes(query: Query, results: Results) -> list[str]:
    found_nothing = not results.count
    notes = [left_out_note(results.skipped, path_filter(query), found_nothing=found_nothing)]
    failed = (
        (results.unreadable, "could not be read: the system refused"),
        (results.too_slow, "given up: the pattern takes too long there"),
        (results.too_large, "too large to be searched in another encoding than UTF-8"),
    )
    notes += [f"[{_files(count)} {why}]" for count, why in failed if count]
    if results.read_as:
        tried = "nor" if found_nothing else "so it was read as"
        notes.append(f"[{query.pattern!r} matches nothing, {tried} {results.read_as!r}]")
    return list(filter(None, notes))


def _files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"


def _data(query: Query, results: Results) -> dict[str, Any]:
    if query.output == "files":
        return {"files": [line.path for line in results.lines]}
    if query.output == "count":
        return {"counts": [{"path": line.path, "count": line.number} for line in results.lines]}
    return {
        "lines": [
            {"path": line.path, "line": line.number, "text": line.text, "match": line.is_match}
            for line in results.lines
        ]
    }
