"""The search in Python on all processors: processes that are fed with names and answer in order.

Processes, because threads would wait for each other; started anew rather than forked, because a
copy of a process with threads can hang on locks that nobody is left to open.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Timer
from typing import IO, cast

from nanocoder import Cancel, escape_path, unescape_path

from nanocoder_tool_grep.query import COUNTED, Line, Query, Stopped
from nanocoder_tool_grep.trouble import Trouble

MOST_WORKERS = 4
BATCH_FILES = 128
AHEAD = 4
"""Batches that a worker has at most, so that it never waits for one."""
AHEAD_BYTES = 60_000
"""What is written to a worker that is not waiting: less than a pipe holds, so nobody waits."""
MOST_BATCHES = 64
HELD_BYTES = 4_000_000
"""Up to so many batches, and bytes, are answered before one that takes longer."""
READ_BYTES = 65_536
# Only our own folder, under our own name: the package itself would import all of nanocoder.
_BOOT = (
    "import sys, types; package = types.ModuleType('nanocoder_tool_grep');"
    " package.__path__ = [sys.argv[1]]; sys.modules[package.__name__] = package;"
    " from nanocoder_tool_grep.worker import main; main()"
)

Batch = list[tuple[str, list[str]]]
"""Folders ("" for the root) with the names of files in them."""


class WorkerDiedError(Exception):
    """A worker ended by itself; *left* is all that was not answered, not told, or not given out."""

    def __init__(self, left: Iterable[tuple[str, list[str]]]) -> None:
        super().__init__("a worker died")
        self.left = left


def count() -> int:
    """Return how many workers are worth it: none on one processor."""
    if not sys.executable:
        return 0
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(processors, MOST_WORKERS) if processors > 1 else 0


def batches(every: Iterable[tuple[str, list[str]]]) -> Iterator[Batch]:
    """Cut names of files into pieces for one answer each."""
    batch: Batch = []
    room = BATCH_FILES
    for folder, names in every:
        left = names
        while left:
            batch.append((folder, left[:room]))
            left, room = left[room:], max(0, room - len(left))
            if not room:
                yield batch
                batch, room = [], BATCH_FILES
    if batch:
        yield batch


def search(
    root: Path,
    query: Query,
    every: Iterable[tuple[str, list[str]]],
    cancel: Cancel,
    trouble: Trouble,
    *,
    number: int,
    limit_s: float,
) -> Generator[Line]:
    """Yield what *number* workers find in files of *every* directory, in their order.

    Raises: Stopped after *limit_s* seconds, Cancelled, WorkerDiedError.
    """
    with contextlib.ExitStack() as stack:
        workers = [_Worker(root, query, stack) for _ in range(number)]

        def end() -> None:
            for worker in workers:
                worker.process.kill()

        def end_late() -> None:
            late.set()
            end()

        late = Event()
        timer = Timer(limit_s, end_late)
        timer.daemon = True
        stack.callback(end)
        stack.callback(cancel.on_set(end))
        stack.callback(timer.cancel)
        timer.start()
        try:
            yield from _Crew(workers, batches(every), stack, trouble).lines()
        except WorkerDiedError:
            cancel.check()
            if late.is_set():
                raise Stopped from None
            raise


class _Worker:
    """A process; *jobs* are the numbers and sizes of the batches that it has not answered."""

    def __init__(self, root: Path, query: Query, stack: contextlib.ExitStack) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, str(Path(__file__).parent)],
            cwd=root,
            env={"PATH": os.defpath},  # nothing of ours: a child shows it to others
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        stack.callback(self._close)
        self._stdin = cast("IO[bytes]", self.process.stdin)
        self.stdout = cast("IO[bytes]", self.process.stdout)
        self.jobs: deque[tuple[int, int]] = deque()
        self._answer: list[bytes] = []
        with contextlib.suppress(BrokenPipeError):  # it died, as will be seen where it answers
            self.say(_encoded(_job(query)))

    def say(self, line: bytes) -> None:
        """Write a line; raises BrokenPipeError."""
        left = memoryview(line)
        while left:
            left = left[self._stdin.write(left) :]

    def has_room(self, size: int) -> bool:
        """Tell whether another batch of *size* bytes can be written without waiting."""
        sizes = sum(size for _, size in self.jobs)
        return not self.jobs or (len(self.jobs) < AHEAD and sizes + size <= AHEAD_BYTES)

    def answers(self) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of batches with answers, as many as are there; raises ChildProcessError."""
        data = self.stdout.read(READ_BYTES)
        if not data:
            raise ChildProcessError
        first, *others = data.split(b"\n")
        self._answer.append(first)
        for other in others:
            yield self.jobs.popleft()[0], b"".join(self._answer)
            self._answer = [other]

    def _close(self) -> None:
        self.process.kill()
        self._stdin.close()
        self.stdout.close()
        self.process.wait()


class _Crew:
    """Gives each batch to the worker with the least to do, and puts the answers into order."""

    def __init__(
        self,
        workers: list[_Worker],
        every: Iterator[Batch],
        stack: contextlib.ExitStack,
        trouble: Trouble,
    ) -> None:
        self._trouble = trouble
        self._workers = workers
        self._every = every
        self._given: deque[Batch] = deque()
        self._first = 0
        self._held: dict[int, bytes] = {}
        self._next: tuple[Batch, bytes] | None = None
        self._selector = stack.enter_context(DefaultSelector())
        for worker in workers:
            self._selector.register(worker.stdout, EVENT_READ, worker)

    def lines(self) -> Iterator[Line]:
        """Yield what they find; raises WorkerDiedError."""
        try:
            self._give()
            while self._given:
                while self._first not in self._held:
                    self._take()
                    self._give()
                rows, unreadable = json.loads(self._held.pop(self._first))
                self._trouble.unreadable += unreadable
                for row in rows:
                    yield Line(escape_path(row[0]), *row[1:])
                self._first += 1
                self._given.popleft()
                self._give()
        except (ChildProcessError, BrokenPipeError):
            undone = [*self._given, *([self._next[0]] if self._next else [])]
            # Cutting batches has kept back what did not fit into the last.
            raise WorkerDiedError(chain.from_iterable(chain(undone, self._every))) from None

    def _give(self) -> None:
        """Hand out batches as long as somebody has room."""
        while len(self._given) < MOST_BATCHES:
            if self._next is None:
                batch = next(self._every, None)
                if batch is None:
                    return
                self._next = batch, _encoded(_raw(batch))
            batch, line = self._next
            worker = min(self._workers, key=lambda one: len(one.jobs))
            if not worker.has_room(len(line)):
                return
            worker.say(line)
            worker.jobs.append((self._first + len(self._given), len(line)))
            self._given.append(batch)
            self._next = None

    def _take(self) -> None:
        """Read what is answered; not before its turn where too much is held back already."""
        if sum(map(len, self._held.values())) > HELD_BYTES:
            ready = [one for one in self._workers if one.jobs and one.jobs[0][0] == self._first]
        else:
            ready = [key.data for key, _ in self._selector.select()]
        for worker in ready:
            self._held.update(worker.answers())


def _job(query: Query) -> dict[str, object]:
    return {
        "pattern": query.pattern,
        "plain": query.is_plain,
        "ignore_case": query.ignore_case,
        "output": query.output,
        "context": query.context,
        "most": COUNTED,
    }


def _raw(batch: Batch) -> Batch:
    return [(unescape_path(folder), list(map(unescape_path, names))) for folder, names in batch]


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
