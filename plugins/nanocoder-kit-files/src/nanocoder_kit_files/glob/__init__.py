"""Globs: the one grammar of paths in tools, rules and ignore files; none takes long to match.

`*` and `?` match within a name, `**` across directories, `[a-z]`, `[!a-z]` and `[[:digit:]]` one
character, `{a,b}` either, and a backslash takes the meaning away.
"""

import re
from collections.abc import Iterator
from itertools import pairwise, product

from nanocoder_kit_files.glob import brackets as _brackets
from nanocoder_kit_files.glob.expressions import FOLDERS, STAR
from nanocoder_kit_files.glob.expressions import glob_expression as _glob_expression

MAX_PATTERN = 1_024
MAX_ALTERNATIVES = 64
SKIPPED = frozenset(
    {".git", ".next", ".venv", "__pycache__", "build", "dist", "node_modules", "target", "vendor"}
)
"""Names of directories with generated or downloaded files."""

MAX_LITERAL_NAMES = 3
"""Limit of the names with brackets that are taken literally one by one, else only together."""
_BELOW = "/**"
_ESCAPE = re.compile(r"\\.")
_MAGIC = re.compile(r"[*?\[{\\]")

__all__ = [
    "MAX_ALTERNATIVES",
    "MAX_PATTERN",
    "SKIPPED",
    "BadPattern",
    "alternatives",
    "compile_glob",
    "endings",
    "expand_braces",
    "glob_tokens",
    "literal_ends",
    "path_tokens",
    "problem_of_glob",
    "spell_out_classes",
    "split_base",
]


class BadPattern(ValueError):
    """A pattern that is too long, expands to too many, or is not understood."""


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return an expression for whole paths, of which a "/" separates the parts.

    `**` crosses directories; a trailing `/**` matches a directory and everything below it. A name
    with brackets also matches itself literally. Raises: BadPattern.
    """
    names = pattern.removeprefix("./")
    while names.endswith(_BELOW):
        names = names.removesuffix(_BELOW)
    bodies = [_glob_expression(path_tokens(each)) for each in alternatives(names)]
    below = "" if names == pattern.removeprefix("./") else "(?:/.*)?"
    return re.compile(f"(?:{'|'.join(bodies)}){below}", re.DOTALL)


def alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a glob without groups, one of which has to match.

    Some frameworks call files `[id].tsx`, so each name with brackets also matches itself literally.
    Raises: BadPattern.
    """
    expanded = expand_braces(pattern)
    literal = [each for pattern in expanded for each in _with_literal_names(pattern)]
    return list(dict.fromkeys(literal))


def endings(pattern: str) -> tuple[str, ...]:
    """Return endings of which each matching name has one; "" when a name may end in any way.

    `str.endswith` with them quickly rules out most names. Raises: BadPattern.
    """
    return tuple(dict.fromkeys(literal_ends(each)[1] for each in expand_braces(pattern)))


def literal_ends(pattern: str) -> tuple[str, str]:
    """Return the literal prefix and suffix of all names that a pattern without groups matches."""
    name = pattern.rpartition("/")[2]
    return re.split(r"[*?\[\\]", name)[0], _ending(pattern)


def expand_braces(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` groups expand to; a brace without a partner is itself.

    Raises: BadPattern.
    """
    if len(pattern) > MAX_PATTERN:
        raise BadPattern(f"the pattern is longer than {MAX_PATTERN} characters")
    if "\0" in pattern:
        raise BadPattern("no name has a NUL character")
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
            raise BadPattern(f"the braces expand to more than {MAX_ALTERNATIVES} patterns")
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
    """Return the offsets of the brace at *start*, its commas and its partner, if it has one."""
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


def spell_out_classes(pattern: str) -> str:
    """Return a glob with ranges for its classes, such as `[0-9]` for `[[:digit:]]`.

    Raises: BadPattern for a class that does not exist.
    """
    try:
        return _brackets.spell_out_classes(pattern)
    except _brackets.UnknownClass as error:
        raise BadPattern(f"{pattern!r}: {error}") from None


def problem_of_glob(pattern: str) -> str:
    """Return the reason a glob cannot match as intended, or "": no rule may fail silently."""
    names = pattern.rstrip("/").split("/")
    # Absolute patterns are normalized before they are compared.
    if pattern[:1] not in {"/", "~"} and len(names) > 1 and {"..", ""}.intersection(names):
        return "no path in the workspace has an empty name or '..' in it"
    if _ESCAPE.sub("", pattern).endswith("\\"):
        return "a backslash at its end escapes nothing"
    plain = _ESCAPE.sub("", re.sub(r"\[!?\^?\]?[^/\]]*\]", "", pattern))
    for sign in "{[":
        start = plain.find(sign)
        if start >= 0 and (sign == "[" or not _edges(plain, start)):
            return f"{sign!r} is not closed; write \\{sign} for the sign itself"
    try:
        compile_glob(pattern)
    except BadPattern as error:
        return str(error)
    return ""


def _with_literal_names(pattern: str) -> list[str]:
    parts = pattern.split("/")
    odd = [at for at, part in enumerate(parts) if "[" in _ESCAPE.sub("", part)]
    if not odd:
        return [pattern]
    choices = product((False, True), repeat=len(odd)) if len(odd) <= MAX_LITERAL_NAMES else ()
    result = [pattern, _escape_brackets(pattern)]
    for choice in choices:
        chosen = list(parts)
        for at, is_literal in zip(odd, choice, strict=True):
            chosen[at] = _escape_brackets(parts[at]) if is_literal else parts[at]
        result.append("/".join(chosen))
    return result


def _escape_brackets(text: str) -> str:
    return re.sub(r"\\.|\[", lambda match: r"\[" if match[0] == "[" else match[0], text)


def path_tokens(pattern: str) -> Iterator[str]:
    """Yield the tokens of a pattern without braces, as `expressions.glob_expression` takes them."""
    *folders, last = pattern.split("/")
    for part in folders:
        if part == "**":
            yield FOLDERS
        else:
            yield from _part_tokens(part)
            yield "/"
    yield from _part_tokens(last)


def _part_tokens(part: str) -> Iterator[str]:
    for at, piece in enumerate(part.split("**")):
        if at:
            yield from (FOLDERS, STAR)
        yield from glob_tokens(piece)


def glob_tokens(part: str) -> Iterator[str]:
    """Yield the tokens of one name of a pattern, as `expressions.glob_expression` takes them.

    Raises: BadPattern for a class that does not exist.
    """
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
        try:
            return _brackets.read_bracket(part, at + 1)
        except _brackets.UnknownClass as error:
            raise BadPattern(f"{part!r}: {error}") from None
        except _brackets.MalformedBracket:  # not closed: the bracket is itself
            pass
    return re.escape(letter), at + 1
