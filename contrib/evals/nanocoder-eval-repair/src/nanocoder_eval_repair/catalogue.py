"""The faults that were found to fail the tests, and tasks made of some of them."""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from nanocoder_kit_batch.suites import SuiteTask

from nanocoder_eval_repair.faults import Fault

ARCHIVE: Final = Path(__file__).parent / "data" / "modules.zip"
CATALOGUE: Final = "faults.json"
RUNNER: Final = "run_tests.py"
RUN_TESTS: Final = '''"""Run the tests of this project: python run_tests.py"""

import importlib
import inspect
import sys
import unittest

suite = unittest.TestSuite()
for name in {tests!r}:
    module = importlib.import_module(name)
    suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
    for function in vars(module).values():
        if inspect.isfunction(function) and function.__name__.startswith("test_"):
            suite.addTest(unittest.FunctionTestCase(function))
count = suite.countTestCases()  # that of the result leaves skipped tests out in Python 3.12.1
result = unittest.TextTestRunner(verbosity=0).run(suite)
failed = len(result.failures) + len(result.errors)
print(f"{{failed}} of {{count}} tests fail")
sys.exit(failed > 0)
'''
PROMPT: Final = (
    "A fault came into {}: `python {}` shows tests that passed before. "
    "Find the fault, correct it, and leave the tests as they are."
)
CHECK: Final = """
import hashlib
for path, digest in {digests!r}.items():
    assert hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() == digest, path
assert script({runner!r}).splitlines()[-1] == {passed!r}
"""


def tasks(seed: int, count: int) -> list[SuiteTask]:
    """Return up to *count* tasks, with equal shares of the projects.

    The order of the faults depends only on the seed.
    """
    with zipfile.ZipFile(ARCHIVE) as archive:
        projects = json.loads(archive.read(CATALOGUE))
        files = {name: _files(archive, name, project) for name, project in projects.items()}
    by_project = [
        _ordered(seed, name, list(_faults(name, project))) for name, project in projects.items()
    ]
    most = max(map(len, by_project))
    turns = [faults[turn] for turn in range(most) for faults in by_project if turn < len(faults)]
    return sorted(
        (_task(*fault, projects[fault[0]], files[fault[0]]) for fault in turns[:count]),
        key=lambda task: task.name,
    )


Named = tuple[str, str, Fault]
"""The project of a fault, its file, and the fault."""


def _faults(name: str, project: Mapping[str, Any]) -> Iterator[Named]:
    for path, faults in project["faults"].items():
        for fault in faults:
            yield name, path, Fault(*fault)


def _ordered(seed: int, name: str, faults: list[Named]) -> list[Named]:
    # Not random.Random: its sequence for a seed may differ between versions of Python.
    def key(item: Named) -> bytes:
        _, path, fault = item
        return hashlib.sha256(f"{seed} {name} {path} {fault}".encode()).digest()

    return sorted(faults, key=key)


def _files(archive: zipfile.ZipFile, name: str, project: Mapping[str, Any]) -> dict[str, str]:
    prefix = f"{name}/"
    files = {
        path.removeprefix(prefix): archive.read(path).decode()
        for path in archive.namelist()
        if path.startswith(prefix)
    }
    return {**files, RUNNER: RUN_TESTS.format(tests=project["tests"])}


def _task(
    name: str, path: str, fault: Fault, project: Mapping[str, Any], files: Mapping[str, str]
) -> SuiteTask:
    digests = {
        file: hashlib.sha256(text.encode()).hexdigest()
        for file, text in files.items()
        if "test" in file
    }
    passed = f"0 of {project['count']} tests fail"
    digest = hashlib.sha256(f"{path} {fault}".encode()).hexdigest()[:4]
    return SuiteTask(
        name=f"{name}-{fault.function.rpartition('.')[2].strip('_')}-{fault.line}-{digest}",
        prompt=PROMPT.format(path, RUNNER),
        check=CHECK.format(digests=digests, runner=RUNNER, passed=passed),
        kind=name,
        files={**files, path: fault.put_into(files[path])},
        solution={path: files[path]},
    )
