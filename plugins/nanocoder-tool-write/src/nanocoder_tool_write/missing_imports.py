"""Add the imports that a small model forgot, where only one module can be meant.

Shown a function with its imports and asked for a file, a small model writes the function alone.
"""

import ast
import builtins
import sys
import typing
from collections.abc import Iterator

from nanocoder_tool_write.merge import after_imports

OF_TYPING = frozenset(name for name in typing.__all__ if name[0].isupper())


def missing_imports(code: str) -> list[str]:
    """Return import statements for names that *code* uses and nothing in it defines.

    Those are names of `typing`, and modules of the standard library with an attribute.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    defined = {*_defined(tree), *dir(builtins)}
    if "*" in defined:
        return []
    names = {
        node.id: node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id not in defined
    }
    types = sorted(names.keys() & OF_TYPING)
    return [
        *(f"import {name}" for name in sorted(_modules(tree) & names.keys())),
        *([f"from typing import {', '.join(types)}"] if types else []),
    ]


def with_imports(code: str, statements: list[str]) -> str:
    """Return *code* with *statements* after its own imports."""
    lines = code.splitlines()
    line = after_imports(ast.parse(code))
    is_first = line == 0 or not isinstance(ast.parse(code).body[0], ast.Import | ast.ImportFrom)
    lines[line:line] = [*statements, *([""] if is_first and lines[line:] else [])]
    return "\n".join(lines) + "\n"


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield every name that is bound anywhere, and "*" for an import of everything."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def _modules(tree: ast.Module) -> set[str]:
    """Return the modules of the standard library that attributes are taken from."""
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    names = {value.id for value in values if isinstance(value, ast.Name)}
    return names & sys.stdlib_module_names
