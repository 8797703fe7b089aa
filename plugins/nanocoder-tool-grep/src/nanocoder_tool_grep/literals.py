"""The literal texts that a match must contain, so that most lines need no second look."""

import re

MAX_LITERALS = 16
MAX_DEPTH = 20

_TIMES = re.compile(r"(?:([*+?])|\{(\d*)(,?)\d*\})[+?]?")
_SHORTHANDS = frozenset("wWdDsSbB")
# Beyond ASCII too many letters equal others when case does not count.
_FOREIGN = re.compile(r"[^\0-\x7f]+")

Literals = tuple[str, ...]


class _Unsure(Exception):
    """The pattern has something that this reader does not follow."""


def find_literals(pattern: str) -> Literals:
    """Return the longest texts that can be found such that each match has one; () when unsure."""
    try:
        texts, end = _read_alternatives(pattern, 0, 0)
    except _Unsure:
        return ()
    return texts if end == len(pattern) and len(texts) <= MAX_LITERALS else ()


def fold_case(texts: Literals) -> Literals:
    """Return the part of each of *texts* that is the same in lower case always; () when unsure.

    The few characters beyond ASCII that stand for an ASCII letter are left to `sieve`.
    """
    pieces = [max(_FOREIGN.split(text), key=len).lower() for text in texts]
    return tuple(dict.fromkeys(pieces)) if all(pieces) else ()


def _read_alternatives(pattern: str, position: int, depth: int) -> tuple[Literals, int]:
    """Read alternatives up to the end or a ")"."""
    if depth > MAX_DEPTH:
        raise _Unsure
    sequences = []
    while True:
        sequence, position = _read_sequence(pattern, position, depth)
        sequences.append(sequence)
        if pattern[position : position + 1] != "|":
            break
        position += 1
    texts = tuple(dict.fromkeys(text for sequence in sequences for text in sequence))
    return (texts if all(sequences) else ()), position


def _read_sequence(pattern: str, at: int, depth: int) -> tuple[Literals, int]:
    """Read a sequence up to "|" or ")", and return the best of the texts that it requires."""
    runs = [""]
    groups = []
    while at < len(pattern) and pattern[at] not in "|)":
        letter, group, at = _read_token(pattern, at, depth)
        is_needed, is_single, at = _read_repetition(pattern, at)
        if letter and is_needed:
            runs[-1] += letter
        if not (letter and is_needed and is_single):
            runs.append("")
        if group and is_needed:
            groups.append(group)
    choices = [*((run,) for run in runs if run), *groups]
    return max(choices, key=lambda choice: min(map(len, choice)), default=()), at


def _read_token(pattern: str, at: int, depth: int) -> tuple[str, Literals, int]:
    """Read one token: its letter, or the texts that a group requires, and where it ends."""
    letter = pattern[at]
    if letter == "\\":
        return *_read_escape(pattern[at + 1 : at + 2]), at + 2
    if letter == "[":
        return "", (), _find_class_end(pattern, at + 1)
    if letter == "(":
        return _read_group(pattern, at + 1, depth)
    if letter in "*+?{":
        raise _Unsure
    return ("" if letter in ".^$" else letter), (), at + 1


def _read_escape(letter: str) -> tuple[str, Literals]:
    if letter in _SHORTHANDS:
        return "", ()
    if not letter or letter.isalnum():  # \x41, which stands for another letter, and the like
        raise _Unsure
    return letter, ()


def _find_class_end(pattern: str, at: int) -> int:
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


def _read_group(pattern: str, at: int, depth: int) -> tuple[str, Literals, int]:
    if pattern.startswith("?:", at):
        at += 2
    elif pattern[at : at + 1] in {"?", "*"}:  # flags and look-around
        raise _Unsure
    texts, at = _read_alternatives(pattern, at, depth + 1)
    if pattern[at : at + 1] != ")":
        raise _Unsure
    return "", texts, at + 1


def _read_repetition(pattern: str, at: int) -> tuple[bool, bool, int]:
    """Read a quantifier: whether it needs the token, whether exactly once, and where it ends."""
    is_needed = is_single = True
    while at < len(pattern) and pattern[at] in "*+?{":
        times = _TIMES.match(pattern, at)
        if not times or (times[1] is None and not (times[2] or times[3])):
            raise _Unsure
        is_single = False
        least = times[1] == "+" if times[1] else times[2].strip("0") != ""
        is_needed = is_needed and least
        at = times.end()
    return is_needed, is_single, at
