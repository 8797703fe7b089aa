"""No module of a distribution imports itself through other modules.

Imports for type checkers and imports inside functions count: a reader needs both modules to
understand either.
"""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import repository
from repository import Package


def modules(package: Package) -> dict[str, Path]:
    """Return the files of *package* by the names that their modules have."""
    root = package.folder / "src"
    names = {path: path.relative_to(root).with_suffix("").parts for path in package.files}
    return {
        ".".join(name[:-1] if name[-1] == "__init__" else name): path
        for path, name in names.items()
    }


def imported_modules(path: Path, package: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of *package* that a file imports."""
    for node in ast.walk(repository.tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in package)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            inner = {f"{base}.{alias.name}" for alias in node.names} & package.keys()
            yield from inner or {base} & package.keys()


def circle(package: Mapping[str, Path]) -> list[str]:
    """Return the modules of a circle, or nothing."""
    graph = {name: set(imported_modules(path, package)) for name, path in package.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


@pytest.mark.parametrize("package", repository.packages(), ids=lambda package: package.name)
def test_no_module_imports_itself_through_others(package):
    found = circle(modules(package))
    assert not found, f"{' -> '.join(found)}: move what both need into a third module"


def test_a_circle_under_type_checking_is_found(tmp_path):
    (tmp_path / "a.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.b import B\n"
    )
    (tmp_path / "b.py").write_text("def load():\n    from package import a\n    return a\n")
    package = {"package.a": tmp_path / "a.py", "package.b": tmp_path / "b.py"}
    assert set(circle(package)) == {"package.a", "package.b"}
    del package["package.b"]
    assert circle(package) == []
