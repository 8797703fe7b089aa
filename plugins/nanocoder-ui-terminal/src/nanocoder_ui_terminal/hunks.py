"""The hunks of a change, each to be made or left out: the arguments become those of the rest."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import frozen

_RANGE: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MARKS: Final = {" ": (True, True), "-": (True, False), "+": (False, True)}
_NO_NEWLINE: Final = "\\ No newline at end of file"


@frozen
class Hunk:
    """One hunk of a unified diff: *file* is its two lines of header, *start* where it is then."""

    file: tuple[str, ...]
    head: str
    start: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The hunk as the diff has it."""
        return "\n".join((self.head, *self.lines))

    def side(self, place: int) -> list[str]:
        """Return its lines before (0) or after (1) the change."""
        return [line[1:] for line in self.lines if line[:1] in _MARKS and _MARKS[line[0]][place]]


def split(diff: str) -> list[Hunk]:
    """Return the hunks of a unified diff; none of a text that is not one from start to end."""
    hunks: list[Hunk] = []
    file: tuple[str, ...] = ()
    lines = diff.removesuffix("\n").split("\n")
    at = 0
    while at < len(lines):
        match = _RANGE.match(lines[at])
        if lines[at].startswith("--- ") and lines[at + 1 : at + 2][:1] and not match:
            file, at = tuple(lines[at : at + 2]), at + 2
        elif match and file:
            end = _end(lines, at + 1, int(match[2] or 1), int(match[4] or 1))
            hunks.append(Hunk(file, lines[at], int(match[3]), tuple(lines[at + 1 : end])))
            at = end
        else:
            return []
    return hunks


def _end(lines: Sequence[str], at: int, old: int, new: int) -> int:
    """Return the end of a hunk with *old* lines before and *new* lines after the change."""
    while at < len(lines) and (old > 0 or new > 0 or lines[at] == _NO_NEWLINE):
        before, after = _MARKS.get(lines[at][:1], (False, False))
        old, new, at = old - before, new - after, at + 1
    return at


def arguments_of(
    arguments: Mapping[str, Any], hunks: Sequence[Hunk], accepted: Sequence[Hunk]
) -> dict[str, Any] | None:
    """Return the arguments that make the *accepted* hunks alone; None if that cannot be said."""
    if any(_NO_NEWLINE in hunk.lines for hunk in hunks):
        return None
    if isinstance(arguments.get("patch"), str):
        return {**arguments, "patch": _patch(accepted)}
    if isinstance(arguments.get("content"), str):
        declined = [hunk for hunk in hunks if hunk not in accepted]
        content = _without(arguments["content"], declined)
        return None if content is None else {**arguments, "content": content}
    if "old_string" in arguments or "edits" in arguments:
        edits = [
            {"old_string": "\n".join(hunk.side(0)), "new_string": "\n".join(hunk.side(1))}
            for hunk in accepted
        ]
        return {"path": arguments.get("path"), "edits": edits}
    return None


def _patch(hunks: Sequence[Hunk]) -> str:
    lines: list[str] = []
    file: tuple[str, ...] = ()
    for hunk in hunks:
        if hunk.file != file:
            file = hunk.file
            lines += file
        lines.append(hunk.text)
    return "\n".join([*lines, ""])


def _without(content: str, hunks: Sequence[Hunk]) -> str | None:
    """Return *content* as it is without some hunks that led to it; None if they did not."""
    lines = content.split("\n")
    for hunk in reversed(hunks):
        start, after = hunk.start - 1, hunk.side(1)
        if start < 0 or lines[start : start + len(after)] != after:
            return None
        lines[start : start + len(after)] = hunk.side(0)
    return "\n".join(lines)
