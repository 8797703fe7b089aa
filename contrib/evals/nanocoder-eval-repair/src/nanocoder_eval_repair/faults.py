"""Small faults to put into the functions of a module: each replaces a few bytes of its text.

So comments and layout stay, and only the fault distinguishes a module from the published one.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from attrs import frozen

PAIRS: Final = (
    *(("<", "<="), (">", ">="), ("==", "!="), ("is", "is not"), ("in", "not in")),
    *(("+", "-"), ("<<", ">>"), ("&", "|"), ("and", "or"), ("+=", "-="), ("|=", "&=")),
)
ONE_WAY: Final = {"*": "+", "/": "*", "//": "*", "%": "//", "**": "*", "*=": "+="}
OTHER: Final = {**dict(PAIRS), **{right: left for left, right in PAIRS}, **ONE_WAY}
"""The replacement of each operator."""
OPERATOR: Final = re.compile(
    rb"not\s+in\b|is\s+not\b|[-+*/%&|<>=!]=|\*\*|//|<<|>>|[-+*/%&|<>]|\b(?:is|in|and|or)\b"
)
UNTOUCHED: Final = {"annotation", "returns", "decorator_list", "type_params"}
Edit = tuple[int, int, bytes]


@frozen
class Fault:
    """In *function*, at *line*, the bytes from *start* to *end* of a file become *after*."""

    function: str
    line: int
    start: int
    end: int
    after: str

    def put_into(self, text: str) -> str:
        """Return *text* with the fault."""
        code = text.encode()
        return (code[: self.start] + self.after.encode() + code[self.end :]).decode()


def faults(text: str) -> Iterator[Fault]:
    """Yield every fault of a module that leaves it valid Python."""
    source = _Source(text)
    for name, function in _functions(ast.parse(text)):
        for node in _inside(function):
            for start, end, after in source.edits(node):
                line = source.code.count(b"\n", 0, start) + 1
                fault = Fault(name, line, start, end, after.decode())
                if _is_valid(fault.put_into(text)):
                    yield fault


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield the outermost functions with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in UNTOUCHED:
                yield child
                yield from _inside(child)


def _is_valid(text: str) -> bool:
    try:
        compile(text, "module", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Source:
    """The bytes of a module, and where its nodes lie in them."""

    def __init__(self, text: str) -> None:
        self.code = text.encode()
        lines = self.code.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def edits(self, node: Any) -> Iterator[Edit]:
        """Yield the changes that make a fault of *node*."""
        match node:
            case ast.Compare():
                yield from self._between([node.left, *node.comparators])
            case ast.BinOp():
                yield from self._between([node.left, node.right])
            case ast.BoolOp():
                yield from self._between(node.values)
            case ast.AugAssign():
                yield from self._between([node.target, node.value])
            case ast.Constant(value=bool() | int()):
                yield from self._constant(node)
            case _:
                yield from self._statement(node)

    def _statement(self, node: Any) -> Iterator[Edit]:
        match node:
            case ast.UnaryOp(op=ast.Not()):
                yield (*self._span(node), self._text(node.operand))
            case ast.If() | ast.While():
                yield (*self._span(node.test), b"not (" + self._text(node.test) + b")")
            case ast.Return(value=ast.expr()):
                yield (*self._span(node.value), b"None")
            case ast.Expr(value=ast.Call()):
                yield (*self._span(node), b"pass")

    def _between(self, operands: list[ast.expr]) -> Iterator[Edit]:
        for left, right in pairwise(operands):
            end = self._span(left)[1]
            gap = self.code[end : self._span(right)[0]]
            operator = OPERATOR.search(gap)
            if operator and b"#" not in gap:
                other = OTHER.get(" ".join(operator[0].decode().split()))
                if other:
                    yield end + operator.start(), end + operator.end(), other.encode()

    def _constant(self, node: ast.Constant) -> Iterator[Edit]:
        text = self._text(node)
        if isinstance(node.value, bool):
            yield (*self._span(node), str(not node.value).encode())
        elif text.isdigit():
            yield (*self._span(node), str(int(text) + 1).encode())

    def _span(self, node: Any) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: Any) -> bytes:
        start, end = self._span(node)
        return self.code[start:end]
