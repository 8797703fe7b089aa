"""Characters that leave no ink on the screen; long runs of them could hide text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Final

BLANK: Final = r" \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""Ordinary blanks, narrow and wide."""
INVISIBLE: Final = (
    # Fillers and letters without a shape, which Unicode does not count as blanks.
    r"\u2800\u3164\u115f\u1160\uffa0\u034f\u17b4\u17b5\u180b-\u180f"
    # Characters that select a shape, join, control direction or tag.
    r"\ufe00-\ufe0f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
EMOJI_STYLES: Final = "\ufe0e\ufe0f"
LONG_RUN: Final = 40
MANY_LINES: Final = 6
FEW_LINES: Final = 2
"""At the beginning or the end of a text fewer empty lines already push it out of view."""
MARKS: Final = ("+", "-", " ")


def mark_gaps(text: str, *, is_diff: bool = False) -> str:
    """Return *text* with each long run that leaves no ink replaced by a note of its length.

    Those runs are blanks and invisible characters on a line, its ends included, and empty lines;
    in a diff the mark of a line is no ink.
    """
    lines: list[str] = []
    groups = [
        (has_ink, list(group))
        for has_ink, group in groupby(
            text.split("\n"), lambda line: _has_ink(line, is_diff=is_diff)
        )
    ]
    for place, (has_ink, group) in enumerate(groups):
        is_edge = place in {0, len(groups) - 1}
        if has_ink:
            lines += [_mark_runs(line) for line in group]
        elif len(group) >= (FEW_LINES if is_edge else MANY_LINES):
            lines.append(_describe_lines(group))
        else:
            lines += [_mark_runs(line) for line in group]
    return "\n".join(lines)


def escape_invisible(text: str) -> str:
    """Return *text* with escapes for single letters that leave no ink, but for the style of emoji.

    The controls among them are `for_terminal`'s.
    """
    return text if text.isascii() else _invisible().sub(_escape, text)


def _escape(letter: re.Match[str]) -> str:
    code, before = ord(letter[0]), letter.string[letter.start() - 1 : letter.start()]
    if letter[0] in EMOJI_STYLES and before and unicodedata.category(before) == "So":
        return letter[0]
    return letter[0] if unicodedata.category(letter[0]) == "Cf" else f"\\u{code:04x}"


def _has_ink(line: str, *, is_diff: bool) -> bool:
    if is_diff and line.startswith(MARKS):
        line = line[1:]
    return _ink().search(line) is not None


def _describe_lines(group: Sequence[str]) -> str:
    hidden = sum(map(len, group))
    beside = f" with {hidden:,} invisible characters" if hidden > len(group) else ""
    return f"[{len(group):,} empty lines{beside}]"


def _mark_runs(line: str) -> str:
    return _long_run().sub(lambda run: f" [{_name(run[0])}] ", line)


def _name(run: str) -> str:
    blanks = sum(1 for _ in _blanks(run))
    if blanks == len(run):
        return f"{len(run):,} blanks"
    return f"{len(run):,} invisible characters"


def _blanks(run: str) -> Iterator[str]:
    return (match[0] for match in _blank().finditer(run))


@cache
def _ink() -> re.Pattern[str]:
    return re.compile(f"[^{BLANK}{INVISIBLE}]")


@cache
def _blank() -> re.Pattern[str]:
    return re.compile(f"[{BLANK}]")


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile(f"[{INVISIBLE}]")


@cache
def _long_run() -> re.Pattern[str]:
    return re.compile(f"[{BLANK}{INVISIBLE}]{{{LONG_RUN},}}")
