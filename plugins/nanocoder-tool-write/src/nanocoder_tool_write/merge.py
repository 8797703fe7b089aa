"""Put the definitions of an incomplete rewrite into the old file.

Asked to add or change a function, a small model writes a file that has this function alone. When
that is refused, it sends the same file again and again; when its definitions are put into the old
file, it is done.
"""

import ast
from collections.abc import Iterator, Sequence

from attrs import frozen

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


@frozen
class Merged:
    """The old file with the definitions of the new one: their names are in *changed*."""

    text: str
    changed: tuple[str, ...]


def merge_definitions(old: str, new: str) -> Merged | None:
    """Return *old* with the functions, classes and imports of *new*; both are Python.

    None when one of them does not parse, or when *new* has no definition at its top level, or one
    of them defines a name twice: then it is not known which is meant.
    """
    try:
        before, after = ast.parse(old), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    defined = [node for node in after.body if isinstance(node, DEFINITIONS)]
    existing = [node.name for node in before.body if isinstance(node, DEFINITIONS)]
    names = [node.name for node in defined]
    if not names or len({*names}) < len(names) or len({*existing}) < len(existing):
        return None
    old_nodes = {node.name: node for node in before.body if isinstance(node, DEFINITIONS)}
    lines = old.splitlines()
    added = [node for node in defined if node.name not in old_nodes]
    for node in sorted(
        (node for node in defined if node.name in old_nodes),
        key=lambda node: old_nodes[node.name].lineno,
        reverse=True,  # from the end, so that the numbers of earlier lines stay right
    ):
        first, last = _extent(old_nodes[node.name])
        lines[first - 1 : last] = _source(new, node)
    for node in added:
        lines = [*_without_blank_end(lines), "", "", *_source(new, node)]
    lines[(at := after_imports(before)) : at] = _new_imports(before, after, new)
    return Merged("\n".join(lines) + "\n", tuple(node.name for node in defined))


def _extent(node: _Definition) -> tuple[int, int]:
    """Return the first and last line of a definition, its decorators among them."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _source(text: str, node: _Definition) -> list[str]:
    first, last = _extent(node)
    return text.splitlines()[first - 1 : last]


def _without_blank_end(lines: Sequence[str]) -> list[str]:
    remaining = list(lines)
    while remaining and not remaining[-1].strip():
        remaining.pop()
    return remaining


def after_imports(tree: ast.Module) -> int:
    """Return the number of the last line of the imports, after which a new one belongs."""
    last = 0
    for number, node in enumerate(tree.body):
        is_docstring = (
            number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if not is_docstring and not isinstance(node, IMPORTS):
            break
        last = node.end_lineno or node.lineno
    return last


def _new_imports(before: ast.Module, after: ast.Module, new: str) -> Iterator[str]:
    existing = {ast.dump(node) for node in before.body if isinstance(node, IMPORTS)}
    for node in after.body:
        if isinstance(node, IMPORTS) and ast.dump(node) not in existing:
            yield ast.get_source_segment(new, node) or ""
