"""Repair what a small model writes wrongly because its Python stands in JSON.

It has to escape the three quotes of a docstring, and now and then it writes two or four of them; or
the brace that ends the object stands at the end of the code, too.
"""

import ast
import re

MOST = 40
"""So many places are tried; each takes as long as the code takes to parse."""
_QUOTES = re.compile(r"""(?<!")"{2}(?!")|(?<!")"{4}(?!")|(?<!')'{2}(?!')""")


def repair_quotes(code: str) -> str:
    """Return *code* with three quotes in one place, if it parses with just one such change.

    Else without a brace at its end, if it parses then.
    """
    if parses(code):
        return code
    if parses(shorter := code.rstrip().removesuffix("}") + "\n"):
        return shorter
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
