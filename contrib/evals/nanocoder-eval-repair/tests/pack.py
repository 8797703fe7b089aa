"""Make the archive of modules and faults anew, from the source distributions of the modules.

    pip download --no-deps --no-binary :all: --dest FOLDER NAME==VERSION ...
    python contrib/evals/nanocoder-eval-repair/tests/pack.py FOLDER

Only who changes the suite needs it. It runs the tests of every module with every fault that it
tries, on this machine, and keeps faults with which some tests fail, but not most of them.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from attrs import asdict, astuple, frozen
from nanocoder_eval_repair.catalogue import ARCHIVE, CATALOGUE, RUN_TESTS, RUNNER
from nanocoder_eval_repair.faults import Fault, faults

PER_FILE: Final = 24
PER_FUNCTION: Final = 4
TRIED: Final = 3
LIMIT_S: Final = 20
RUNS: Final = 4
"""Some tests draw numbers: a fault has to fail the same number of them each time."""
MOST_FAILING: Final = 0.5
THREADS: Final = 2


@frozen
class Project:
    """A part of a source distribution: *targets* get faults, *tests* are module names.

    *keep* has patterns of paths below the root, *drop* the beginning that they lose.
    """

    name: str
    version: str
    licence: str
    sha256: str
    keep: tuple[str, ...]
    targets: tuple[str, ...]
    tests: tuple[str, ...]
    drop: str = ""


PROJECTS: Final = (
    Project(
        name="cachetools",
        version="8.0.1",
        licence="MIT",
        sha256="deb1d376d4d28c2f33f3e3058043b005e0af75c35c094bd54053e27d2906ad95",
        keep=("LICENSE", "src/cachetools/*.py", "tests/*.py"),
        drop="src/",
        targets=("cachetools/__init__.py", "cachetools/keys.py", "cachetools/func.py"),
        tests=tuple(
            f"tests.test_{name}"
            for name in ("cache", "fifo", "func", "keys", "lfu", "lru", "rr", "tlru", "ttl")
        ),
    ),
    Project(
        name="first",
        version="2.0.2",
        licence="MIT",
        sha256="ff285b08c55f8c97ce4ea7012743af2495c9f1291785f163722bd36f6af6d3bf",
        keep=("LICENSE", "*.py"),
        targets=("first.py",),
        tests=("test_first",),
    ),
    Project(
        name="simpleeval",
        version="1.0.8",
        licence="MIT",
        sha256="b417f869c11f2de034eb919820a825f35d12ce99f63a43971947ce73679eb9ba",
        keep=("LICENCE", "simpleeval.py", "tests/*.py"),
        targets=("simpleeval.py",),
        tests=tuple(
            f"tests.test_{name}"
            for name in (
                *("allowed_attributes", "basics", "compound_types", "comprehensions"),
                *("disallowed_functions", "evaluator", "exceptions", "functions", "names"),
                *("method_chaining", "operators", "short_circuiting", "unusual_comparisons"),
            )
        ),
    ),
    Project(
        name="titlecase",
        version="2.4.1",
        licence="MIT",
        sha256="7d83a277ccbbda11a2944e78a63e5ccaf3d32f828c594312e4862f9a07f635f5",
        keep=("LICENSE.txt", "titlecase/*.py"),
        targets=("titlecase/__init__.py",),
        tests=("titlecase.tests",),
    ),
    Project(
        name="toolz",
        version="1.2.0",
        licence="BSD-3-Clause",
        sha256="9667a038e9d6ecba37995e26cb2f59ec6420b6ad8dd9677de59db9b956b08490",
        keep=(
            "LICENSE.txt",
            "toolz/*.py",
            "toolz/curried/*.py",
            "toolz/sandbox/*.py",
            *(f"toolz/tests/test_{name}.py" for name in ("dicttoolz", "itertoolz", "recipes")),
        ),
        targets=("toolz/itertoolz.py", "toolz/dicttoolz.py", "toolz/recipes.py"),
        tests=tuple(f"toolz.tests.test_{name}" for name in ("dicttoolz", "itertoolz", "recipes")),
    ),
    Project(
        name="unidiff",
        version="1.0.1",
        licence="MIT",
        sha256="d9425bc516390c54743a1045b2c1c97f02d245a913a241dd499f958adb2df998",
        keep=("LICENSE", "unidiff/*.py", "tests/*.py", "tests/samples/*"),
        targets=("unidiff/patch.py",),
        tests=tuple(f"tests.test_{name}" for name in ("hunks", "line", "parser", "patchedfile")),
    ),
)


def main(folder: Path) -> None:
    """Write the archive from the source distributions in *folder*."""
    packed, members = {}, {}
    for project in PROJECTS:
        files = read(project, folder)
        packed[project.name] = entry = describe(project, files)
        members.update({f"{project.name}/{path}": text for path, text in files.items()})
        sys.stdout.write(f"{project.name}: {entry['count']} tests, {len(files)} files\n")
    members[CATALOGUE] = json.dumps(packed, indent=0, separators=(",", ":"))
    with zipfile.ZipFile(ARCHIVE, "w") as archive:
        for path, text in sorted(members.items()):
            member = zipfile.ZipInfo(path)  # its date is fixed, so the archive is the same again
            archive.writestr(member, text, zipfile.ZIP_DEFLATED, 9)


def read(project: Project, folder: Path) -> dict[str, str]:
    """Return the files of a project; raises SystemExit if it is not the distribution we know."""
    (sdist,) = folder.glob(f"{project.name}-{project.version}.tar.gz")
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    if digest != project.sha256:
        raise SystemExit(f"{sdist} has the digest {digest}, not {project.sha256}")
    files = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            reader = archive.extractfile(member)
            if reader and any(is_like(path, pattern) for pattern in project.keep):
                files[str(path).removeprefix(project.drop)] = reader.read().decode()
    return files


def is_like(path: PurePosixPath, pattern: str) -> bool:
    """Return True if a path has as many parts as the pattern, and matches it."""
    return len(path.parts) == pattern.count("/") + 1 and path.match(pattern)


def describe(project: Project, files: Mapping[str, str]) -> dict[str, Any]:
    """Return a project's entry in the catalogue, with the faults that its tests find."""
    failed, count = failing(project, files)
    if failed or not count:
        raise SystemExit(f"{project.name}: {failed} of {count} tests fail without a fault")
    by_file = {path: [*caught_faults(project, files, path, count)] for path in project.targets}
    copied = ("version", "licence", "sha256", "tests")
    return {**{key: asdict(project)[key] for key in copied}, "count": count, "faults": by_file}


def caught_faults(
    project: Project, files: Mapping[str, str], path: str, count: int
) -> Iterator[tuple[Any, ...]]:
    """Yield up to `PER_FILE` faults with which some of *count* tests fail, but not most."""

    def is_caught_by_tests(fault: Fault) -> bool:
        changed = {**files, path: fault.put_into(files[path])}
        failed, run = first = failing(project, changed)
        if run != count or not 0 < failed <= max(1, MOST_FAILING * count):
            return False
        return all(failing(project, changed) == first for _ in range(RUNS - 1))

    with ThreadPoolExecutor(THREADS) as threads:
        tried = candidates(files[path])[: TRIED * PER_FILE]
        caught = (
            fault
            for fault, is_caught in zip(tried, threads.map(is_caught_by_tests, tried), strict=True)
            if is_caught
        )
        yield from map(astuple, islice(caught, PER_FILE))


def candidates(text: str) -> list[Fault]:
    """Return some faults of each function, in an order that only depends on the text."""
    ordered = sorted(faults(text), key=lambda it: hashlib.sha256(str(it).encode()).digest())
    functions: dict[str, list[Fault]] = {}
    for fault in ordered:
        functions.setdefault(fault.function, []).append(fault)
    return [fault for fault in ordered if fault in functions[fault.function][:PER_FUNCTION]]


def failing(project: Project, files: Mapping[str, str]) -> tuple[int, int]:
    """Return how many tests fail, of how many; none of none when they cannot run to their end."""
    with tempfile.TemporaryDirectory() as scratch:
        for path, text in {**files, RUNNER: RUN_TESTS.format(tests=project.tests)}.items():
            place = Path(scratch, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        command = [sys.executable, "-B", RUNNER]
        try:
            process = subprocess.run(
                command, cwd=scratch, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return 0, 0
    words = process.stdout.strip().rpartition("\n")[2].split()
    return (int(words[0]), int(words[2])) if words[1:2] == ["of"] else (0, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
