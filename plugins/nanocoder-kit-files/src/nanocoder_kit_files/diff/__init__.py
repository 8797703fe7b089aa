"""The difference between two texts, fast also for a small change in a large file."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

CONTEXT_LINES = 3
EXACT_LINES = 10_000  # difflib is quadratic at its worst; beyond this the change is one block
COMPARED_PAIRS = 200_000
SHOWN_LINES = 200
# As text: few sessions have a patch, and compile them.
_FILE = r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |--- (?:a/)?|\+\+\+ (?:b/)?)([^\t\n]+)"
_PATCH = r"(?m)^(?:\*\*\* Begin Patch|--- .+\n\+\+\+ )"

__all__ = [
    "CONTEXT_LINES",
    "SHOWN_LINES",
    "Change",
    "Diff",
    "Part",
    "changed",
    "clip_lines",
    "patched_files",
    "unified",
    "unified_parts",
]


@frozen
class Change:
    """The part in which two texts differ, in whole lines, without their common head and tail.

    *head* and *tail* are the few unchanged lines around it, *old* became *new*; *first* is the
    number, from 1, of the first changed line. Every line includes its newline.
    """

    first: int
    head: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    tail: tuple[str, ...]


@frozen
class Diff:
    """A unified diff, empty when nothing changed; *added* and *removed* count lines."""

    text: str = ""
    added: int = 0
    removed: int = 0


@frozen
class Part:
    """Whole lines of two texts, from *old_line* and *new_line* on, that may differ."""

    old: str
    new: str
    old_line: int = 1
    new_line: int = 1


def unified(
    old: str, new: str, path: str, *, context: int = CONTEXT_LINES, stays: bool = False
) -> Diff:
    """Return the unified diff from *old* to *new*, with *path* on both sides of its header.

    An empty side means a missing file, unless the file *stays* before and after.
    """
    return unified_parts([Part(old, new)], path, context=context, stays=stays)


def unified_parts(
    parts: Iterable[Part], path: str, *, context: int = CONTEXT_LINES, stays: bool = False
) -> Diff:
    """Return one unified diff of *parts*, which are in order and include their context."""
    body: list[str] = []
    starts_empty = ends_empty = False
    for part in parts:
        if part.old != part.new:
            body += _hunks(part, context)
            starts_empty, ends_empty = not (part.old or stays), not (part.new or stays)
    if not body:
        return Diff()
    header = [
        "--- /dev/null" if starts_empty else f"--- a/{path}",
        "+++ /dev/null" if ends_empty else f"+++ b/{path}",
    ]
    return Diff(
        "\n".join(header + body),
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
    )


def clip_lines(text: str, limit: int = SHOWN_LINES) -> str:
    """Return the first *limit* lines of *text*, and a line with the number of missing ones."""
    lines = text.split("\n")
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"[{len(lines) - limit:,} more lines]"])


def changed(old: str, new: str, *, context: int = CONTEXT_LINES) -> Change:
    """Return the difference of two texts, with *context* lines of their common head and tail."""
    start = _line_start(old, _common_head(old, new))
    tail = _common_tail(old, new, min(len(old), len(new)) - start)
    tail = _whole_lines(old, new, tail, start)
    head_at = _lines_back(old, start, context)
    after = old[len(old) - tail :] if tail else ""
    return Change(
        first=old.count("\n", 0, start) + 1,
        head=_lines(old[head_at:start]),
        old=_lines(old[start : len(old) - tail]),
        new=_lines(new[start : len(new) - tail]),
        tail=_first_lines(after, context),
    )


def _lines(text: str) -> tuple[str, ...]:
    """Split at newlines only: splitlines would also split at form feeds."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return (*lines, parts[-1]) if parts[-1] else tuple(lines)


def _common_head(old: str, new: str) -> int:
    """Return the length of the common prefix, by bisection with slices, which is fast."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(old: str, new: str, limit: int) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _whole_lines(old: str, new: str, tail: int, start: int) -> int:
    """Shorten a common tail so that it begins at the start of a line in both texts."""

    def starts_line(text: str) -> bool:
        at = len(text) - tail
        return at == start or text[at - 1] == "\n"

    if tail and starts_line(old) and starts_line(new):
        return tail
    newline = old.find("\n", len(old) - tail)
    return 0 if newline < 0 or not tail else len(old) - newline - 1


def _lines_back(text: str, position: int, count: int) -> int:
    for _ in range(count):
        if position == 0:
            break
        position = _line_start(text, position - 1)
    return position


def _first_lines(text: str, count: int) -> tuple[str, ...]:
    end = 0
    for _ in range(count):
        newline = text.find("\n", end)
        if newline < 0:
            end = len(text)
            break
        end = newline + 1
    return _lines(text[:end])


_Group = Sequence[tuple[str, int, int, int, int]]


def _one_block(change: Change) -> _Group:
    head, old, new, tail = (
        len(part) for part in (change.head, change.old, change.new, change.tail)
    )
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, head + old, head, head + new),
        ("equal", head + old, head + old + tail, head + new, head + new + tail),
    ]


def _groups(change: Change, before: list[str], after: list[str], context: int) -> Iterable[_Group]:
    if len(before) + len(after) > EXACT_LINES:
        return [_one_block(change)]
    from difflib import SequenceMatcher  # only where something changed: difflib imports re

    # Without its heuristic difflib shows no unchanged line as changed. The heuristic stays on if so
    # many lines are equal that the search would take seconds.
    counts = Counter(after)
    is_costly = sum(counts[line] for line in before) > COMPARED_PAIRS
    matcher = SequenceMatcher(None, before, after, autojunk=is_costly)
    return matcher.get_grouped_opcodes(context)


def _hunks(part: Part, context: int) -> Iterator[str]:
    change = changed(part.old, part.new, context=context)
    before = [*change.head, *change.old, *change.tail]
    after = [*change.head, *change.new, *change.tail]
    skipped = change.first - 1 - len(change.head)
    offsets = skipped + part.old_line - 1, skipped + part.new_line - 1
    for group in _groups(change, before, after, context):
        yield from _hunk(group, before, after, offsets)


def _hunk(
    group: _Group, before: list[str], after: list[str], offsets: tuple[int, int]
) -> list[str]:
    old, new = offsets
    old_range = _range(group[0][1] + old, group[-1][2] + old)
    new_range = _range(group[0][3] + new, group[-1][4] + new)
    lines = [f"@@ -{old_range} +{new_range} @@"]
    for tag, old_from, old_to, new_from, new_to in group:
        if tag == "equal":
            lines += _mark(" ", before[old_from:old_to])
            continue
        lines += _mark("-", before[old_from:old_to])
        lines += _mark("+", after[new_from:new_to])
    return lines


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _mark(mark: str, lines: list[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        if line.endswith("\n"):
            marked.append(mark + line[:-1])
        else:
            marked += [mark + line, "\\ No newline at end of file"]
    return marked


def patched_files(text: str) -> list[str]:
    """Return the distinct paths that a patch names; none if *text* is no patch."""
    if not re.search(_PATCH, text):
        return []
    return [name for name in dict.fromkeys(re.findall(_FILE, text)) if name != "/dev/null"]
