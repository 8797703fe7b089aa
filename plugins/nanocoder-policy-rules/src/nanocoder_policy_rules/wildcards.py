"""Globs of paths in rules: `*` and `?` stay within a name, `**` goes across directories.

`{a,b}`, `[a-z]` and a backslash mean what they mean to the tools that search. Brackets also stand
for themselves, because files of some frameworks are called `[id].tsx`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from nanocoder_kit_glob import expand_braces, glob_tokens
from nanocoder_kit_glob.expressions import FOLDERS, STAR, glob_expression

NOTHING: Final = re.compile(r"(?!)")
"""An expression that matches no text."""
_BELOW: Final = "/**"


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return an expression for whole paths, which may contain line breaks.

    With `/**` at its end a glob is for a directory and everything below it.
    Raises: BadPattern, a ValueError, for braces that stand for too many patterns.
    """
    names = pattern
    while names.endswith(_BELOW):
        names = names.removesuffix(_BELOW)
    bodies = [glob_expression(tokens(each)) for each in expand_braces(names)]
    if "[" in names:
        bodies.append(glob_expression(tokens(names.replace("[", "\\["))))
    below = "" if names == pattern else "(?:/.*)?"
    return re.compile(f"(?:{'|'.join(bodies)}){below}", re.DOTALL)


def tokens(pattern: str) -> Iterator[str]:
    """Yield the tokens of a pattern without braces, as `glob_expression` takes them."""
    *folders, last = pattern.split("/")
    for part in folders:
        if part == "**":
            yield FOLDERS
        else:
            yield from _in_part(part)
            yield "/"
    yield from _in_part(last)


def _in_part(part: str) -> Iterator[str]:
    for at, piece in enumerate(part.split("**")):
        if at:
            yield from (FOLDERS, STAR)
        yield from glob_tokens(piece)


def any_of(expressions: Iterable[re.Pattern[str]]) -> re.Pattern[str]:
    """Return one expression for what one of *expressions* matches: most paths match none."""
    bodies = [f"(?:{each.pattern})" for each in expressions]
    return re.compile("|".join(bodies), re.DOTALL) if bodies else NOTHING
