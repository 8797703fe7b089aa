"""The repository as its tests and nox sessions see it: found by glob, never by a list."""

import ast
import os
import random
import re
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from attrs import frozen

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core/nanocoder-core"
FIRST_PARTY = ("plugins", "contrib/dialects", "contrib/evals")
PACKAGE_FOLDERS = ("core/*", *(f"{folder}/*" for folder in FIRST_PARTY), "contrib/examples/*")
KINDS = (
    *("tool", "call", "provider", "policy", "profile", "ui", "command"),
    *("compact", "context", "undo"),
    *("secrets", "mcp", "telemetry"),
    *("sandbox", "runner", "eval", "dialect", "store", "kit", "set"),
)
KINDS_WITHOUT_ENTRY_POINT = ("kit", "set")
PROGRAM_MARK = "mark.needs("
SESSIONS = {
    "tests": ("core", "plugins", "contrib"),
    "contract": ("tests/contract", "tests/hostile", "tests/mutation", "tests/tools"),
    "docs": ("tests/docs",),
    "wheels": ("tests/wheels",),
    "e2e": ("tests/e2e",),
}
"""The folders of each session of `nox` that runs tests, all but those marked `full`."""


@frozen(slots=False)
class Package:
    """One distribution of this repository, read from its folder."""

    folder: Path

    @cached_property
    def project(self) -> dict[str, Any]:
        """The whole pyproject.toml."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """The distribution's name as its pyproject.toml has it."""
        return str(self.project["project"]["name"])

    @property
    def module(self) -> str:
        """The import name that the distribution's name asks for."""
        return "nanocoder" if self.name == "nanocoder-core" else self.name.replace("-", "_")

    @cached_property
    def entry_points(self) -> dict[str, str]:
        """The modules of its plugins, by the plugins' names."""
        return dict(self.project["project"].get("entry-points", {}).get("nanocoder", {}))

    @cached_property
    def sources(self) -> tuple[Path, ...]:
        """The folders of its importable packages."""
        return tuple(path.parent for path in sorted(self.folder.glob("src/*/__init__.py")))

    @property
    def modules(self) -> tuple[str, ...]:
        """The import names of its packages."""
        return tuple(source.name for source in self.sources)

    @property
    def files(self) -> tuple[Path, ...]:
        """Every Python file that is installed with it."""
        return tuple(path for source in self.sources for path in sorted(source.rglob("*.py")))

    @property
    def kind(self) -> str:
        """What a first-party plugin is: the word behind `nanocoder-`."""
        return self.name.split("-")[1]

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the distributions that it requires, without versions and extras."""
        lines = self.project["project"].get("dependencies", ())
        return tuple(re.split(r"[^\w.-]", line)[0] for line in lines)

    @property
    def source(self) -> Path:
        """The folder of the importable package that has the distribution's name."""
        return self.folder / "src" / self.module

    @property
    def is_first_party(self) -> bool:
        """Whether it is a plugin of ours, which must look like all the others."""
        return str(self.folder.parent.relative_to(ROOT)) in FIRST_PARTY

    @property
    def label(self) -> str:
        """How a message names it: its folder, seen from the root."""
        return str(self.folder.relative_to(ROOT))


@cache
def packages() -> tuple[Package, ...]:
    """Every distribution of the repository, core first, then by folder."""
    found = (path for pattern in PACKAGE_FOLDERS for path in sorted(ROOT.glob(pattern)))
    return tuple(Package(path) for path in found if (path / "pyproject.toml").is_file())


def family() -> tuple[Package, ...]:
    """The distributions that everything stands on."""
    return tuple(package for package in packages() if package.folder.parent.name == "core")


def core() -> Package:
    """The distribution of the import name `nanocoder`."""
    return next(package for package in packages() if package.name == "nanocoder-core")


def testing() -> Package:
    """The test kit, which no installation of nanocoder needs."""
    return next(package for package in packages() if package.name == "nanocoder-testing")


def plugins() -> tuple[Package, ...]:
    """The first-party plugins, kits and sets."""
    return tuple(package for package in packages() if package.is_first_party)


def entry_points() -> dict[str, str]:
    """The modules of all first-party plugins, by the plugins' names."""
    return {name: module for each in plugins() for name, module in each.entry_points.items()}


def published() -> tuple[Package, ...]:
    """The distributions that a release uploads: all but the examples."""
    return (*family(), *plugins())


def drawn(count: int) -> list[Package]:
    """Draw *count* plugins with tests by the date: each has its turn, and a day repeats itself."""
    tested = [package for package in plugins() if (package.folder / "tests").is_dir()]
    return random.Random(today()).sample(tested, count)


def mutation_group() -> str:
    """Draw a group of `nox -s mutation` by the date: all take too long for one day."""
    files = sorted(ROOT.glob("*/*/tests/mutation.toml"))
    groups = [name for file in files for name in tomllib.loads(file.read_text(encoding="utf-8"))]
    return groups[today() % len(groups)]


DAY_IN_CI = 739_950


def today() -> int:
    """The number of the day; in CI always the same, where the date may fail no change."""
    return DAY_IN_CI if os.environ.get("CI") else datetime.now(UTC).date().toordinal()


def changed() -> tuple[Path, ...]:
    """Every file that differs from the upstream branch, or from the last commit without one."""
    upstream = _git("merge-base", "HEAD", "@{upstream}", check=False).strip()
    listed = _git("diff", "--name-only", "-z", upstream or "HEAD")
    new = _git("ls-files", "--others", "--exclude-standard", "-z")
    files = (ROOT / name for name in (listed + new).split("\0") if name)
    return tuple(path for path in files if path.is_file())


def _git(*words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=check, capture_output=True, text=True)
    return done.stdout


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git tracks or would track, and that is there."""
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    files = (ROOT / name for name in sorted(set(listed.split("\0"))) if name)
    return tuple(path for path in files if path.is_file() and not path.is_symlink())


def sources() -> Iterator[Path]:
    """Every Python file that is installed with one of our distributions."""
    for package in packages():
        yield from package.files


def tests_with_programs() -> Iterator[Path]:
    """Every file with a test that needs a program of the machine, as a path from the root.

    Reading the files is much faster than collecting their tests.
    """
    return (
        path.relative_to(ROOT)
        for path in python_files()
        if path.name.startswith("test_") and names_a_program(path)
    )


def names_a_program(file: Path) -> bool:
    """Whether a test in *file* is marked as one that needs a program."""
    return PROGRAM_MARK in file.read_text(encoding="utf-8")


def python_files() -> Iterator[Path]:
    """Every Python file of the repository, the tests among them."""
    return (path for path in tracked() if path.suffix == ".py")


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file, read once a run."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def shown(path: Path) -> str:
    """A path as messages print it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


@cache
def exceptions(table: str) -> tuple[dict[str, Any], ...]:
    """The entries of one table of exceptions.toml: what reality needs, each with its reason."""
    text = (ROOT / "tests/contract/exceptions.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text).get(table, ()))
