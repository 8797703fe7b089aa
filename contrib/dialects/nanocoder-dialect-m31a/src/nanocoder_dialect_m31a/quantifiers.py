"""Patterns that the reference refuses, since some engines would never finish them."""

import re
from typing import Final

# Escapes, sets, the starts and ends of groups, and quantifiers; all else is a literal.
_TOKENS: Final = re.compile(
    r"(?P<letter>\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])"
    r"|(?P<open>\((?:\?(?:P?<?[=!]|P?<\w+>|>|[a-zA-Z-]*:?))?)"
    r"|(?P<close>\))"
    r"|(?P<many>[*+]|\{\d+,\})"
    r"|(?P<few>\?|\{\d*,?\d+\})",
    re.DOTALL,
)


def problem(pattern: str) -> str:
    """Return the problem of a regular expression's quantifiers, or ""."""
    groups = [False]  # for each open group: whether a part of it is repeated without end
    before = ""  # the kind of the last token; "repeated" for a group that repeats something
    end = 0
    for token in _TOKENS.finditer(pattern):
        before = "" if token.start() > end else before
        kind, end = str(token.lastgroup), token.end()
        if kind == "open":
            groups.append(False)
        elif kind == "close":
            inner = groups.pop() if len(groups) > 1 else False
            groups[-1] = groups[-1] or inner
            kind = "repeated" if inner else kind
        elif kind in {"many", "few"}:
            if before in {"many", "few"} and token[0] == "?":
                kind = "lazy"
            elif before in {"many", "few", "lazy"}:
                return "two quantifiers follow each other"
            elif kind == "many" and before == "repeated":
                return "a quantifier stands within what another repeats"
            groups[-1] = groups[-1] or kind == "many"
        before = kind
    return ""
