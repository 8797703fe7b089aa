"""Small functions: a body of 40 lines at the most, nine of ten at most 20, a module of 400.

Tests are sentences, one after the other: a file of them may be as long as there is to say.
"""

from collections.abc import Iterator
from pathlib import Path

import house
import repository

MODULE_LINES = 400
BODY_LINES = 40
P90_LINES = 20


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a file with the number of lines of its body, docstring aside."""
    for name, lines in house.function_bodies(repository.tree(path)):
        yield f"{repository.shown(path)}:{name}", lines


def module_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def oversized() -> dict[str, int]:
    """Return everything that is too big, with its size."""
    files = [path for path in repository.python_files() if not path.name.startswith("test_")]
    modules = {repository.shown(path): module_lines(path) for path in files}
    bodies = {where: lines for path in files for where, lines in functions(path)}
    return {where: lines for where, lines in modules.items() if lines > MODULE_LINES} | {
        where: lines for where, lines in bodies.items() if lines > BODY_LINES
    }


def test_no_module_and_no_function_is_too_big_but_the_listed_ones_at_the_listed_size():
    listed = {entry["where"]: entry["lines"] for entry in repository.exceptions("sizes")}
    assert oversized() == listed, "split what is too big; lower or drop an exception that shrank"


def test_nine_of_ten_function_bodies_are_short():
    lines = sorted(lines for path in repository.sources() for _, lines in functions(path))
    assert lines[len(lines) * 9 // 10] <= P90_LINES
