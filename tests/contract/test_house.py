"""The core is small enough to be read in one sitting, and gets no larger."""

import functools
from collections.abc import Mapping

import house
import pytest
import repository

MAX_NAMES = 10
LIMITS: Mapping[str, int] = {
    "lines of nanocoder without cli": 5_000,
    "lines of nanocoder": 6_000,
    "files of nanocoder": 60,
    "modules directly below nanocoder": MAX_NAMES,
    "lines of the family without its test kit": 10_500,
    "lines of call": 1_000,
    "files of call": 7,
    "layers of nanocoder": 9,
}


@functools.cache
def figures() -> dict[str, int]:
    """Return what is limited, as it is now."""
    core = house.measure(repository.core().source)
    family = [package for package in repository.family() if package != repository.testing()]
    components = {component.name: component for component in core.components}
    modules = [path.stem for path in repository.core().source.glob("*.py")]
    return {
        "lines of nanocoder without cli": core.lines - components["cli"].lines,
        "lines of nanocoder": core.lines,
        "files of nanocoder": core.files,
        "modules directly below nanocoder": len(set(modules) - {"__init__", "__main__"}),
        "lines of the family without its test kit": sum(
            house.measure(source).lines for package in family for source in package.sources
        ),
        "lines of call": components["call"].lines,
        "files of call": components["call"].files,
        "layers of nanocoder": max(core.layers.values()),
    }


@pytest.mark.parametrize("name", LIMITS)
def test_the_house_stays_within_its_limits(name):
    listed = {entry["figure"]: entry["now"] for entry in repository.exceptions("house")}
    now = figures()[name]
    assert now <= listed.get(name, LIMITS[name]), "take out what is not the core's business"
    assert listed.get(name, LIMITS[name] + 1) > LIMITS[name], "drop the exception: it fits"


def test_the_measure_leaves_out_blank_lines_comments_and_docstrings(tmp_path):
    package = tmp_path / "thing"
    package.mkdir()
    (package / "__init__.py").write_text(
        '"""Doc.\n\nMore.\n"""\n\n# comment\nimport os  # beside\nN = 1\n"""Of N.\n"""\n...\n'
    )
    (package / "low.py").write_text('def f():\n    """Doc."""\n    return 1\n')
    (package / "high.py").write_text("from thing.low import f\nfrom thing import low\n")
    figures = house.measure(package)
    assert (figures.files, figures.lines) == (3, 7)
    assert figures.layers == {"low": 1, "high": 2}
    assert figures.bodies == (1, 1, 1)
