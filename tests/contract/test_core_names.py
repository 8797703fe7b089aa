"""The core knows no tool and no plugin of ours by name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import repository
from nanocoder import Plugins


@pytest.fixture(scope="module")
def named():
    """Return a pattern that finds the name of a tool or a plugin of this repository in a text."""
    modules = {module for package in repository.plugins() for module in package.modules}
    plugins = Plugins.installed()
    entries = {name for name, entry in plugins.entries.items() if entry.module in modules}
    tools = {tool.name for tool in plugins.tools().values() if tool.plugin in entries}
    assert entries, "install them: nox -s contract does"
    assert tools, "install them: nox -s contract does"
    # "grep" and "task" are also words, so in a sentence only names of several words are found.
    words = [name for name in tools if "_" not in name]
    anywhere = [*(name for name in tools if "_" in name), *entries]
    return re.compile(
        rf"(?<![\w-])(?:{'|'.join(sorted(anywhere))})(?![\w-])|\A(?:{'|'.join(sorted(words))})\Z"
    )


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a module's code; docstrings explain it and may give examples."""
    tree = repository.tree(path)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


@pytest.mark.timeout(60)
def test_the_code_of_the_core_names_no_tool_and_no_plugin_of_ours(named):
    found = {
        (repository.shown(path), match.group())
        for path in repository.core().source.rglob("*.py")
        for text in texts(path)
        for match in named.finditer(text)
    }
    listed = {(entry["file"], entry["name"]) for entry in repository.exceptions("core_names")}
    assert sorted(found - listed) == [], "let the plugin say it: a field, a hint, a hook"
    assert sorted(listed - found) == [], "drop the exception: the name is gone"


def test_names_are_found_in_texts_but_not_in_docstrings(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""read_file."""\nNAME = "grep"\ndef f():\n    """task."""\n    return f"a{1}b"\n'
    )
    assert list(texts(path)) == ["grep", "a", "b"]
