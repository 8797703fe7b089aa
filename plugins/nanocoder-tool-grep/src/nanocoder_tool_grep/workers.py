"""Search in Python on all processors: workers get file names and answer in order.

Processes, because threads would wait for each other; started anew rather than forked, because in
a fork of a process with threads a lock can stay locked for ever.
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
from nanocoder_tool_grep.skipped import SkippedFiles

MOST_WORKERS = 4
BATCH_FILES = 128
MAX_QUEUED_BATCHES = 4
"""The most batches that a worker has at once; with more than one it never has to wait."""
MAX_QUEUED_BYTES = 60_000
"""The most bytes sent to a busy worker: less than a pipe holds, so that writing never blocks."""
MOST_BATCHES = 64
MAX_HELD_BYTES = 4_000_000
"""So many batches may be handed out, and bytes of answers held, while an early batch takes long."""
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
    """A worker ended by itself; *unanswered* are the files of all batches without an answer."""

    def __init__(self, unanswered: Iterable[tuple[str, list[str]]]) -> None:
        super().__init__("a worker died")
        self.unanswered = unanswered


def count_workers() -> int:
    """Return how many workers are worth it: none on one processor."""
    if not sys.executable:
        return 0
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(processors, MOST_WORKERS) if processors > 1 else 0


def batches(folders: Iterable[tuple[str, list[str]]]) -> Iterator[Batch]:
    """Cut names of files into pieces for one answer each."""
    batch: Batch = []
    room = BATCH_FILES
    for folder, names in folders:
        remaining = names
        while remaining:
            batch.append((folder, remaining[:room]))
            remaining, room = remaining[room:], max(0, room - len(remaining))
            if not room:
                yield batch
                batch, room = [], BATCH_FILES
    if batch:
        yield batch


def search(
    root: Path,
    query: Query,
    folders: Iterable[tuple[str, list[str]]],
    cancel: Cancel,
    skipped: SkippedFiles,
    *,
    number: int,
    limit_s: float,
) -> Generator[Line]:
    """Yield the matches that *number* workers find in *folders*, in their order.

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
            yield from _WorkerPool(workers, batches(folders), stack, skipped).lines()
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
            self.send(_encode(_job(query)))

    def send(self, line: bytes) -> None:
        """Write a line; raises BrokenPipeError."""
        unsent = memoryview(line)
        while unsent:
            unsent = unsent[self._stdin.write(unsent) :]

    def has_room(self, size: int) -> bool:
        """Tell whether another batch of *size* bytes can be written without waiting."""
        sizes = sum(size for _, size in self.jobs)
        return not self.jobs or (
            len(self.jobs) < MAX_QUEUED_BATCHES and sizes + size <= MAX_QUEUED_BYTES
        )

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


class _WorkerPool:
    """Gives each batch to the worker with the least to do, and puts the answers into order."""

    def __init__(
        self,
        workers: list[_Worker],
        pending: Iterator[Batch],
        stack: contextlib.ExitStack,
        skipped: SkippedFiles,
    ) -> None:
        self._skipped = skipped
        self._workers = workers
        self._batches = pending
        self._outstanding: deque[Batch] = deque()
        self._first = 0
        self._answers: dict[int, bytes] = {}
        self._next: tuple[Batch, bytes] | None = None
        self._selector = stack.enter_context(DefaultSelector())
        for worker in workers:
            self._selector.register(worker.stdout, EVENT_READ, worker)

    def lines(self) -> Iterator[Line]:
        """Yield the matches; raises WorkerDiedError."""
        try:
            self._hand_out()
            while self._outstanding:
                while self._first not in self._answers:
                    self._read_answers()
                    self._hand_out()
                rows, unreadable = json.loads(self._answers.pop(self._first))
                self._skipped.unreadable += unreadable
                for row in rows:
                    yield Line(escape_path(row[0]), *row[1:])
                self._first += 1
                self._outstanding.popleft()
                self._hand_out()
        except (ChildProcessError, BrokenPipeError):
            unanswered = [*self._outstanding, *([self._next[0]] if self._next else [])]
            # The iterator still holds the names that did not fit into the last batch.
            raise WorkerDiedError(chain.from_iterable(chain(unanswered, self._batches))) from None

    def _hand_out(self) -> None:
        """Hand out batches as long as a worker has room."""
        while len(self._outstanding) < MOST_BATCHES:
            if self._next is None:
                batch = next(self._batches, None)
                if batch is None:
                    return
                self._next = batch, _encode(_unescape(batch))
            batch, line = self._next
            worker = min(self._workers, key=lambda each: len(each.jobs))
            if not worker.has_room(len(line)):
                return
            worker.send(line)
            worker.jobs.append((self._first + len(self._outstanding), len(line)))
            self._outstanding.append(batch)
            self._next = None

    def _read_answers(self) -> None:
        """Read answers; when too many are held back, only from the worker whose turn it is."""
        if sum(map(len, self._answers.values())) > MAX_HELD_BYTES:
            ready = [each for each in self._workers if each.jobs and each.jobs[0][0] == self._first]
        else:
            ready = [key.data for key, _ in self._selector.select()]
        for worker in ready:
            self._answers.update(worker.answers())


def _job(query: Query) -> dict[str, object]:
    return {
        "pattern": query.pattern,
        "plain": query.is_plain,
        "ignore_case": query.ignore_case,
        "output": query.output,
        "context": query.context,
        "most": COUNTED,
    }


def _unescape(batch: Batch) -> Batch:
    return [(unescape_path(folder), list(map(unescape_path, names))) for folder, names in batch]


def _encode(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
