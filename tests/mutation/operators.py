"""Small faults to put into a function: the operators of mutmut 3, and faults of a gate.

A gate fails by a condition that always or never holds, a part of one that is missing, a statement
that is left out, an error that is not handled: mutmut has no such operators. A mutant is a module
with one node of its syntax tree replaced. As in mutmut, only the bodies and defaults of functions
change, never annotations, docstrings, decorators, the letters of an f-string, or the constants of a
module.
"""

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

SWAPPED: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Div, ast.Pow: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.UAdd: ast.USub, ast.USub: ast.UAdd,
}  # fmt: skip
METHODS = (
    *(("lower", "upper"), ("lstrip", "rstrip"), ("find", "rfind"), ("ljust", "rjust")),
    *(("index", "rindex"), ("removeprefix", "removesuffix"), ("partition", "rpartition")),
    *(("startswith", "endswith"), ("any", "all"), ("min", "max")),
)
OPPOSITE = {**dict(METHODS), **{right: left for left, right in METHODS}}
Function = ast.FunctionDef | ast.AsyncFunctionDef
SPLITS = {"split": "rsplit", "rsplit": "split"}
MAXSPLIT_AT = 2


class Mutant(NamedTuple):
    """One fault: the function *name* at *line*, what stood there, what stands there now.

    *inner* is the function that holds the fault: *name*, or one that is defined in it.
    """

    name: str
    inner: str
    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.line}: {self.name}: {_short(self.before)}  ->  {_short(self.after)}"


def mutants(source: str, only: frozenset[str] = frozenset()) -> Iterator[Mutant]:
    """Yield every mutant of *source*, or those of the functions named *only*."""
    tree = ast.parse(source)
    for name, function in functions(tree):
        if only and name not in only:
            continue
        inner = dict(_holders(function, name))
        for parent, field, index in _places(function):
            node = _get(parent, field, index)
            for changed in _changes(node):
                before = ast.unparse(node)
                if before == (after := ast.unparse(changed)):
                    continue
                _set(parent, field, index, changed)
                mutant = ast.fix_missing_locations(copy.deepcopy(tree))
                _set(parent, field, index, node)
                if _is_program(mutant):
                    line = getattr(node, "lineno", getattr(parent, "lineno", function.lineno))
                    holder = inner.get(id(parent), name)
                    yield Mutant(name, holder, line, before, after, mutant)


def _holders(outer: Function, name: str) -> Iterator[tuple[int, str]]:
    """Yield each node in a function inside of *outer*, by its identity, with that function."""
    for node in ast.walk(outer):
        if isinstance(node, Function) and node is not outer:
            yield from ((id(each), f"{name}.<locals>.{node.name}") for each in ast.walk(node))


def _is_program(tree: ast.Module) -> bool:
    try:
        compile(tree, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the outermost functions with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")


def mention(outer: Function, qualified: str, line: int, names: Iterable[str]) -> None:
    """Let the function at *line* use *names* where it never comes: it is a closure as before."""
    uses = [ast.Expr(ast.Name(name, ast.Load())) for name in names]
    for node in ast.walk(outer) if uses else ():
        is_it = isinstance(node, Function) and qualified.rpartition(".")[2] == node.name
        if is_it and line == min(it.lineno for it in (node, *node.decorator_list)):
            node.body.insert(0, ast.If(ast.Constant(value=False), uses, []))
            ast.fix_missing_locations(node)


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Yield where each node below *node* that may change is held."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "ctx", "format_spec"}:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_docstring(child):
                continue
            if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
                yield node, field, index
            yield from _places(child)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _get(parent: ast.AST, field: str, index: int | None) -> Any:
    value = getattr(parent, field)
    return value if index is None else value[index]


def _set(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    for kind, operator in OPERATORS:
        if isinstance(node, kind):
            yield from operator(node)


def _with(node: Any, **fields: Any) -> Any:
    """Return a copy of *node* with other *fields*."""
    changed = copy.copy(node)
    for field, value in fields.items():
        setattr(changed, field, value)
    return changed


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield _with(node, value=not value)
    elif isinstance(value, int | float):
        yield _with(node, value=value + 1)
    elif isinstance(value, str):
        for text in (f"XX{value}XX", value.lower(), value.upper()):
            yield _with(node, value=text)


def _swap(node: Any) -> Iterator[ast.AST]:
    other = SWAPPED.get(type(node.op))
    if other:
        yield _with(node, op=other())


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for at, operator in enumerate(node.ops):
        yield _with(node, ops=[*node.ops[:at], SWAPPED[type(operator)](), *node.ops[at + 1 :]])


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand


def _assignment(node: Any) -> Iterator[ast.AST]:
    if node.value is not None:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        yield _with(node, value=ast.Constant("" if is_none else None))


def _augmented(node: ast.AugAssign) -> Iterator[ast.AST]:
    yield ast.copy_location(ast.Assign([node.target], node.value), node)


def _call(node: ast.Call) -> Iterator[ast.AST]:
    nothing = ast.Constant(None)
    many = len(node.args) + len(node.keywords) > 1
    for at, argument in enumerate(node.args):
        rest = (node.args[:at], node.args[at + 1 :])
        if not isinstance(argument, ast.Starred):
            yield _with(node, args=[*rest[0], nothing, *rest[1]])
        if many:
            yield _with(node, args=[*rest[0], *rest[1]])
    for at, keyword in enumerate(node.keywords):
        rest = (node.keywords[:at], node.keywords[at + 1 :])
        if keyword.arg is not None:
            yield _with(node, keywords=[*rest[0], _with(keyword, value=nothing), *rest[1]])
        if many:
            yield _with(node, keywords=[*rest[0], *rest[1]])


def _method(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITE:
        yield _with(node, func=_with(node.func, id=OPPOSITE[node.func.id]))
    if not isinstance(node.func, ast.Attribute):
        return
    has_limit = len(node.args) == MAXSPLIT_AT or "maxsplit" in {it.arg for it in node.keywords}
    other = OPPOSITE.get(node.func.attr) or (SPLITS.get(node.func.attr) if has_limit else None)
    if other:
        yield _with(node, func=_with(node.func, attr=other))


def _lambda(node: ast.Lambda) -> Iterator[ast.AST]:
    is_none = isinstance(node.body, ast.Constant) and node.body.value is None
    yield _with(node, body=ast.Constant(0 if is_none else None))


def _ternary(node: ast.IfExp) -> Iterator[ast.AST]:
    for operator, value in ((ast.And(), False), (ast.Or(), True)):
        yield _with(node, test=ast.BoolOp(operator, [node.test, ast.Constant(value)]))


def _match(node: ast.Match) -> Iterator[ast.AST]:
    for at in range(len(node.cases) if len(node.cases) > 1 else 0):
        yield _with(node, cases=[*node.cases[:at], *node.cases[at + 1 :]])


def _break(node: ast.AST) -> Iterator[ast.AST]:
    yield ast.copy_location(ast.Return(None), node)


def _continue(node: ast.AST) -> Iterator[ast.AST]:
    yield ast.copy_location(ast.Break(), node)


def _condition(node: Any) -> Iterator[ast.AST]:
    # A loop that never ends takes long to be noticed, and each is.
    for value in (False,) if isinstance(node, ast.While) else (False, True):
        yield _with(node, test=ast.Constant(value))


def _filter(node: ast.comprehension) -> Iterator[ast.AST]:
    for at in range(len(node.ifs)):
        rest = (node.ifs[:at], node.ifs[at + 1 :])
        yield _with(node, ifs=[*rest[0], *rest[1]])
        yield _with(node, ifs=[*rest[0], ast.Constant(value=False), *rest[1]])


def _operand(node: ast.BoolOp) -> Iterator[ast.AST]:
    for at in range(len(node.values)):
        rest = [*node.values[:at], *node.values[at + 1 :]]
        yield _with(node, values=rest) if rest[1:] else rest[0]


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    yield ast.copy_location(ast.Pass(), node)


def _return(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield _with(node, value=ast.Constant(None))


def _handler(node: ast.ExceptHandler) -> Iterator[ast.AST]:
    yield _with(node, body=[ast.Raise()])
    if isinstance(node.type, ast.Tuple):
        yield from (_with(node, type=errors) for errors in _shorter(node.type))


def _shorter(node: Any) -> Iterator[ast.AST]:
    for at in range(len(node.elts)):
        yield _with(node, elts=[*node.elts[:at], *node.elts[at + 1 :]])


def _elements(node: Any) -> Iterator[ast.AST]:
    # A constant changes by itself, and without a part of a plain tuple or list all would fail.
    for element, shorter in zip(node.elts, _shorter(node), strict=True):
        is_part = isinstance(node, ast.Set) and not isinstance(element, ast.Constant)
        if is_part or isinstance(element, ast.Starred):
            yield shorter


OPERATORS: tuple[tuple[type[ast.AST], Callable[[Any], Iterator[ast.AST]]], ...] = (
    *((ast.Constant, _constant), (ast.BinOp, _swap), (ast.BoolOp, _swap), (ast.UnaryOp, _swap)),
    *((ast.Compare, _compare), (ast.UnaryOp, _unary), (ast.AugAssign, _augmented)),
    *((ast.AugAssign, _swap), (ast.Assign, _assignment), (ast.AnnAssign, _assignment)),
    *((ast.Call, _call), (ast.Call, _method), (ast.Lambda, _lambda), (ast.IfExp, _ternary)),
    *((ast.Match, _match), (ast.Break, _break), (ast.Continue, _continue)),
    *((ast.If, _condition), (ast.While, _condition), (ast.comprehension, _filter)),
    *((ast.BoolOp, _operand), (ast.Expr, _statement), (ast.Raise, _statement)),
    *((ast.Return, _return), (ast.ExceptHandler, _handler), (ast.NamedExpr, _assignment)),
    *((ast.Set, _elements), (ast.List, _elements), (ast.Tuple, _elements)),
)


def _short(text: str, most: int = 70) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
