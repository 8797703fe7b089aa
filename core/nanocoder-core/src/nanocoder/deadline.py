"""Work that must not hold up whoever waits for it: it runs on a thread that can be left behind.

Python cannot end a thread. One that is late goes on by itself, and nobody hears what it returns. A
single operation that never lets other threads run, such as a regular expression on a text made for
it, holds up everything and cannot be left behind either.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class LateError(Exception):
    """The work took longer than it may."""


def run_within(seconds: float, work: Callable[[], T]) -> T:
    """Return what *work* returns, or raise what it raises.

    Raises: LateError after *seconds*.
    """
    idle = _idle()
    try:
        worker = idle.pop()
    except IndexError:  # another thread may have taken the last one
        worker = _Worker()
    is_done = False
    try:
        is_done = worker.run(work, seconds)
        if not is_done:
            raise LateError(f"took longer than {seconds:g} s")
        return worker.outcome()  # type: ignore[no-any-return]
    finally:
        if is_done:
            idle.append(worker)
        else:  # late, or a KeyboardInterrupt came
            worker.leave()


def idle_threads() -> set[threading.Thread]:
    """Return the threads that wait for the next work: of all threads they are the core's own."""
    return {worker.thread for worker in tuple(_idle())}


@cache
def _idle() -> "deque[_Worker]":
    """Return the threads of this process that wait for work; the last used one is taken first."""
    workers: deque[_Worker] = deque()
    os.register_at_fork(after_in_child=workers.clear)  # a forked process has none of the threads
    return workers


class _Worker:
    """A thread for one piece of work after the other."""

    def __init__(self) -> None:
        self._go = threading.Lock()
        self._done = threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._work: Callable[[], Any] | None = None
        self._value: Any = None
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._serve, name="nanocoder-hooks", daemon=True)
        self.thread.start()

    def run(self, work: Callable[[], Any], seconds: float) -> bool:
        """Run *work* and tell whether it has ended in time; then `outcome` has what came of it."""
        import contextvars

        context = contextvars.copy_context()  # a tracer's span is the hook's, too
        self._work = lambda: context.run(work)
        self._go.release()
        return self._done.acquire(timeout=seconds)

    def outcome(self) -> Any:
        """Return what the work returned, or raise what it raised."""
        value, error = self._value, self._error
        self._value = self._error = None
        if error is not None:
            raise error
        return value

    def leave(self) -> None:
        """Let the thread end when its work has."""
        self._work = None

    def _serve(self) -> None:
        while True:
            self._go.acquire()
            work = self._work
            if work is None:
                return
            try:
                self._value = work()
            except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
                self._error = error
            if self._work is None:  # nobody waits any more
                return
            self._done.release()
