"""File name patterns with `*`, `?`, `[a-z]`, `**` and `{a,b}`; no pattern takes long to match."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from nanocoder_kit_glob.expressions import glob_expression as _glob_expression

MAX_PATTERN = 1_024
MAX_ALTERNATIVES = 64
SKIPPED = frozenset(
    {".git", ".next", ".venv", "__pycache__", "build", "dist", "node_modules", "target", "vendor"}
)
"""Names of directories with generated or downloaded files."""

_MAGIC = re.compile(r"[*?\[{\\]")

__all__ = [
    "MAX_ALTERNATIVES",
    "MAX_PATTERN",
    "SKIPPED",
    "BadPattern",
    "compile_glob",
    "endings",
    "expand_braces",
    "glob_tokens",
    "split_base",
]


class BadPattern(ValueError):
    """A pattern that is too long, or expands to too many."""


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a path matches as a whole.

    Parts of paths are separated by "/"; `**` as a part matches any number of them, and at the end
    one or more. Nothing else matches a "/". Raises: BadPattern.
    """
    source = "|".join(_expression(single) for single in expand_braces(pattern))
    match = re.compile(f"(?:{source})\\Z", re.DOTALL).match
    return lambda path: match(path) is not None


def endings(pattern: str) -> tuple[str, ...]:
    """Return endings of which each matching name has one; "" when a name may end in any way.

    `str.endswith` with them quickly rules out most names. Raises: BadPattern.
    """
    return tuple(dict.fromkeys(map(_ending, expand_braces(pattern))))


def expand_braces(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` groups expand to; a brace without a partner is itself.

    Raises: BadPattern.
    """
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"the pattern is longer than {MAX_PATTERN} characters")
    patterns: list[str] = []
    pending = [pattern]
    while pending:
        current = pending.pop()
        group = _first_group(current)
        if group is None:
            patterns.append(current)
            continue
        start, end, parts = group
        pending += [current[:start] + part + current[end:] for part in reversed(parts)]
        if len(patterns) + len(pending) > MAX_ALTERNATIVES:
            raise BadPattern(f"the braces stand for more than {MAX_ALTERNATIVES} patterns")
    return patterns


def split_base(pattern: str) -> tuple[str, str]:
    """Split a pattern into its leading directories without special characters, and the rest."""
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not _MAGIC.search(parts[fixed]):
        fixed += 1
    base = "/".join(parts[:fixed])
    return (base or "/" if pattern.startswith("/") else base), "/".join(parts[fixed:])


def _ending(pattern: str) -> str:
    end = re.split(r"[*?\]/]", pattern)[-1]
    return "" if set(end) & set("[\\") else end


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return start, end and parts of the first complete group that has a comma."""
    start = -1
    while (start := _find(pattern, "{", start + 1)) >= 0:
        edges = _edges(pattern, start)
        if len(edges) > 2:  # noqa: PLR2004 - more than the two braces
            parts = [pattern[a + 1 : b] for a, b in pairwise(edges)]
            return start, edges[-1] + 1, parts
    return None


def _edges(pattern: str, start: int) -> list[int]:
    """Return where the brace at *start*, its commas and its partner are; nothing without one."""
    depth, edges = 0, [start]
    at = start
    while at < len(pattern):
        letter = pattern[at]
        depth += (letter == "{") - (letter == "}")
        if (letter == "," and depth == 1) or not depth:
            edges.append(at)
        if not depth:
            return edges
        at += 1 + (letter == "\\")
    return []


def _find(pattern: str, letter: str, start: int) -> int:
    at = start
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == letter:
            return at
        at += 1
    return -1


def _expression(pattern: str) -> str:
    """Translate a pattern without groups."""
    *folders, last = pattern.removeprefix("./").split("/")
    tokens: list[str] = []
    for part in folders:
        tokens += ["**/"] if part == "**" else [*glob_tokens(part), "/"]
    if last == "**":
        return _glob_expression(tokens) + ".+"
    return _glob_expression([*tokens, *glob_tokens(last)])


def glob_tokens(part: str) -> Iterator[str]:
    """Yield the tokens of one name of a pattern, as `expressions.glob_expression` takes them."""
    at = 0
    while at < len(part):
        token, at = ("*", at + 1) if part[at] == "*" else _token(part, at)
        yield token


def _token(part: str, at: int) -> tuple[str, int]:
    letter = part[at]
    if letter == "?":
        return "[^/]", at + 1
    if letter == "\\" and at + 1 < len(part):
        return re.escape(part[at + 1]), at + 2
    if letter == "[":
        negated = part[at + 1 : at + 2] in {"!", "^"}
        start = at + 1 + negated
        end = part.find("]", start + 1)
        if end > 0:
            return _class(part[start:end], negated=negated), end + 1
    return re.escape(letter), at + 1


def _class(members: str, *, negated: bool) -> str:
    ranges = []
    at = 0
    while at < len(members):
        low, high = members[at], members[at]
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            high = members[at + 2]
            at += 2
        at += 1
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    if not ranges:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{''.join(ranges)}]"
