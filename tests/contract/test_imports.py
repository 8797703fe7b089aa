"""Imports point down the ladder, plugins see only the front door, and each module imports alone."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from itertools import accumulate
from pathlib import Path

import pytest
import repository
from repository import Package

DISTRIBUTION = re.compile(r"[A-Za-z0-9._-]+")
SLOW = (
    "asyncio",
    "cattrs",
    "httpx",
    "importlib.metadata",
    "importlib_metadata",
    "prompt_toolkit",
    "rich",
)

# Each module in a fork of its own, so that none finds what another one has imported. What a fork
# may find is what its module imports first in any case: the packages that the module is in, and of
# the others' libraries one that several modules begin with, such as mcp, which takes a second.
IMPORT_EACH = """
import collections, contextlib, gc, importlib, json, os, sys, traceback
slow = json.loads(sys.argv[2])
gc.disable()  # importing makes much, and no garbage

def in_a_fork(function, *arguments):
    if not os.fork():
        try:
            function(*arguments)
        finally:
            os._exit(0)
    os.wait()

def report(name):
    try:
        importlib.import_module(name)
        problem = ""
    except BaseException:
        problem = traceback.format_exc()
    loaded = [module for module in slow if module in sys.modules]
    os.write(1, (json.dumps([name, problem, loaded]) + "\\n").encode())

def report_each(libraries, first):
    with contextlib.suppress(BaseException):  # each module that needs it fails at it again
        importlib.import_module(first)
    while shared := collections.Counter(sum(libraries.values(), [])).most_common(1):
        (library, times), = shared
        if times == 1:
            break
        users = {name for name, those in libraries.items() if library in those}
        rest = {name: [other for other in libraries[name] if other != library] for name in users}
        in_a_fork(report_each, rest, library)
        libraries = {name: libraries[name] for name in libraries.keys() - users}
    for name in libraries:
        in_a_fork(report, name)

for parent, libraries in json.loads(sys.argv[1]).items():
    in_a_fork(report_each, libraries, parent)
"""

INSIDE = 187
"""The most imports inside functions; each of them saves time at a start, or at the first call."""


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of everything that a file imports, inside functions too."""
    for node in ast.walk(repository.tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."


def inside_functions(path: Path) -> Iterator[str]:
    """Yield each import of a file that runs only when its function does."""
    tree = repository.tree(path)
    at_import = list[ast.AST](tree.body)
    for node in at_import:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            at_import += ast.iter_child_nodes(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in at_import:
            yield f"{repository.shown(path)}:{node.lineno}: {ast.unparse(node)}"


def declared(package: Package) -> set[str]:
    """Return the distributions that a package says it needs, its extras among them."""
    project = package.project["project"]
    extras = project.get("optional-dependencies", {}).values()
    needed = [*project.get("dependencies", ()), *(item for extra in extras for item in extra)]
    matches = (DISTRIBUTION.match(requirement) for requirement in needed)
    return {match[0].lower().replace("_", "-") for match in matches if match}


def is_allowed(package: Package, name: str, own: Collection[str], *, in_tests: bool) -> bool:
    """Judge one import of a plugin, a kit or an example: *own* are the packages it is part of."""
    top = name.split(".", maxsplit=1)[0]
    if top in repository.core().modules:
        return name == top
    if top == "nanocoder_testing":
        return in_tests or "nanocoder-testing" in declared(package)
    if top in own or top in sys.stdlib_module_names:
        return True
    if in_tests:
        return not top.startswith("nanocoder_") or top.startswith("nanocoder_kit_")
    return bool(owners(top) & declared(package))


@cache
def owners(top: str) -> frozenset[str]:
    """Return the distributions that an import comes from; an editable one has no list of files."""
    ours = {module: each.name for each in repository.packages() for module in each.modules}
    names = [ours[top]] if top in ours else packages_distributions().get(top, ())
    return frozenset(name.lower().replace("_", "-") for name in names)


def foreign_imports(package: Package) -> Iterator[tuple[str, str]]:
    for path in sorted(package.folder.rglob("*.py")):
        # A kit's `testing` is for the tests of the plugins that use the kit.
        first, second, *_ = path.relative_to(package.folder).parts
        in_tests = first == "tests" or path.name == "testing.py"
        # Plugins of one distribution are disabled one by one, so none needs another.
        own = package.modules if first == "tests" else [second]
        for line, name in imported(path):
            if not is_allowed(package, name, own, in_tests=in_tests):
                yield name, f"{repository.shown(path)}:{line}: {name}"


@pytest.mark.contract("NT-50")
def test_the_components_of_the_core_import_only_from_below():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=repository.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_an_import_is_inside_a_function_only_where_a_start_is_faster_by_it():
    inside = [line for path in repository.sources() for line in inside_functions(path)]
    assert len(inside) <= INSIDE, "\n".join(inside)


STANDING_ON_THE_CORE = [one for one in repository.packages() if one not in repository.family()]


@pytest.mark.parametrize("package", STANDING_ON_THE_CORE, ids=lambda package: package.name)
def test_a_plugin_imports_the_front_door_the_kits_and_what_it_declares(package):
    excused = {
        entry["module"]
        for entry in repository.exceptions("imports")
        if entry["where"] == package.label
    }
    found = dict(foreign_imports(package))
    assert [place for name, place in found.items() if name not in excused] == []
    assert excused <= set(found), "an exception is no longer needed: drop it"


@pytest.mark.parametrize("package", repository.family(), ids=lambda package: package.name)
def test_a_package_of_the_core_imports_only_what_it_declares(package):
    allowed = declared(package)
    foreign = [
        f"{repository.shown(path)}:{line}: {name}"
        for path in package.files
        for line, name in imported(path)
        if (top := name.split(".")[0]) not in {*package.modules, *sys.stdlib_module_names}
        and not allowed & owners(top)
    ]
    assert foreign == []


def modules(package: Package) -> dict[str, Path]:
    """Return the file of each module by its name."""
    root = package.folder / "src"
    parts = (path.relative_to(root).with_suffix("").parts for path in package.files)
    names = (".".join(part for part in name if part != "__init__") for name in parts)
    named = zip(names, package.files, strict=True)
    return {name: path for name, path in named if not name.endswith("__main__")}


def libraries_at_first(path: Path) -> list[str]:
    """Return the libraries, with the packages they are in, that a file imports before all else.

    None of them is ours, so all of them are loaded before the first line of ours runs. What they
    need of the standard library is cheap and left out.
    """
    ours = {module for package in repository.packages() for module in package.modules}
    names: dict[str, None] = {}
    for node in repository.tree(path).body:
        if isinstance(node, ast.Import):
            imports = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports = [node.module or "."]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        else:
            break
        for name in imports:
            top, *below = name.split(".")
            if top in ours:
                return list(names)
            if top not in sys.stdlib_module_names:
                names |= dict.fromkeys(accumulate(below, "{}.{}".format, initial=top))
    return list(names)


def by_parent(package: Package) -> dict[str, dict[str, list[str]]]:
    """Return the modules by the package that is imported before them, with their libraries."""
    grouped: dict[str, dict[str, list[str]]] = {}
    for name, path in modules(package).items():
        parent = name.rpartition(".")[0] or "sys"
        grouped.setdefault(parent, {})[name] = libraries_at_first(path)
    return grouped


@pytest.mark.timeout(600)
@pytest.mark.rows(16)
@pytest.mark.parametrize("package", repository.packages(), ids=lambda package: package.name)
def test_each_module_imports_alone_without_a_warning_and_front_doors_without_slow_libraries(
    package,
):
    arguments = [json.dumps(by_parent(package)), json.dumps(SLOW)]
    command = [sys.executable, "-W", "error", "-c", IMPORT_EACH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(name for name, _, _ in reports) == sorted(modules(package))
    assert {name: problem for name, problem, _ in reports if problem} == {}
    listed = {entry["module"]: entry["loads"] for entry in repository.exceptions("eager")}
    loads = {name: loaded for name, _, loaded in reports if loaded and is_front_door(name)}
    ours = {name: loaded for name, loaded in listed.items() if name in modules(package)}
    assert loads == ours, "import it inside the function that needs it, with that reason"


def is_front_door(name: str) -> bool:
    """Return True if others import it at once: a package, or a component of the core."""
    component = name.startswith("nanocoder.") and name.count(".") == 1
    return "." not in name or component
