"""Locate a hunk in a file: exactly, or tolerant of white space and lookalike signs."""

from collections import Counter
from collections.abc import Callable, Sequence

from attrs import frozen
from nanocoder import ToolError
from nanocoder_kit_files.text import fold

from nanocoder_tool_patch.hunks import Hunk

SHOWN_PLACES = 10
SHOWN_CHARS = 120

Key = Callable[[str], str]


@frozen
class Place:
    """The location of a hunk: line *start*, from 0; *exact* unless white space or signs differ."""

    start: int
    exact: bool = True


def locate(lines: Sequence[str], hunk: Hunk, cursor: int, shift: int) -> Place:
    """Find *hunk* at or after line *cursor*.

    *shift* is the distance of the previous hunk from the line that the patch gives for it.
    Raises: ToolError (text_not_found, several_matches).
    """
    old = hunk.old
    if not old:
        return _locate_insertion(lines, hunk, cursor)
    begins = _after_anchors(lines, hunk, cursor)
    # The exact text comes first: a tolerant match must never win over an exact one.
    for key in (_identity, _trim_end, _alike):
        starts = _matches(lines, old, cursor, key)
        if hunk.at_end:
            starts = [start for start in starts if start + len(old) == len(lines)]
        if starts := _choose(starts, begins, hunk, shift):
            return Place(starts[0], exact=key is _identity)
    raise _missing_error(lines, hunk, max([cursor, *begins[:1]]))


def _choose(starts: list[int], begins: list[int], hunk: Hunk, shift: int) -> list[int]:
    """Return the one of *starts* that is meant, behind an anchor at one of *begins*, or none.

    Raises: ToolError (several_matches).
    """
    if len(starts) == 1 and (not hunk.anchors or not begins or starts[0] >= begins[0]):
        return starts
    expected = hunk.start - 1 + shift
    # Line numbers of models are often wrong: they only decide between several locations.
    if hunk.start and expected in starts:
        return [expected]
    if begins:
        behind = {next((start for start in starts if start >= begin), None) for begin in begins}
        starts = sorted(start for start in behind if start is not None)
    if len(starts) > 1:
        raise _several_error(starts)
    return starts


def _identity(line: str) -> str:
    return line


def _trim_end(line: str) -> str:
    return line.rstrip(" \t")


def _alike(line: str) -> str:
    return fold(line).rstrip(" \t")


def _matches(lines: Sequence[str], old: Sequence[str], begin: int, key: Key) -> list[int]:
    keys = [key(line) for line in old]
    last = len(lines) - len(old)
    return [
        start
        for start in range(begin, last + 1)
        if key(lines[start]) == keys[0]
        and all(key(lines[start + n]) == line for n, line in enumerate(keys))
    ]


def _after_anchors(lines: Sequence[str], hunk: Hunk, cursor: int) -> list[int]:
    """Return the lines behind the last anchor, wherever it is; [] without anchors.

    An anchor that is nowhere only matters where the text is not unique.
    """
    begins: list[int] = []
    for anchor in hunk.anchors:
        sought = _alike(anchor).strip()
        rest = range(min(begins, default=cursor), len(lines))
        hits = [n for n in rest if _alike(lines[n]).strip() == sought] or [
            n for n in rest if _alike(lines[n]).strip().startswith(sought)
        ]
        begins = [hit + 1 for hit in hits]
    return begins


def _locate_insertion(lines: Sequence[str], hunk: Hunk, cursor: int) -> Place:
    """Locate a hunk without old lines as the patch says, else at the end."""
    if hunk.at_end or not lines:
        return Place(len(lines))
    if hunk.anchors:
        begins = _after_anchors(lines, hunk, cursor)
        if len(begins) != 1:
            raise _anchor_error(hunk.anchors[-1], begins)
        return Place(begins[0])
    if cursor < hunk.start <= len(lines) + 1:
        return Place(hunk.start - 1)
    if hunk.start:
        raise ToolError(
            f"it adds lines at line {hunk.start}, which is not there; give lines around them",
            error_class="text_not_found",
        )
    return Place(len(lines))


def _anchor_error(anchor: str, begins: Sequence[int]) -> ToolError:
    subject = f"the anchor {anchor[:SHOWN_CHARS]!r}"
    if begins:
        return _several_error([begin - 1 for begin in begins], subject)
    return ToolError(f"{subject} is not a line of the file", error_class="text_not_found")


def _several_error(starts: Sequence[int], subject: str = "the old text") -> ToolError:
    numbers = [start + 1 for start in starts]
    text = ", ".join(map(str, numbers[:SHOWN_PLACES]))
    more = ", \u2026" if len(numbers) > SHOWN_PLACES else ""
    return ToolError(
        f"{subject} occurs {len(numbers)} times, at lines {text}{more}; add lines around it until"
        " it is unique",
        error_class="several_matches",
        data={"lines": numbers[:SHOWN_PLACES], "count": len(numbers)},
    )


def _missing_error(lines: Sequence[str], hunk: Hunk, begin: int) -> ToolError:
    earlier = _matches(lines, hunk.old, 0, _alike)
    if earlier and earlier[0] < begin:
        reason = f"the old text is at line {earlier[0] + 1}, before line {begin}"
        advice = "write hunks in the order of the file"
    elif earlier:
        reason, advice = "the old text does not reach the end of the file", "add the lines after it"
    else:
        reason, advice = _difference(lines, hunk.old), "read the file again"
    return ToolError(f"{reason}; {advice}", error_class="text_not_found")


def _difference(lines: Sequence[str], old: Sequence[str]) -> str:
    """Describe the first differing line at the location where most other lines match."""
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers.setdefault(line.strip(), []).append(number)
    votes = Counter(
        number - offset
        for offset, line in enumerate(old)
        if line.strip()
        for number in numbers.get(line.strip(), ())
    )
    if not votes:
        return "none of its old lines is in the file"
    start = max(votes, key=lambda start_line: (votes[start_line], -start_line))
    for offset, line in enumerate(old):
        file_line = lines[start + offset] if 0 <= start + offset < len(lines) else None
        if file_line is None:
            return (
                f"it wants {line[:SHOWN_CHARS]!r} at line {start + offset + 1}, which is not there"
            )
        if _alike(file_line) != _alike(line):
            return (
                f"line {start + offset + 1} is {file_line[:SHOWN_CHARS]!r},"
                f" and the patch says {line[:SHOWN_CHARS]!r}"
            )
    return "its old lines are not in the file in this order"
