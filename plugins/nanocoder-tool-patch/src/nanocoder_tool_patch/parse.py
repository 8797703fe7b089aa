"""Parse a patch in either form."""

import re
from collections.abc import Sequence

from nanocoder_tool_patch import envelope, unified
from nanocoder_tool_patch.hunks import Section, invalid_patch

FENCE = "```"
HEREDOC = r"<<-?\s*(['\"]?)(?P<end>\w+)\1"


def parse(patch: str) -> list[Section]:
    """Parse *patch* into a section for each file, in its order.

    Raises: ToolError (invalid_patch).
    """
    lines = patch.replace("\r\n", "\n").split("\n")
    first, last = _unwrapped(lines)
    body = lines[first:last]
    start = _first(body)
    if body and body[start].strip() == envelope.BEGIN and _is_unified(body[start + 1 :]):
        sections = unified.parse(_without_end(body[start + 1 :]), first + 2 + start)
    elif body and body[start].strip().startswith(_INSTRUCTIONS):
        sections = envelope.parse(body, first + 1)
    else:
        sections = unified.parse(body, first + 1)
    if not sections:
        raise invalid_patch(
            "it names no file; write a unified diff, or begin with '*** Begin Patch'", first + 1
        )
    return sections


_INSTRUCTIONS = (envelope.BEGIN, envelope.ADD, envelope.UPDATE, envelope.DELETE)


def _unwrapped(lines: Sequence[str]) -> tuple[int, int]:
    """Return the first line of a patch and the line after it, without wrappers by models.

    Wrappers are a here document, prose and a fence, in any order.
    """
    first, last = _first(lines), len(lines)
    if heredoc := re.search(HEREDOC, lines[first]):
        end = heredoc["end"]
        ends = (n for n in range(last - 1, first, -1) if lines[n].strip(" \t'\"") == end)
        first, last = first + 1, next(ends, last)
        first += _first(lines[first:last])
    fences = [number for number in range(first, last) if lines[number].startswith(FENCE)]
    if fences and not any(map(_begins, lines[first : fences[0]])):
        return fences[0] + 1, fences[-1] if len(fences) > 1 else last
    return first, last


def _without_end(lines: Sequence[str]) -> Sequence[str]:
    ends = (number for number, line in enumerate(lines) if line.rstrip() == envelope.END)
    return lines[: next(ends, len(lines))]


def _begins(line: str) -> bool:
    """Return True if a patch may begin with *line*."""
    return line.strip().startswith(_INSTRUCTIONS) or line.startswith(("--- ", "diff ", "Index: "))


def _is_unified(lines: Sequence[str]) -> bool:
    return any(line.startswith(("--- ", "diff ")) for line in lines[_first(lines) :][:1])


def _first(lines: Sequence[str]) -> int:
    """Return the first line that is not blank."""
    return next((number for number, line in enumerate(lines) if line.strip()), 0)
