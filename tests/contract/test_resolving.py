"""One walk says where a path leads: nobody else works it out by letters, or a second time."""

import ast
from pathlib import Path

import repository

ROOM = repository.ROOT / "core/nanocoder-base/src/nanocoder_files"
FUNCTIONS = {"normpath", "realpath"}


def resolving(folder: Path) -> set[str]:
    """Return the modules of *folder* that use os.path.normpath or realpath."""
    return {
        repository.shown(path)
        for path in folder.rglob("*.py")
        if not path.is_relative_to(ROOM) and uses(path.read_text(encoding="utf-8"))
    }


def uses(text: str) -> bool:
    nodes = ast.walk(ast.parse(text)) if any(map(text.__contains__, FUNCTIONS)) else ()
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
    imported = {
        alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return not FUNCTIONS.isdisjoint(names | imported)


def test_the_search_finds_every_way_to_call_them():
    assert uses("import os\nos.path.normpath('a')")
    assert uses("import posixpath as p\np.realpath('a')")
    assert uses("from os.path import normpath as tidy\ntidy('a')")
    assert uses("import os\nmap(os.path.realpath, [])")
    assert not uses("normal = 'normpath'")


def test_only_listed_modules_resolve_paths_by_themselves():
    listed = {entry["where"] for entry in repository.exceptions("resolving")}
    folders = [source for package in repository.packages() for source in package.sources]
    found = set().union(*map(resolving, folders))
    assert found - listed == set(), "ask `SessionInfo.resolve` or the workspace, or give a reason"
    assert listed - found == set(), "an exception is no longer needed: drop it"
