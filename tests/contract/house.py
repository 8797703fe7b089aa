"""How large the house is: files, lines of code and floors of each room, and of other projects.

Code is what is left without blank lines, comments that fill a line, and docstrings, those below a
constant too, which PEP 257 calls attribute docstrings. The floor of a room is the longest way down
its imports, those under TYPE_CHECKING counted. Run it on any package:
`python tests/contract/house.py FOLDER...`.
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
class Room:
    """A module or a sub-package directly below a package, and what it imports beside itself."""

    name: str
    files: int
    lines: int
    imports: frozenset[str]


@frozen
class Figures:
    """What one package measures; function bodies in lines at p50, p90 and most."""

    name: str
    files: int
    lines: int
    bodies: tuple[int, int, int]
    comments: float
    rooms: tuple[Room, ...]
    floors: Mapping[str, int]


def measure(folder: Path) -> Figures:
    """Measure the package in *folder*; raises FileNotFoundError when it has no Python file."""
    paths = sorted(folder.rglob("*.py"))
    if not paths:
        raise FileNotFoundError(f"{folder} contains no Python file")
    rooms = tuple(rooms_of(folder))
    bodies = sorted(lines for path in paths for _, lines in function_bodies(parsed(path))) or [0]
    return Figures(
        folder.name,
        len(paths),
        sum(map(code_lines, paths)),
        (bodies[len(bodies) // 2], bodies[len(bodies) * 9 // 10], bodies[-1]),
        100 * sum(map(comment_lines, paths)) / max(1, sum(map(filled_lines, paths))),
        rooms,
        floors_of(rooms),
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


def rooms_of(folder: Path) -> Iterator[Room]:
    """Yield the rooms of a package: its modules, and its sub-packages as one room each."""
    for path in sorted(folder.iterdir()):
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        if path.suffix not in {"", ".py"} or not files or path.name == "__init__.py":
            continue
        imports = {name for file in files for name in imported_rooms(file, folder)}
        lines = sum(map(code_lines, files))
        yield Room(path.stem, len(files), lines, frozenset(imports - {path.stem}))


def imported_rooms(path: Path, folder: Path) -> Iterator[str]:
    """Yield the rooms of the package in *folder* that a file imports."""
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


def floors_of(rooms: Iterable[Room]) -> dict[str, int]:
    """Return the floor of each room, 1 for one that imports no other; a circle has one floor."""
    below = {room.name: room.imports for room in rooms}
    floors = dict.fromkeys(below, 1)
    for _ in below:  # the longest way has no more steps than there are rooms
        for name, imports in below.items():
            lower = [other for other in imports & below.keys() if name not in reach(below, other)]
            floors[name] = max([floors[name], *(floors[other] + 1 for other in lower)])
    return floors


def reach(below: Mapping[str, frozenset[str]], start: str) -> frozenset[str]:
    """Return every room that *start* imports, over others too."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        news = below.get(waiting.pop(), frozenset()) - reached
        reached |= news
        waiting += news
    return frozenset(reached)


def room_table(figures: Figures) -> Iterator[str]:
    """Yield a Markdown table of the rooms of one package, highest floor first."""
    yield f"| room of `{figures.name}` | files | code | floor | used by |"
    yield "|---|---|---|---|---|"
    for room in sorted(figures.rooms, key=lambda room: (-figures.floors[room.name], room.name)):
        users = sorted(user.name for user in figures.rooms if room.name in user.imports)
        row = (f"`{room.name}`", room.files, f"{room.lines:,}", figures.floors[room.name])
        yield "| " + " | ".join(map(str, [*row, ", ".join(users) or "-"])) + " |"


def package_table(packages: Iterable[Figures]) -> Iterator[str]:
    """Yield a Markdown table that compares packages."""
    columns = ("package", "files", "code", "floors", "function bodies p50/p90/most", "comments")
    yield f"| {' | '.join(columns)} |"
    yield "|---|---|---|---|---|---|"
    for figures in packages:
        bodies = "/".join(map(str, figures.bodies))
        floors = max(figures.floors.values(), default=1)
        row = (f"`{figures.name}`", figures.files, f"{figures.lines:,}", floors, bodies)
        yield "| " + " | ".join(map(str, [*row, f"{figures.comments:.1f}"])) + " |"


def write() -> None:
    """Write the tables of the page on the layout; the other projects have to be installed."""
    ours = [measure(folder) for folder in sorted(ROOT.glob("core/*/src/*")) if folder.is_dir()]
    others = [measure(folder) for folder in map(folder_of, OTHERS)]
    core = next(figures for figures in ours if figures.name == "nanocoder")
    start, end = MARKS
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
    packages = package_table([*ours, *others])
    tables = "\n".join([*packages, "", *room_table(core)])
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
        sys.stdout.write("\n".join(["", *room_table(figures)]) + "\n")


if __name__ == "__main__":
    main()
