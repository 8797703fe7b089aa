"""Patterns in the syntax of other programs, and ripgrep's reasons against invalid ones."""

import re
from typing import Final

from nanocoder_tool_grep.query import Query

# A class is copied as it is; anything else is one character, or one with a backslash.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:[a-z]+:\]|[^\]\\])*\]|.", re.DOTALL)
_SIGN: Final = re.compile(rf"\{{\d*,?\d*\}}|{_TOKEN.pattern}", re.DOTALL)
_LETTERS: Final = frozenset(" _-=,;:'\"/<>@#%&!~`")
_OPTIONAL: Final = frozenset("?*{")
_SPECIAL: Final = re.compile(r"[\\.^$*+?{}\[\]|()]")
_SIGNS: Final = frozenset("|+?(){}")
"""Operators that grep's basic expressions escape with a backslash; literal without one."""


def as_extended(pattern: str) -> str:
    r"""Return a basic expression of grep, such as `a\|b`, as ripgrep writes it, or ""."""
    tokens = _TOKEN.findall(pattern)
    if not any(token[0] == "\\" and token[1:] in _SIGNS for token in tokens):
        return ""
    return "".join(map(_turned, tokens))


def breaks_lines(pattern: str, *, fixed: bool) -> bool:
    """Return True if the pattern asks for a line break."""
    breaks = {"\n"} if fixed else {"\n", r"\n"}
    return not breaks.isdisjoint(_TOKEN.findall(pattern))


def names_returns(query: Query) -> bool:
    r"""Return True if the pattern names "\r", which is then no part of a line end."""
    is_named = not query.fixed and any(r"\r" in token for token in _TOKEN.findall(query.pattern))
    return is_named or "\r" in query.pattern


def required_letters(query: Query) -> str:
    """Return the longest ASCII text that every match contains, or "" if none is certain."""
    if query.ignore_case:
        return ""
    if query.is_plain:
        return query.pattern if query.pattern.isascii() and "\n" not in query.pattern else ""
    runs, depth, before = [""], 0, ""
    for sign in _SIGN.findall(query.pattern):
        if sign == "|" or before + sign == "(?":
            return ""
        depth += (sign == "(") - (sign == ")")
        if not depth and sign.isascii() and (sign.isalnum() or sign in _LETTERS):
            runs[-1] += sign
        else:
            # Optional letters are not required.
            runs[-1] = runs[-1][:-1] if sign[0] in _OPTIONAL else runs[-1]
            runs.append("")
        before = sign
    return max(runs, key=len)


def across_lines(query: Query) -> str:
    r"""Return a pattern whose line breaks also match those of Windows' files."""
    pattern = _SPECIAL.sub(r"\\\g<0>", query.pattern) if query.is_plain else query.pattern
    tokens = _TOKEN.findall(pattern)
    return "".join(r"\r?\n" if token in {r"\n", "\n"} else token for token in tokens)


def reason_in(complaint: str) -> str:
    """Return the reason in ripgrep's error message about a pattern."""
    lines = complaint.strip().splitlines()
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (reasons or lines or ["unknown"])[0].removeprefix("rg: ")


def _turned(token: str) -> str:
    if token in _SIGNS:
        return f"\\{token}"
    return token[1] if token[0] == "\\" and token[1:] in _SIGNS else token
