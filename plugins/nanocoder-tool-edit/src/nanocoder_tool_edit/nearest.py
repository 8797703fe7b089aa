"""The lines most like a text that is not in the file, and how they differ from it."""

import re
from collections.abc import Callable

from attrs import frozen
from rapidfuzz import fuzz, process

from nanocoder_tool_edit.blocks import collapse_spaces
from nanocoder_tool_edit.indentation import indent

SEARCHED_LINES = 50_000
LEAST_SIMILARITY = 60.0  # per cent
LEAST_PARTIAL = 85.0  # per cent of a part of a line
SHOWN_CHARACTERS = 120
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d`", "''\"\"'", "")
_NUMBERED = re.compile(r"[ \t]*\d+(?:\t|: ?|\|)")

_MINOR: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("white space at the end of lines differs", str.rstrip),
    ("white space inside lines differs", collapse_spaces),
    ("quotes differ", lambda line: line.strip().translate(_QUOTES)),
    ("upper and lower case differ", lambda line: line.strip().casefold()),
)


@frozen
class Near:
    """The lines of the file, from number *first*, that are most like the text."""

    first: int
    lines: list[str]
    difference: str


def find_nearest(text: str, old: str) -> Near | None:
    """Return the region most like *old*, or None when nothing is."""
    unescaped = old.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")
    if unescaped in text:
        first = text.count("\n", 0, text.index(unescaped))
        region = text.split("\n")[first : first + 1 + unescaped.count("\n")]
        return Near(first + 1, region, "old_string is escaped once too often")
    lines = text.split("\n")[:SEARCHED_LINES]
    sought = old.strip("\n").split("\n")
    anchor = max(range(len(sought)), key=lambda number: len(sought[number].strip()))
    at = _most_like(_plain(sought[anchor]), lines)
    if at is None:
        return None
    first = max(0, at - anchor)
    region = lines[first : first + len(sought)]
    return Near(first + 1, region, _difference(region, sought))


def _most_like(line: str, lines: list[str]) -> int | None:
    hit = process.extractOne(
        line, map(_plain, lines), scorer=fuzz.ratio, score_cutoff=LEAST_SIMILARITY
    )
    if hit is None:
        hit = process.extractOne(
            line,
            map(_plain, lines),
            scorer=fuzz.partial_ratio,
            score_cutoff=LEAST_PARTIAL,
        )
    return None if hit is None else int(hit[2])


def _plain(line: str) -> str:
    return collapse_spaces(line).translate(_QUOTES).casefold()


def _difference(region: list[str], sought: list[str]) -> str:
    """Describe the difference of two runs of lines; differences of white space come first."""
    if all(_NUMBERED.match(line) for line in sought):
        return "old_string has the line numbers of read_file in it; leave them out"
    if _equal(region, sought, str.strip) and not _equal(region, sought, str.rstrip):
        return f"the indentation differs: the file has {_indents(region, sought)}"
    minor = (text for text, key in _MINOR if _equal(region, sought, key))
    return next(minor, "") or _first_difference(region, sought)


def _equal(region: list[str], sought: list[str], key: Callable[[str], str]) -> bool:
    return list(map(key, region)) == list(map(key, sought))


def _indents(region: list[str], sought: list[str]) -> str:
    for file_line, sought_line in zip(region, sought, strict=False):
        if indent(file_line) != indent(sought_line):
            return f"{indent(file_line)!r} where old_string has {indent(sought_line)!r}"
    return "other indentation"


def _first_difference(region: list[str], sought: list[str]) -> str:
    for file_line, sought_line in zip(region, sought, strict=False):
        if file_line.strip() != sought_line.strip():
            return f"old_string has {_cut(sought_line)!r} where the file has {_cut(file_line)!r}"
    return "the file ends there"


def _cut(line: str) -> str:
    line = line.strip()
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "\u2026"
