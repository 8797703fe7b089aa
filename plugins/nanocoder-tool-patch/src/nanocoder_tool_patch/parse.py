"""Parse a patch in either form."""

from collections.abc import Sequence

from nanocoder_tool_patch import envelope, unified
from nanocoder_tool_patch.hunks import Section, invalid_patch

FENCE = "```"


def parse(patch: str) -> list[Section]:
    """Parse *patch* into a section for each file, in its order.

    Raises: ToolError (invalid_patch).
    """
    lines = patch.replace("\r\n", "\n").split("\n")
    first = _first(lines)
    last = len(lines)
    if lines[first].startswith(FENCE):
        fence = next((n for n in range(last - 1, first, -1) if lines[n].startswith(FENCE)), last)
        first, last = first + 1, fence
    body = lines[first:last]
    if any(line.startswith(_INSTRUCTIONS) for line in body[_first(body) :][:1]):
        sections = envelope.parse(body, first + 1)
    else:
        sections = unified.parse(body, first + 1)
    if not sections:
        raise invalid_patch(
            "it names no file; write a unified diff, or begin with '*** Begin Patch'", first + 1
        )
    return sections


_INSTRUCTIONS = (envelope.BEGIN, envelope.ADD, envelope.UPDATE, envelope.DELETE)


def _first(lines: Sequence[str]) -> int:
    """Return the first line that is not blank."""
    return next((number for number, line in enumerate(lines) if line.strip()), 0)
