"""Globs of paths in rules: `*` and `?` stay within a name, `**` goes across folders."""

import re
from collections.abc import Iterable
from typing import Final

from nanocoder_kit_glob.expressions import glob_expression

NOTHING: Final = re.compile(r"(?!)")
"""An expression that matches no text."""
_SIGNS: Final = r"(?s)(?:^|(?<=/))\*\*/|\*\*|."
_TOKENS: Final = {"**/": ["**/"], "**": ["**/", "*"], "*": ["*"], "?": ["[^/]"]}
_BELOW: Final = "/**"


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return an expression for whole paths, which may contain line breaks.

    With `/**` at its end a glob is for a folder and everything below it.
    """
    names = pattern
    while names.endswith(_BELOW):
        names = names.removesuffix(_BELOW)
    signs = re.findall(_SIGNS, names)
    tokens = [token for sign in signs for token in _TOKENS.get(sign, [re.escape(sign)])]
    below = "" if names == pattern else "(?:/.*)?"
    return re.compile(glob_expression(tokens) + below, re.DOTALL)


def any_of(expressions: Iterable[re.Pattern[str]]) -> re.Pattern[str]:
    """Return one expression for what one of *expressions* matches: most paths match none."""
    bodies = [f"(?:{each.pattern})" for each in expressions]
    return re.compile("|".join(bodies), re.DOTALL) if bodies else NOTHING
