"""Repair of errors that a small model makes because its Python is inside JSON.

It has to escape the three quotes of a docstring, and sometimes it writes two or four of them; or
the brace that ends the object is at the end of the code, too.
"""

import ast
import re

MOST = 40
"""Limit of the repairs tried; each parses the whole code."""
_QUOTES = re.compile(r"""(?<!")"{2}(?!")|(?<!")"{4}(?!")|(?<!')'{2}(?!')""")


def repair_quotes(code: str) -> str:
    """Return *code* without a trailing brace, if it parses then.

    Else return it with one run of quotes replaced by three, if exactly one such change parses.
    """
    if parses(code):
        return code
    if parses(shorter := code.rstrip().removesuffix("}") + "\n"):
        return shorter
    repaired = {
        changed
        for run in list(_QUOTES.finditer(code))[:MOST]
        if parses(changed := code[: run.start()] + run[0][0] * 3 + code[run.end() :])
    }
    return repaired.pop() if len(repaired) == 1 else code


def parses(code: str) -> bool:
    """Return True if *code* is Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
