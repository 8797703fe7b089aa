"""The hooks and tools that the source of a package declares; nothing of it runs."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import count_tokens

from nanocoder_kit_process.capabilities.scan import python_files

HOOK: Final = "nanocoder_"
NAME_TOKENS: Final = 12
"""Tokens of a definition without its texts: the name, and the schema around it."""
PARAMETER_TOKENS: Final = 14
"""Tokens of one parameter in a schema without its texts."""


@frozen
class OutlinedTool:
    """A tool by its decorator and docstring; *tokens* is an estimate of its definition."""

    name: str
    risk: str
    effects: tuple[str, ...]
    tokens: int


@frozen
class Outline:
    """The hooks and tools in the source of one package."""

    hooks: tuple[str, ...] = ()
    tools: tuple[OutlinedTool, ...] = ()


def outline(package: Path) -> Outline:
    """Return the hooks and tools in a package's source, without those created at run time."""
    hooks: set[str] = set()
    tools: dict[str, OutlinedTool] = {}
    for path in python_files(package):
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        for function in _functions(tree):
            hooks |= _hook(function)
            tools |= {tool.name: tool for tool in _tool(function)}
    return Outline(tuple(sorted(hooks)), tuple(tools[name] for name in sorted(tools)))


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _hook(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    for decorator in function.decorator_list:
        if _name(decorator) == "hookimpl":
            options = decorator.keywords if isinstance(decorator, ast.Call) else []
            named = [each.value for each in options if each.arg == "specname"]
            spec = named[0].value if named and isinstance(named[0], ast.Constant) else None
            return {str(spec or function.name)}
    return set()


def _tool(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[OutlinedTool]:
    for decorator in function.decorator_list:
        if _name(decorator) == "tool":
            options = decorator.keywords if isinstance(decorator, ast.Call) else []
            values = {each.arg: each.value for each in options}
            name, risk = (_text(values.get(key)) for key in ("name", "risk"))
            effects = tuple(sorted(filter(None, map(_text, _items(values.get("effects"))))))
            tokens = _tokens(function, _text(values.get("description")))
            yield OutlinedTool(name or function.name, risk or "medium", effects, tokens)


def _tokens(function: ast.FunctionDef | ast.AsyncFunctionDef, description: str) -> int:
    text = description or ast.get_docstring(function) or ""
    arguments = [*function.args.args, *function.args.kwonlyargs]
    parameters = [each for each in arguments if each.arg != "ctx"]
    texts = [text, *(ast.unparse(each) for each in parameters)]
    return NAME_TOKENS + PARAMETER_TOKENS * len(parameters) + sum(map(count_tokens, texts))


def _name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _items(node: ast.expr | None) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Set | ast.List | ast.Tuple) else []


def _text(node: ast.expr | None) -> str:
    """Return the text of a constant, or the lower-case name of a member such as Effect.READ."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return node.attr.lower() if isinstance(node, ast.Attribute) else ""
