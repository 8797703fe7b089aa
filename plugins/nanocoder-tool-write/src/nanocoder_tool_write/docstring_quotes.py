"""Repair the quotes around a docstring that a small model escaped wrongly.

In JSON it has to write three escaped quotes, and now and then it writes two or four of them.
"""

import ast
import re

MOST = 40
"""So many places are tried; each takes as long as the code takes to parse."""
_QUOTES = re.compile(r"""(?<!")"{2}(?!")|(?<!")"{4}(?!")|(?<!')'{2}(?!')""")


def repair_quotes(code: str) -> str:
    """Return *code* with three quotes in one place, if it parses with just one such change."""
    if parses(code):
        return code
    repaired = {
        changed
        for place in list(_QUOTES.finditer(code))[:MOST]
        if parses(changed := code[: place.start()] + place[0][0] * 3 + code[place.end() :])
    }
    return repaired.pop() if len(repaired) == 1 else code


def parses(code: str) -> bool:
    """Tell whether *code* is Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
