"""What every line that matches a pattern has in it, so that most lines need no second look."""

import re

MAX_LITERALS = 16
MAX_DEPTH = 20

_TIMES = re.compile(r"(?:([*+?])|\{(\d*)(,?)\d*\})[+?]?")
_SHORTHANDS = frozenset("wWdDsSbB")
# Beyond ASCII there are too many letters that stand for others when case does not count.
_FOREIGN = re.compile(r"[^\0-\x7f]+")

Literals = tuple[str, ...]


class _Unsure(Exception):
    """The pattern has something that this reader does not follow."""


def literals(pattern: str) -> Literals:
    """Return texts of which every match has one, the longest that there are; () when unsure."""
    try:
        found, end = _either(pattern, 0, 0)
    except _Unsure:
        return ()
    return found if end == len(pattern) and len(found) <= MAX_LITERALS else ()


def folded(found: Literals) -> Literals:
    """Return what each of *found* has in lower case whatever its case is; () when unsure.

    But for the few characters beyond ASCII that stand for a letter of ASCII (see `sieve`).
    """
    pieces = [max(_FOREIGN.split(one), key=len).lower() for one in found]
    return tuple(dict.fromkeys(pieces)) if all(pieces) else ()


def _either(pattern: str, at: int, depth: int) -> tuple[Literals, int]:
    """Read alternatives up to the end or a ")"."""
    if depth > MAX_DEPTH:
        raise _Unsure
    rows = []
    while True:
        row, at = _row(pattern, at, depth)
        rows.append(row)
        if pattern[at : at + 1] != "|":
            break
        at += 1
    every = tuple(dict.fromkeys(one for row in rows for one in row))
    return (every if all(rows) else ()), at


def _row(pattern: str, at: int, depth: int) -> tuple[Literals, int]:
    """Read what follows each other, and return the best of what has to be there."""
    runs = [""]
    groups = []
    while at < len(pattern) and pattern[at] not in "|)":
        letter, group, at = _token(pattern, at, depth)
        is_needed, is_single, at = _times(pattern, at)
        if letter and is_needed:
            runs[-1] += letter
        if not (letter and is_needed and is_single):
            runs.append("")
        if group and is_needed:
            groups.append(group)
    choices = [*((run,) for run in runs if run), *groups]
    return max(choices, key=lambda choice: min(map(len, choice)), default=()), at


def _token(pattern: str, at: int, depth: int) -> tuple[str, Literals, int]:
    """Read one thing: the letter that it stands for, or what a group needs, and where it ends."""
    letter = pattern[at]
    if letter == "\\":
        return *_escaped(pattern[at + 1 : at + 2]), at + 2
    if letter == "[":
        return "", (), _class_end(pattern, at + 1)
    if letter == "(":
        return _group(pattern, at + 1, depth)
    if letter in "*+?{":
        raise _Unsure
    return ("" if letter in ".^$" else letter), (), at + 1


def _escaped(letter: str) -> tuple[str, Literals]:
    if letter in _SHORTHANDS:
        return "", ()
    if not letter or letter.isalnum():  # \x41, which stands for another letter, and the like
        raise _Unsure
    return letter, ()


def _class_end(pattern: str, at: int) -> int:
    at += pattern[at : at + 1] == "^"
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        if pattern.startswith("[:", at):
            at = pattern.find(":]", at) + 1
            if not at:
                raise _Unsure
        elif pattern[at] == "[":
            raise _Unsure
        at += 2 if pattern[at] == "\\" else 1
    if at >= len(pattern):
        raise _Unsure
    return at + 1


def _group(pattern: str, at: int, depth: int) -> tuple[str, Literals, int]:
    if pattern.startswith("?:", at):
        at += 2
    elif pattern[at : at + 1] in {"?", "*"}:  # flags, and what looks around
        raise _Unsure
    found, at = _either(pattern, at, depth + 1)
    if pattern[at : at + 1] != ")":
        raise _Unsure
    return "", found, at + 1


def _times(pattern: str, at: int) -> tuple[bool, bool, int]:
    """Read how often: whether at least once, and whether just once."""
    is_needed = is_single = True
    while at < len(pattern) and pattern[at] in "*+?{":
        found = _TIMES.match(pattern, at)
        if not found or (found[1] is None and not (found[2] or found[3])):
            raise _Unsure
        is_single = False
        least = found[1] == "+" if found[1] else found[2].strip("0") != ""
        is_needed = is_needed and least
        at = found.end()
    return is_needed, is_single, at
