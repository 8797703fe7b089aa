"""What the outside review found, and the tests that hold it, by the mark `finding`."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import repository
from references import Section

FILE = repository.ROOT / "tests/contract/findings.toml"
SECURITY_PAGE = repository.ROOT / "docs/explanation/security.md"
OTHERS_PAGE = repository.ROOT / "tests/findings.md"
SECURITY = "security"
REASONS = ("answered", "waits")
MAX_TESTS_SHOWN = 3
MARK = "finding"


@cache
def _file() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def findings() -> dict[str, dict[str, str]]:
    """Return the findings of each part: id and what was found."""
    return {part: rows for part, rows in _file().items() if part not in REASONS}


def reasons() -> dict[str, str]:
    """Return why some findings have no test, by id."""
    return {row: text for part in REASONS for row, text in _file()[part].items()}


@cache
def tests() -> dict[str, list[str]]:
    """Return for each id the tests that name it, as pytest names them."""
    held: dict[str, list[str]] = {}
    for path in repository.python_files():
        # Parsing takes a hundred times longer than looking for the word.
        if path.name.startswith("test_") and MARK in path.read_text(encoding="utf-8"):
            for row, name in _marked(path):
                held.setdefault(row, []).append(f"{repository.shown(path)}::{name}")
    return held


def unheld() -> list[str]:
    """Return the ids that no test holds and no reason explains."""
    explained = reasons()
    ids = [row for rows in findings().values() for row in rows]
    return [row for row in ids if row not in tests() and row not in explained]


def sections() -> list[Section]:
    """Return the tables of both pages as they have to be."""
    others = [part for part in findings() if part != SECURITY]
    return [
        Section(SECURITY_PAGE, "findings", "\n".join(_table([SECURITY]))),
        Section(OTHERS_PAGE, "findings", "\n".join(_table(others))),
    ]


def _table(parts: list[str]) -> Iterator[str]:
    yield "| id | what the review found | what holds it |"
    yield "|---|---|---|"
    for part in parts:
        for row, text in findings()[part].items():
            yield f"| {row} | {text} | {_holder(row)} |"
    yield ""


def _holder(row: str) -> str:
    named = sorted(set(tests().get(row, ())))
    if not named:
        return reasons().get(row, "")
    links = ", ".join(f"`{name.rpartition('/')[2]}`" for name in named[:MAX_TESTS_SHOWN])
    more = len(named) - MAX_TESTS_SHOWN
    return f"{links} and {more} more" if more > 0 else links


def _marked(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each id in a mark of *path* with the test that it is on, "*" where it is on none."""
    tree = repository.tree(path)
    on_tests = [
        (row, node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        for row in _ids(decorator)
    ]
    yield from on_tests
    named = {row for row, _ in on_tests}
    yield from ((row, "*") for row in _ids(tree) if row not in named)


def _ids(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_mark(node.func):
            yield from (str(item.value) for item in node.args if isinstance(item, ast.Constant))


def _is_mark(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == MARK
