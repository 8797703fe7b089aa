"""Mutation testing: `mutation.py [GROUP…]` puts faults into code that decides what may happen.

The groups and their tests are in `tests/mutation.toml` of packages. Tests are collected once; each
mutant then runs in a fork of that process, where the code of one function is replaced, with the
tests that call this function, the quickest first. A mutant is killed when a test fails, or takes
too long. It exits with 1 when a group is below its goal.
"""

import ast
import contextlib
import functools
import gc
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import operators
import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
"""How much longer than TIMES as long as before the tests of a mutant may take: an endless loop."""
TIMES = 10
SURVIVED, KILLED = 0, 1


class Key(NamedTuple):
    """A function of a file."""

    file: str
    name: str


class Group(NamedTuple):
    """What is mutated: *files* with the functions in each (none: all); its *goal* is in percent."""

    name: str
    files: Mapping[str, Sequence[str]]
    tests: Sequence[str]
    goal: float


class Mutation:
    """A plugin of pytest that runs all mutants of *group* in place of the tests once."""

    def __init__(
        self, group: Group, root: Path, print_line: Callable[[str], None], seconds: float
    ) -> None:
        self._group = group
        self._seconds = seconds
        self._root = root
        self._print = print_line
        self.killed = 0
        self.survivors: list[str] = []

    @property
    def percent(self) -> float:
        """The share of mutants that a test found."""
        return 100 * self.killed / max(self.killed + len(self.survivors), 1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once to see what each calls, then every mutant."""
        if session.testsfailed:
            raise pytest.UsageError("the tests cannot be collected")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "calls")
            if _in_fork(lambda: self._observe(session, report), seconds=3600) != SURVIVED:
                raise pytest.UsageError("the tests fail without a mutant")
            calls, seconds = pickle.loads(report.read_bytes())
        for file, names in self._group.files.items():
            self._run_file(session, file, frozenset(names), calls, seconds)
        return True

    def _observe(self, session: pytest.Session, report: Path) -> int:
        """Write which tests call which function, and how long each test takes."""
        files = {str(self._root / file): file for file in self._group.files}
        calls, seconds = defaultdict[Key, set[int]](set), dict[int, float]()
        at = 0

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename in files:
                name = code.co_qualname.partition(".<locals>")[0]
                calls[Key(files[code.co_filename], name)].add(at)

        for at in range(len(session.items)):
            began = time.monotonic()
            threading.setprofile(note)
            sys.setprofile(note)
            _run_item(session, at)
            sys.setprofile(None)
            seconds[at] = time.monotonic() - began
            if session.testsfailed:
                print(f"fails: {session.items[at].nodeid}", file=sys.__stderr__)
                return KILLED
        report.write_bytes(pickle.dumps((dict(calls), seconds)))
        return SURVIVED

    def _run_file(
        self,
        session: pytest.Session,
        file: str,
        names: frozenset[str],
        calls: Mapping[Key, set[int]],
        seconds: Mapping[int, float],
    ) -> None:
        path = self._root / file
        functions = Functions(path)
        gc.freeze()
        for mutant in operators.mutants(path.read_text(encoding="utf-8"), names):
            tests = sorted(calls.get(Key(file, mutant.name), ()), key=seconds.__getitem__)
            limit = self._seconds + TIMES * sum(seconds[at] for at in tests)
            status = _in_fork(functools.partial(_try, session, functions, mutant, tests), limit)
            if status == SURVIVED:
                self.survivors.append(f"{file}:{mutant}")
                self._print(f"survived, {len(tests)} tests: {file}:{mutant}")
            else:
                self.killed += 1


class Functions:
    """The functions of a file as they are in this process, and the caches of all.

    They are looked up before the forks: each would copy much memory to do it.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._by_name = defaultdict[str, list[FunctionType]](list)
        self._caches = []
        gc.unfreeze()  # what a conftest.py took from the collector is not in the list below
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename == self._path:
                self._by_name[each.__code__.co_qualname].append(each)
            elif hasattr(type(each), "cache_clear"):
                self._caches.append(each)

    def replace_code(self, mutant: operators.Mutant) -> None:
        """Give each function with the mutant's name, and those in it, the changed code."""
        module = compile(mutant.tree, self._path, "exec", dont_inherit=True)
        for code in _codes(module):
            if f"{code.co_qualname}.".startswith(f"{mutant.name}."):
                for function in self._by_name[code.co_qualname]:
                    function.__code__ = code
        for function in self._by_name[mutant.name]:
            _change_defaults(function, mutant)
        for cached in self._caches:
            with contextlib.suppress(Exception):
                cached.cache_clear()


def _try(
    session: pytest.Session, functions: Functions, mutant: operators.Mutant, tests: list[int]
) -> int:
    """Put *mutant* in place and run *tests* until one fails."""
    try:
        functions.replace_code(mutant)
    except (SyntaxError, ValueError):  # no program: a person who writes it sees it at once
        return KILLED
    for at in tests:
        _run_item(session, at)
        if session.testsfailed:
            return KILLED
    return SURVIVED


def _run_item(session: pytest.Session, at: int) -> None:
    # Without a next item all fixtures end with each test, so that tests run in any order.
    item = session.items[at]
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _change_defaults(function: FunctionType, mutant: operators.Mutant) -> None:
    """Give *function* the mutant's defaults, where those are plain values."""
    nodes = [node for name, node in operators.functions(mutant.tree) if name == mutant.name]
    arguments = nodes[-1].args
    if function.__defaults__:
        pairs = zip(arguments.defaults, function.__defaults__, strict=False)
        function.__defaults__ = tuple(_value(node, now) for node, now in pairs)
    for argument, node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if function.__kwdefaults__ and argument.arg in function.__kwdefaults__:
            now = function.__kwdefaults__[argument.arg]
            function.__kwdefaults__[argument.arg] = _value(node, now)


def _value(node: ast.expr | None, now: object) -> object:
    return node.value if isinstance(node, ast.Constant) else now


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _in_fork(work: Callable[[], int], seconds: float) -> int:
    """Do *work* in a copy of this process and return what it returns; late, it is KILLED."""
    child = os.fork()
    if child == 0:
        status = KILLED
        try:
            os.setpgid(0, 0)
            quiet = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(quiet, standard)
            status = work()
        finally:
            os._exit(status)
    ends = time.monotonic() + seconds
    pause = 0.002
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)
    _end_group(child)
    os.waitpid(child, 0)
    return KILLED


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def groups() -> dict[str, tuple[Group, Path]]:
    """Return all groups by name, each with the folder of its package."""
    return {
        name: (Group(name, table["files"], table["tests"], table["goal"]), file.parents[1])
        for file in sorted(ROOT.glob("*/*/tests/mutation.toml"))
        for name, table in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }


def run(
    group: Group,
    root: Path,
    print_line: Callable[[str], Any] = print,
    seconds: float = SECONDS,
) -> Mutation:
    """Run the mutants of *group*; its files and tests are below *root*."""
    mutation = Mutation(group, root, print_line, seconds)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{folder}/hypothesis"
        plugins = ("no:cacheprovider", "no:xdist")
        options = [f"--basetemp={folder}/tests", "-qs", "--no-header", "--no-summary"]
        options += [f"-p{name}" for name in plugins]
        tests = [str(root / test) for test in group.tests]
        status = pytest.main([*options, "--rootdir", str(ROOT), *tests], plugins=[mutation])
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        sys.exit(f"{group.name}: pytest ended with {status}")
    return mutation


def main(names: Sequence[str]) -> None:
    """Run the groups named, or all, one after the other, each in a process of its own."""
    every = groups()
    if unknown := {*names} - every.keys():
        sys.exit(f"no such group: {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    results = [_in_process(functools.partial(_report, *every[name])) for name in names or every]
    sys.exit(any(results))


def _report(group: Group, root: Path) -> int:
    mutation = run(group, root, print_line=functools.partial(print, flush=True))
    total = mutation.killed + len(mutation.survivors)
    share = f"{mutation.killed} of {total} killed, {mutation.percent:.1f} %"
    print(f"{group.name}: {share}", flush=True)
    return mutation.percent < group.goal


def _in_process(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main(sys.argv[1:])
