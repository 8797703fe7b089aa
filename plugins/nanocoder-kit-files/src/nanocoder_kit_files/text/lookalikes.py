"""Lookalike and hidden characters, which models write differently than the file."""

import re
from bisect import bisect_right
from collections.abc import Callable

# One character maps to one, so that offsets in the folded text are valid in the text.
_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
_DOUBLE_QUOTES = dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
_WIDTHS = map(chr, range(0x2000, 0x200B))
_BLANKS = dict.fromkeys(("\xa0", *_WIDTHS, "\u202f", "\u205f", "\u3000"), " ")
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FOLDED = {**_QUOTES, **_DOUBLE_QUOTES, **_DASHES, **_BLANKS, **_FULL_WIDTH}
# Blanks without width, signs that turn the direction of text, and the form feed.
_HIDDEN = (
    "\x0c\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
)
_JOINERS = "\u200c\u200d"
_NAMED = r"<U\+([0-9A-F]{4})>|\\u([0-9a-fA-F]{4})|\\x(0c)"


def fold(text: str) -> str:
    """Return *text* with typographic quotes, dashes, blanks and signs replaced by ASCII ones."""
    if text.isascii():
        return text
    # Replacing the few that occur is ten times as fast as `translate`.
    for character in {*re.findall(f"[{''.join(_FOLDED)}]", text)}:
        text = text.replace(character, _FOLDED[character])
    return text


def show_hidden(text: str) -> str:
    """Return *text* with each hidden character shown like `<U+200B>`.

    Joiners stay, which many scripts and emoji need; so do terminal sequences.
    """
    is_plain = text.isascii() and "\x0c" not in text  # most text: no pattern is sought in it
    return text if is_plain else re.sub(f"[{_HIDDEN}]", _name, text)


def read_hidden(text: str) -> str:
    r"""Return *text* with the hidden characters for `<U+200B>`, as they are shown, and `\u200b`."""
    return re.sub(_NAMED, _character, text)


def has_hidden(text: str) -> bool:
    """Return True if *text* has hidden characters or joiners."""
    return re.search(f"[{_HIDDEN}{_JOINERS}]", text) is not None


def without_hidden(text: str) -> tuple[str, Callable[[int], int]]:
    """Return *text* without hidden characters, and the function that maps offsets back."""
    hidden = re.finditer(f"[{_HIDDEN}{_JOINERS}]", text)
    gaps = [match.start() - number for number, match in enumerate(hidden)]
    bare = re.sub(f"[{_HIDDEN}{_JOINERS}]", "", text)
    return bare, lambda offset: offset + bisect_right(gaps, offset)


def common_ends(old: str, new: str) -> tuple[int, int]:
    """Return the lengths of the common prefix, and of the common suffix of the rest."""
    most = min(len(old), len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    rest = most - head
    tail = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return head, tail


def _name(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"


def _character(match: re.Match[str]) -> str:
    character = chr(int(match[1] or match[2] or match[3], 16))
    return character if re.match(f"[{_HIDDEN}{_JOINERS}]", character) else match[0]
