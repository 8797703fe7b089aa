"""Bracket expressions of globs, as git and shells read them: `[a-z]`, `[!a]`, `[[:digit:]_]`."""

import re
from typing import Final

CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \t",
    "cntrl": "\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\!-.0-~",
    "lower": "a-z",
    "print": r"\ -.0-~",
    "punct": r"\!-.:-@\[-`{-~",
    "space": "\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
"""The ranges of each POSIX class in every locale, as bracket syntax; without the slash."""
_CLASS: Final = re.compile(r"(\[[^/]*?)\[:([^]/]*):\]")
_OPEN: Final = "a bracket is not closed"


class MalformedBracket(ValueError):
    """A bracket that is not closed."""


class UnknownClass(MalformedBracket):
    """A bracket with a class that does not exist."""


def read_bracket(pattern: str, at: int) -> tuple[str, int]:
    """Translate the bracket expression whose content begins at *at*; a "/" never matches.

    Returns an expression for one character, and the offset after the bracket.
    Raises: MalformedBracket.
    """
    negated = pattern[at : at + 1] in {"!", "^"}
    at += negated
    members: list[str] = []
    previous, first = "", True
    while first or pattern[at : at + 1] != "]":
        first = False
        previous, at = _read_member(pattern, at, previous, members)
    if negated:
        return f"(?!/)[^{''.join(members)}]" if members else "[^/]", at + 1
    return f"(?!/)[{''.join(members)}]" if members else "(?!)", at + 1


def _read_member(pattern: str, at: int, previous: str, members: list[str]) -> tuple[str, int]:
    """Add one member; return from where a following "-" would range, or "", and where to go on."""
    letter, after = _letter(pattern, at), pattern[at + 1 : at + 2]
    if letter == "\\":
        letter = _letter(pattern, at + 1)
        members.append(re.escape(letter))
        return letter, at + 2
    if letter == "-" and previous and after and after != "]":
        at += 2 if after == "\\" else 1
        high = _letter(pattern, at)
        if previous <= high:
            members.append(f"{re.escape(previous)}-{re.escape(high)}")
        return "", at + 1
    if letter == "[" and after == ":" and (match := _CLASS.match("[" + pattern[at:])):
        _read_ranges(_ranges(match[2]), members)
        return "", at + match.end() - 1
    members.append(re.escape(letter))
    return letter, at + 1


def _read_ranges(ranges: str, members: list[str]) -> None:
    at, previous = 0, ""
    while at < len(ranges):
        previous, at = _read_member(ranges, at, previous, members)


def spell_out_classes(pattern: str) -> str:
    """Return a glob with ranges for the classes in its brackets; raises UnknownClass."""
    spelled = _CLASS.sub(lambda match: match[1] + _ranges(match[2]), pattern)
    return spelled if spelled == pattern else spell_out_classes(spelled)


def _ranges(name: str) -> str:
    if name not in CLASSES:
        raise UnknownClass(f"there is no class [:{name}:]; there are {', '.join(CLASSES)}")
    return CLASSES[name]


def _letter(pattern: str, at: int) -> str:
    if at >= len(pattern):
        raise MalformedBracket(_OPEN)
    return pattern[at]
