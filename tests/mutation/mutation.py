"""Mutation testing: `mutation.py [GROUP…]` puts faults into code that decides what may happen.

The groups and their tests are in `tests/mutation.toml` of packages. Tests are collected once; each
mutant then runs in a fork of that process, where the code of one function is replaced, with the
tests that call this function, the quickest first. A mutant is killed when a test fails or takes too
long, and does so again in a second fork, alone, where it passes without the mutant: neither chance
nor a busy machine kills. It exits with 1 when a group is below its goal.
"""

import ast
import contextlib
import functools
import gc
import mmap
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import operators
import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 10.0
"""How much longer than TIMES as long as before the tests of a mutant may take: an endless loop."""
TIMES = 10
BUSY_TRIES = 10


class Way(Enum):
    """How the tests of a mutant end; the value is how a fork of this process ends then.

    No program ends with these by accident, and what ends with another status has crashed.
    """

    SURVIVED = 91
    FAILED = 92
    BROKEN = 93
    LATE = 94
    CRASHED = 95


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


class Observed(NamedTuple):
    """Which tests call a function, and how long each test takes."""

    calls: Mapping[Key, set[int]]
    seconds: Mapping[int, float]


class Mutation:
    """A plugin of pytest that runs all mutants of *group* in place of the tests once."""

    def __init__(
        self, group: Group, root: Path, print_line: Callable[[str], None], seconds: float
    ) -> None:
        self._group = group
        self._seconds = seconds
        self._root = root
        self._print = print_line
        self._running = mmap.mmap(-1, 8)  # shared with the forks: the test that runs now
        self._alone = dict[int, Way]()  # how a test ends without others and without a mutant
        self.ways = Counter[Way]()

    @property
    def killed(self) -> int:
        """How many mutants a test found."""
        return self.ways.total() - self.ways[Way.SURVIVED]

    @property
    def percent(self) -> float:
        """The share of mutants that a test found."""
        return 100 * self.killed / max(self.ways.total(), 1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once to see what each calls, then every mutant."""
        if session.testsfailed:
            raise pytest.UsageError("the tests cannot be collected")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "calls")
            way = _in_fork(lambda: self._observe(session, report), seconds=3600)
            if way is not Way.SURVIVED:
                raise pytest.UsageError("the tests fail without a mutant")
            observed = pickle.loads(report.read_bytes())
        for file, names in self._group.files.items():
            self._run_file(session, file, frozenset(names), observed)
        return True

    def _observe(self, session: pytest.Session, report: Path) -> Way:
        """Write which tests call which function, and how long each test takes."""
        files = {str(self._root / file): file for file in self._group.files}
        calls, seconds = defaultdict[Key, set[int]](set), dict[int, float]()
        at = 0

        def note(frame: FrameType, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename in files:
                names = [it for it in code.co_qualname.split(".<locals>.") if it[0] != "<"]
                calls[Key(files[code.co_filename], ".<locals>.".join(names))].add(at)

        for at in range(len(session.items)):
            began = time.monotonic()
            threading.setprofile(note)
            sys.setprofile(note)
            _run_item(session, at)
            sys.setprofile(None)
            seconds[at] = time.monotonic() - began
            if session.testsfailed:
                print(f"fails: {session.items[at].nodeid}", file=sys.__stderr__)
                return Way.FAILED
        report.write_bytes(pickle.dumps(Observed(dict(calls), seconds)))
        return Way.SURVIVED

    def _run_file(
        self, session: pytest.Session, file: str, names: frozenset[str], observed: Observed
    ) -> None:
        path = self._root / file
        source = path.read_text(encoding="utf-8")
        if unknown := names - dict(operators.functions(ast.parse(source))).keys():
            raise pytest.UsageError(f"{file} has no function {', '.join(sorted(unknown))}")
        functions = Functions(path)
        gc.freeze()
        for mutant in operators.mutants(source, names):
            keys = (Key(file, mutant.name), Key(file, mutant.inner))
            calls = set[int]().union(*(observed.calls.get(key, ()) for key in keys))
            tests = sorted(calls, key=observed.seconds.__getitem__)
            put_in_place = functools.partial(functions.replace_code, mutant)
            way = self._outcome(session, put_in_place, tests, observed)
            self.ways[way] += 1
            if way is Way.SURVIVED:
                self._print(f"survived, {len(tests)} tests: {file}:{mutant}")

    def _outcome(
        self,
        session: pytest.Session,
        put_in_place: Callable[[], None],
        tests: Sequence[int],
        observed: Observed,
    ) -> Way:
        """Return how a mutant ends; what does not happen again is chance."""

        def outcome(prepare: Callable[[], None], of: Sequence[int]) -> Way:
            limit = self._seconds + TIMES * sum(observed.seconds[at] for at in of)
            return _in_fork(functools.partial(self._try, session, prepare, of), limit)

        while (way := outcome(put_in_place, tests)) is not Way.SURVIVED:
            at = int.from_bytes(self._running[:])
            # A test that needs others before it fails alone, and on a busy machine all are late.
            for _ in range(BUSY_TRIES if way is Way.LATE or at not in self._alone else 0):
                self._alone[at] = outcome(lambda: None, [at])
                if self._alone[at] is not Way.LATE:
                    break
            passes_alone = self._alone[at] is Way.SURVIVED
            if passes_alone and outcome(put_in_place, [at]) is not Way.SURVIVED:
                return way
            tests = tests[tests.index(at) + 1 :]
        return way

    def _try(
        self, session: pytest.Session, prepare: Callable[[], None], tests: Sequence[int]
    ) -> Way:
        """Run *tests* after *prepare* until one fails."""
        prepare()
        for at in tests:
            self._running[:] = at.to_bytes(len(self._running))
            try:
                _run_item(session, at)
            except BaseException:  # noqa: BLE001 - the mutant broke what runs the tests
                return Way.FAILED
            if session.testsfailed:
                return Way.FAILED
        return Way.SURVIVED


class Functions:
    """The functions of a file as they are in this process, and the caches of all.

    They are looked up before the forks: each would copy much memory to do it.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._by_place = defaultdict[tuple[str, int], list[FunctionType]](list)
        self._caches = []
        gc.unfreeze()  # what a conftest.py took from the collector is not in the list below
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename == self._path:
                self._by_place[_place(each.__code__)].append(each)
            elif hasattr(type(each), "cache_clear"):
                self._caches.append(each)

    def replace_code(self, mutant: operators.Mutant) -> None:
        """Give each function with the mutant's name, and those in it, the changed code."""
        node = dict(operators.functions(mutant.tree))[mutant.name]
        places = [it for it in self._by_place if f"{it[0]}.".startswith(f"{mutant.name}.")]
        outer = [it for at in places if at[0] == mutant.name for it in self._by_place[at]]
        if not outer:
            raise LookupError(f"{mutant.name} is not in this process, or its file has changed")
        for place in places:
            operators.mention(node, *place, self._by_place[place][0].__code__.co_freevars)
        module = compile(mutant.tree, self._path, "exec", dont_inherit=True)
        codes = {_place(code): code for code in _codes(module)}
        for place in places:
            for function in self._by_place[place] if place in codes else ():
                function.__code__ = codes[place]
        for function in outer:
            _change_defaults(function, node)
        for cached in self._caches:
            with contextlib.suppress(Exception):
                cached.cache_clear()


def _place(code: CodeType) -> tuple[str, int]:
    """Return what tells a function from others: those of a property have the same name."""
    return code.co_qualname, code.co_firstlineno


def _run_item(session: pytest.Session, at: int) -> None:
    # Without a next item all fixtures end with each test, so that tests run in any order.
    item = session.items[at]
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _change_defaults(function: FunctionType, node: operators.Function) -> None:
    """Give *function* the defaults of *node*, where those are plain values."""
    arguments = node.args
    if function.__defaults__:
        pairs = zip(arguments.defaults, function.__defaults__, strict=True)
        function.__defaults__ = tuple(_value(default, now) for default, now in pairs)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if function.__kwdefaults__ and argument.arg in function.__kwdefaults__:
            now = function.__kwdefaults__[argument.arg]
            function.__kwdefaults__[argument.arg] = _value(default, now)


def _value(node: ast.expr | None, now: object) -> object:
    return node.value if isinstance(node, ast.Constant) else now


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _in_fork(work: Callable[[], Way], seconds: float) -> Way:
    """Do *work* in a copy of this process and return what it returns; LATE after *seconds*."""
    child = os.fork()
    if child == 0:
        status = Way.BROKEN
        try:
            os.setpgid(0, 0)
            visible = os.fdopen(os.dup(2), "w")
            quiet = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(quiet, standard)
            status = work()
        except BaseException:  # noqa: BLE001 - nothing of this copy may go on
            traceback.print_exc(file=visible)
            visible.flush()
        finally:
            os._exit(status.value)
    ends = time.monotonic() + seconds
    pause = 0.002
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            return _way(os.waitstatus_to_exitcode(status))
        time.sleep(pause)
        pause = min(pause * 1.2, 0.05)
    _end_group(child)
    os.waitpid(child, 0)
    return Way.LATE


def _way(status: int) -> Way:
    if status == Way.BROKEN.value:
        raise pytest.UsageError("a mutant could not be put in place: see above")
    return Way(status) if status in {it.value for it in Way} else Way.CRASHED


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
    killed, late, crashed = mutation.killed, mutation.ways[Way.LATE], mutation.ways[Way.CRASHED]
    share = f"{killed} of {mutation.ways.total()} killed, {mutation.percent:.1f} %"
    print(f"{group.name}: {share}; {late} by time, {crashed} by a crash", flush=True)
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
