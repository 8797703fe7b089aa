"""Check that a file that parsed before a change still does.

Python is parsed by Python itself; the other languages need the extra `syntax` (tree-sitter).
"""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

MAX_CHARACTERS = 300_000  # about 50 ms
_PYTHON = frozenset({"py", "pyi", "pyw"})
_FILE = "<edited file>"
_GRAMMARS = {
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
}


def new_fault(path: str, before: str, after: Callable[[], str]) -> str:
    """Return the location and reason of a syntax error *after* a change, if *before* had none.

    Returns "" for no error, other languages, large files, and without the grammar.
    """
    ending = path.rpartition(".")[2].lower()
    if len(before) > MAX_CHARACTERS:
        return ""
    if ending in _PYTHON:
        return _python_fault(before, after())
    return _other_fault(_GRAMMARS[ending], before, after()) if ending in _GRAMMARS else ""


def _python_fault(before: str, after: str) -> str:
    fault = _complaint(after)
    if not fault or _complaint(before):
        return ""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"Python {version} cannot parse {fault}"


def _complaint(text: str) -> str:
    if len(text) > 2 * MAX_CHARACTERS:
        return ""
    # A string such as "\d" warns, which would appear on the screen of the person.
    warnings.filterwarnings("ignore", module=_FILE)
    try:
        compile(text, _FILE, "exec", _ONLY_PARSE, dont_inherit=True)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):  # a NUL, or nested too deeply for the parser
        return ""
    return ""


_ONLY_PARSE = 0x400
"""`ast.PyCF_ONLY_AST`, without the import of ast."""


def _other_fault(grammar: tuple[str, str], before: str, after: str) -> str:
    try:
        # The import is by name, since the extra may be missing.
        tree_sitter = import_module("tree_sitter")
        language = tree_sitter.Language(getattr(import_module(grammar[0]), grammar[1])())
    except (ImportError, AttributeError, ValueError):  # not there, or of another version
        return ""
    parser = tree_sitter.Parser(language)
    root = parser.parse(after.encode("utf-8", "replace")).root_node
    if not root.has_error or parser.parse(before.encode("utf-8", "replace")).root_node.has_error:
        return ""
    return f"line {_first(root)} does not parse"


def _first(node: Any) -> int:
    """Go down to the first node that is an error itself."""
    while not (node.is_error or node.is_missing):
        inner = next(
            (child for child in node.children if child.has_error or child.is_missing), None
        )
        if inner is None:
            break
        node = inner
    return int(node.start_point[0]) + 1
