"""Whether a file that parsed before an edit still does; needs the extra `syntax`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

MAX_CHARACTERS = 300_000  # about 50 ms
_GRAMMARS = {
    "py": ("tree_sitter_python", "language"),
    "pyi": ("tree_sitter_python", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
}


def new_fault(path: str, before: str, after: Callable[[], str]) -> int:
    """Return the line, from 1, of the first syntax error that *before* did not have; 0 for none.

    Always 0 for other languages, large files, and where the grammar is not installed.
    """
    grammar = _GRAMMARS.get(path.rpartition(".")[2].lower())
    if grammar is None or len(before) > MAX_CHARACTERS:
        return 0
    try:
        # Written out, not in the packages' own words: the extra may be missing.
        tree_sitter = import_module("tree_sitter")
        language = tree_sitter.Language(getattr(import_module(grammar[0]), grammar[1])())
    except (ImportError, AttributeError, ValueError):  # not there, or of another version
        return 0
    parser = tree_sitter.Parser(language)
    root = parser.parse(after().encode("utf-8", "replace")).root_node
    if not root.has_error or parser.parse(before.encode("utf-8", "replace")).root_node.has_error:
        return 0
    return _first(root)


def _first(node: Any) -> int:
    """Go down to the first node that is an error itself."""
    while not (node.is_error or node.is_missing):
        inner = next((one for one in node.children if one.has_error or one.is_missing), None)
        if inner is None:
            break
        node = inner
    return int(node.start_point[0]) + 1
