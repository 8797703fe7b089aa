"""Measure files, lines of code and layers of each component of a package, ours and others.

Blank lines, comments that fill a line, and docstrings (attribute docstrings, too) are not code. The
layer of a component is the length of its longest chain of imports, including those under
TYPE_CHECKING. Run it on any package: `python tests/contract/house.py FOLDER...`.
"""

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/layout.md"
MARKS = ("<!-- house: written by `nox -s house` -->", "<!-- end of house -->")
OTHERS = ("pluggy", "tox", "minisweagent")


@frozen
class Component:
    """A module or a sub-package directly below a package, with the others that it imports."""

    name: str
    files: int
    lines: int
    imports: frozenset[str]


@frozen
class Figures:
    """The figures of one package; function bodies in lines at p50, p90 and most."""

    name: str
    files: int
    lines: int
    bodies: tuple[int, int, int]
    comments: float
    components: tuple[Component, ...]
    layers: Mapping[str, int]


def measure(folder: Path) -> Figures:
    """Measure the package in *folder*; raises FileNotFoundError when it has no Python file."""
    paths = sorted(folder.rglob("*.py"))
    if not paths:
        raise FileNotFoundError(f"{folder} contains no Python file")
    components = tuple(components_of(folder))
    bodies = sorted(lines for path in paths for _, lines in function_bodies(parsed(path))) or [0]
    return Figures(
        folder.name,
        len(paths),
        sum(map(code_lines, paths)),
        (bodies[len(bodies) // 2], bodies[len(bodies) * 9 // 10], bodies[-1]),
        100 * sum(map(comment_lines, paths)) / max(1, sum(map(filled_lines, paths))),
        components,
        layers_of(components),
    )


@cache
def parsed(path: Path) -> ast.Module:
    """Return the parsed file, read once a run."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def text_lines(path: Path) -> list[str]:
    """Return the lines of a file without their indents."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]


def code_lines(path: Path) -> int:
    """Count the lines that are neither blank, nor a comment, nor part of a docstring."""
    left_out = {number for node in docstrings(path) for number in numbers_of(node)}
    lines = enumerate(text_lines(path), start=1)
    return sum(bool(line) and line[0] != "#" and number not in left_out for number, line in lines)


def docstrings(path: Path) -> Iterator[ast.stmt]:
    """Yield every string that stands by itself: that of a module, class, function or constant."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            yield node


def numbers_of(node: ast.stmt) -> range:
    """Return the numbers of the lines that a statement takes."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def comment_lines(path: Path) -> int:
    """Count the lines with a comment, beside code too."""
    return sum(line.startswith("#") or "  # " in line for line in text_lines(path))


def filled_lines(path: Path) -> int:
    """Count the lines that are not blank."""
    return sum(map(bool, text_lines(path)))


def function_bodies(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each function's name and the lines of its body, without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def components_of(folder: Path) -> Iterator[Component]:
    """Yield the components of a package: its modules and its sub-packages."""
    for path in sorted(folder.iterdir()):
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        if path.suffix not in {"", ".py"} or not files or path.name == "__init__.py":
            continue
        imports = {name for file in files for name in imported_components(file, folder)}
        lines = sum(map(code_lines, files))
        yield Component(path.stem, len(files), lines, frozenset(imports - {path.stem}))


def imported_components(path: Path, folder: Path) -> Iterator[str]:
    """Yield the components of the package in *folder* that a file imports."""
    prefix = f"{folder.name}."
    for node in ast.walk(parsed(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = absolute_names(node, path, folder)
        yield from (name.split(".")[1] for name in names if name.startswith(prefix))


def absolute_names(node: ast.ImportFrom, path: Path, folder: Path) -> list[str]:
    """Return what `from … import …` names, absolute; a name may be a module or inside one."""
    package = path.relative_to(folder.parent).with_suffix("").parts[: -node.level or None]
    start = ".".join([*package, *filter(None, [node.module])]) if node.level else str(node.module)
    return [f"{start}.{alias.name}" for alias in node.names]


def layers_of(components: Iterable[Component]) -> dict[str, int]:
    """Return the layer of each component, 1 if it imports no other; a cycle shares one layer."""
    below = {component.name: component.imports for component in components}
    layers = dict.fromkeys(below, 1)
    for _ in below:  # a chain is no longer than the number of components
        for name, imports in below.items():
            lower = [other for other in imports & below.keys() if name not in reach(below, other)]
            layers[name] = max([layers[name], *(layers[other] + 1 for other in lower)])
    return layers


def reach(below: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    """Return every component that *start* imports, also indirectly."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        news = below.get(waiting.pop(), frozenset()) - reached
        reached |= news
        waiting += news
    return frozenset(reached)


def component_table(figures: Figures) -> Iterator[str]:
    """Yield a Markdown table of the components of one package, highest layer first."""
    yield f"| component of `{figures.name}` | files | code | layer | used by |"
    yield "|---|---|---|---|---|"
    for component in sorted(
        figures.components, key=lambda each: (-figures.layers[each.name], each.name)
    ):
        users = sorted(user.name for user in figures.components if component.name in user.imports)
        layer = figures.layers[component.name]
        row = (f"`{component.name}`", component.files, f"{component.lines:,}", layer)
        yield "| " + " | ".join(map(str, [*row, ", ".join(users) or "-"])) + " |"


def package_table(packages: Iterable[Figures]) -> Iterator[str]:
    """Yield a Markdown table that compares packages."""
    columns = ("package", "files", "code", "layers", "function bodies p50/p90/most", "comments")
    yield f"| {' | '.join(columns)} |"
    yield "|---|---|---|---|---|---|"
    for figures in packages:
        bodies = "/".join(map(str, figures.bodies))
        layers = max(figures.layers.values(), default=1)
        row = (f"`{figures.name}`", figures.files, f"{figures.lines:,}", layers, bodies)
        yield "| " + " | ".join(map(str, [*row, f"{figures.comments:.1f}"])) + " |"


def write() -> None:
    """Write the table of the page on the layout; the other projects have to be installed."""
    ours = [measure(folder) for folder in sorted(ROOT.glob("core/*/src/*")) if folder.is_dir()]
    others = [measure(folder) for folder in map(folder_of, OTHERS)]
    start, end = MARKS
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
    tables = "\n".join(package_table([*ours, *others]))
    text = f"{before}{start}\n\n{tables}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def folder_of(name: str) -> Path:
    """Return the folder of an installed package; raises ModuleNotFoundError."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed; run `nox -s house`")
    return Path(spec.origin).parent


def main() -> None:
    """Print the tables of the packages whose folders the command line names, or write the page."""
    if sys.argv[1:] == ["--write"]:
        write()
        return
    packages = [measure(Path(word).resolve()) for word in sys.argv[1:]]
    sys.stdout.write("\n".join(package_table(packages)) + "\n")
    for figures in packages:
        sys.stdout.write("\n".join(["", *component_table(figures)]) + "\n")


if __name__ == "__main__":
    main()
