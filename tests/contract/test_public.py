"""What a package exports is what its `__all__` says. (That it is sorted is a lint rule.)"""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import repository


def public_modules() -> list[str]:
    """Return the packages that others import: the core's front doors, and the parts of kits."""
    family = [module for package in repository.family() for module in package.modules]
    return [*family, *(name for each in repository.plugins() for name in kit_parts(each))]


def kit_parts(package: repository.Package) -> Iterator[str]:
    """Yield the packages of a kit that have names of their own."""
    for path in sorted(package.source.rglob("__init__.py")) if package.kind == "kit" else ():
        if "__all__" in path.read_text(encoding="utf-8"):
            yield ".".join((package.module, *path.parent.relative_to(package.source).parts))


def file_of(name: str) -> Path:
    top, *rest = name.split(".")
    sources = (source for package in repository.packages() for source in package.sources)
    source = next(source for source in sources if source.name == top)
    stub = source.joinpath(*rest, "__init__.pyi")  # beside a door that loads names lazily
    return stub if stub.is_file() else stub.with_suffix(".py")


def statements(path: Path) -> Iterator[ast.stmt]:
    """Yield the top level of a module, that under a condition (TYPE_CHECKING) too."""
    for node in repository.tree(path).body:
        yield node
        if isinstance(node, ast.If):
            yield from node.body


def bound(node: ast.stmt, package: str) -> list[str]:
    """Return the names that a statement defines, or takes from its own package to show."""
    family = tuple(f"{module}." for member in repository.family() for module in member.modules)
    if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith((f"{package}.", *family)):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def is_judged(name: str) -> bool:
    """Whether a name is public; a constant that has a name and a unit need not be exported."""
    return not name.startswith("_") and name != name.upper()


@pytest.mark.parametrize("name", public_modules())
def test_all_names_each_public_thing_once_and_nothing_else(name):
    module = importlib.import_module(name)
    exported = list(module.__all__)
    missing = [export for export in exported if not hasattr(module, export)]
    assert missing == []
    bindings = [item for node in statements(file_of(name)) for item in bound(node, name)]
    assert len(exported) == len(set(exported))
    assert set(filter(is_judged, bindings)) == set(filter(is_judged, exported))
