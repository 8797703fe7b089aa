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
from pathlib import Path
from threading import Event, Timer
from typing import IO, cast

from nanocoder import Cancel

from nanocoder_tool_grep.query import COUNTED, Line, Query, Stopped

MOST_WORKERS = 4
AHEAD = 4
"""Batches that each worker has at most, so that it never waits for one."""
BATCH_FILES = 128
BATCH_CHARS = 8_000
"""What a worker has before it, together less than a pipe holds: nobody ever waits to write."""
# Only our own folder, under our own name: the package itself would import all of nanocoder.
_BOOT = (
    "import sys, types; package = types.ModuleType('nanocoder_tool_grep');"
    " package.__path__ = [sys.argv[1]]; sys.modules[package.__name__] = package;"
    " from nanocoder_tool_grep.worker import main; main()"
)

Batch = list[tuple[str, list[str]]]
"""Folders ("" for the root) with the names of files in them."""


class WorkerDiedError(Exception):
    """A worker ended by itself; *paths* are those that it and the others still had."""

    def __init__(self, left: list[Batch]) -> None:
        super().__init__("a worker died")
        self.paths = [
            f"{folder}/{name}" if folder else name
            for batch in left
            for folder, names in batch
            for name in names
        ]


def count() -> int:
    """Return how many workers are worth it: none on one processor."""
    if not sys.executable:
        return 0
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(processors, MOST_WORKERS) if processors > 1 else 0


def batches(paths: Iterable[str]) -> Iterator[Batch]:
    """Cut *paths* into pieces for one answer each."""
    batch: Batch = []
    files = chars = 0
    for path in paths:
        folder, _, name = path.rpartition("/")
        if not batch or batch[-1][0] != folder:
            batch.append((folder, []))
            chars += len(folder.encode())
        batch[-1][1].append(name)
        files, chars = files + 1, chars + len(name.encode())
        if files >= BATCH_FILES or chars >= BATCH_CHARS:
            yield batch
            batch, files, chars = [], 0, 0
    if batch:
        yield batch


def search(
    root: Path, query: Query, paths: Iterable[str], cancel: Cancel, *, number: int, limit_s: float
) -> Generator[Line]:
    """Yield what *number* workers find in *paths*, in their order.

    Raises: Stopped after *limit_s* seconds, Cancelled, WorkerDiedError.
    """
    with contextlib.ExitStack() as stack:
        workers = [_start(root, query, stack) for _ in range(number)]

        def end() -> None:
            for worker in workers:
                worker.kill()

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
            yield from _rounds(workers, batches(paths))
        except WorkerDiedError:
            cancel.check()
            if late.is_set():
                raise Stopped from None
            raise


def _rounds(workers: list[subprocess.Popen[bytes]], every: Iterator[Batch]) -> Iterator[Line]:
    """Give each worker in turn a batch, and read the answers in the same order."""
    waiting: deque[tuple[subprocess.Popen[bytes], Batch]] = deque()
    try:
        for turn, batch in enumerate(every):
            worker = workers[turn % len(workers)]
            waiting.append((worker, batch))
            if len(waiting) > AHEAD * len(workers):
                yield from _answer(waiting[0][0])
                waiting.popleft()
            _say(worker, batch)
        while waiting:
            yield from _answer(waiting[0][0])
            waiting.popleft()
    except (ChildProcessError, BrokenPipeError):
        raise WorkerDiedError([batch for _, batch in waiting]) from None


def _start(root: Path, query: Query, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", _BOOT, str(Path(__file__).parent)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    stack.callback(_close, worker)
    with contextlib.suppress(BrokenPipeError):  # it died, as will be seen where it should answer
        _say(
            worker,
            {
                "pattern": query.pattern,
                "plain": query.is_plain,
                "ignore_case": query.ignore_case,
                "output": query.output,
                "context": query.context,
                "most": COUNTED,
            },
        )
    return worker


def _close(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    with contextlib.suppress(BrokenPipeError):
        cast("IO[bytes]", worker.stdin).close()
    cast("IO[bytes]", worker.stdout).close()
    worker.wait()


def _say(worker: subprocess.Popen[bytes], value: object) -> None:
    stdin = cast("IO[bytes]", worker.stdin)
    stdin.write(json.dumps(value).encode() + b"\n")
    stdin.flush()


def _answer(worker: subprocess.Popen[bytes]) -> Iterator[Line]:
    answer = cast("IO[bytes]", worker.stdout).readline()
    if not answer.endswith(b"\n"):
        raise ChildProcessError
    for row in json.loads(answer):
        yield Line(*row)
