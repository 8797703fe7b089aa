"""Cancellation, and work on other threads with a deadline.

Python cannot end a thread. Work that times out goes on in its thread, and its outcome is dropped.
A single operation that never releases the GIL, such as a regular expression on a hostile text,
blocks the whole process and cannot be abandoned either.
"""

import itertools
import operator
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from nanocoder.errors import Cancelled, TimedOut

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
Outcome = tuple[T | None, BaseException | None]

IDLE_S: Final = 0.3
"""Seconds after which a request was sent, and a model that answers at once has answered."""
BLOCKED_S = 5.0
"""Seconds that a tool may block the event loop before other tools get another loop."""

_started = threading.Lock()
_loops: "list[asyncio.AbstractEventLoop]" = []
# One event loop per process, shared by all async tools.


class Cancel:
    """Set once, from any thread; wakes waits and runs callbacks.

    A child is set with its parent, not the reverse.
    """

    def __init__(self, parent: "Cancel | None" = None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], object]] = {}
        self.reason = ""
        self._detach = parent.on_set(lambda: self.set(parent.reason)) if parent else bool

    def is_set(self) -> bool:
        """Return True if the work should stop."""
        return self._event.is_set()

    def set(self, reason: str = "interrupted") -> None:
        """Stop the work; later calls change nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            # Called without the lock: a callback may ask this object, or set another one.
            callbacks, self._callbacks = self._callbacks, {}
        for callback in tuple(callbacks.values()):  # another thread may take one out meanwhile
            callback()

    def on_set(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call *callback* when set, at once if it is; return a function that removes it."""
        with self._lock:
            if not self._event.is_set():
                key = object()
                self._callbacks[key] = callback
                return lambda: self._callbacks.pop(key, None)
        callback()
        return lambda: None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until set or *timeout_s* seconds have passed; True when set."""
        return self._event.wait(timeout_s)

    def check(self) -> None:
        """Raise `Cancelled` when set."""
        if self._event.is_set():
            raise Cancelled(self.reason or "interrupted")

    def close(self) -> None:
        """Detach from the parent, once the work is over."""
        self._detach()


class LateError(TimedOut):
    """The work ran into its deadline."""


def run_with_deadline(work: Callable[[], T], limit_s: float, cancel: Cancel | None = None) -> T:
    """Run *work* on another thread and return its result; an exception of it is raised here.

    Raises: TimedOut after *limit_s* seconds (0: no limit), Cancelled as soon as *cancel* is set.
    """
    [(value, error)] = run_each([work], limit_s, cancel)
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def run_each(
    works: Sequence[Callable[[], T]], limit_s: float, cancel: Cancel | None = None
) -> Sequence[Outcome[T]]:
    """Return the outcome of each of *works*, up to the first that raised or timed out.

    They run in order on one other thread: waking a thread takes longer than most work. Each
    may take *limit_s* seconds (0: no limit). Raises: Cancelled as soon as *cancel* is set.
    """
    from contextvars import copy_context  # a request alone needs none

    if cancel is not None:
        cancel.check()
    ends, outcomes = queue.SimpleQueue[str](), list[Any]()
    context = copy_context()  # a tracer's span is the hook's, too
    lock, is_left_behind, began = threading.Lock(), False, time.monotonic()
    limit_s = limit_s or threading.TIMEOUT_MAX

    def run(thread: ReusedThread) -> bool:
        nonlocal began
        for work in works:
            outcome = outcome_of(partial(context.copy().run, work))
            with lock:
                if is_left_behind:
                    return False
                outcomes.append(outcome)
                began = time.monotonic()
            if outcome[1] is not None:
                break
        thread.rest()
        ends.put("")
        return True

    # A cancel arrives in the same queue, so the first of both wins.
    forget = cancel.on_set(lambda: ends.put("cancelled")) if cancel else lambda: None
    start_on_thread(run)
    try:
        while not is_left_behind:
            with suppress(queue.Empty):
                if ends.get(timeout=max(0.0, began + limit_s - time.monotonic())):
                    raise Cancelled("interrupted")
                return outcomes
            with lock:  # the next piece of work may have begun meanwhile
                is_left_behind = time.monotonic() >= began + limit_s
        late = LateError(f"took longer than {limit_s:g} s", data={"limit_s": limit_s})
        return [*outcomes, (None, late)]
    finally:
        is_left_behind = True
        forget()


def start_on_thread(work: Callable[["ReusedThread"], bool]) -> "ReusedThread":
    """Start *work* on an idle thread, or on a new one.

    *work* calls the thread's `rest` when it may get the next work, or returns False to end it.
    """
    try:
        thread = _idle().pop()
    except IndexError:  # another thread may have taken the last one
        thread = ReusedThread()
        thread.start()
    thread.tasks.put(work)
    return thread


def idle_threads() -> set[threading.Thread]:
    """Return the idle threads of the core."""
    return set(_idle().copy())


@cache
def _idle() -> "deque[ReusedThread]":
    """Return the idle threads of this process; the last used one is taken first."""
    threads: deque[ReusedThread] = deque()
    os.register_at_fork(after_in_child=threads.clear)  # a forked process has none of them
    return threads


def outcome_of(work: Callable[[], T]) -> Outcome[T]:
    """Run *work* and return its result and None, or None and the exception that it raised."""
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - raised again on the waiting thread
        return None, error


class ReusedThread(threading.Thread):
    """A thread that is used again, as starting one takes longer than most work.

    It ends after work that returns False, because that was abandoned.
    """

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Callable[[ReusedThread], bool]] = queue.SimpleQueue()
        # `all` over a map, not a loop of our own: a loop would hold a reference to the latest
        # work, and so to its session, while idle, and would add a frame to each call.
        works = map(operator.call, iter(self.tasks.get, None), itertools.repeat(self))
        super().__init__(target=all, args=[works], name="nanocoder-worker", daemon=True)

    def rest(self) -> None:
        """Become idle; the next work may start before this returns."""
        _idle().append(self)


@contextmanager
def preload(modules: Sequence[str]) -> Iterator[None]:
    """Import *modules* on a thread, in order, until the block ends.

    The first call then need not wait for them. Nothing is registered, and a failed import is
    ignored: it fails again at its use.
    """
    missing = [module for module in modules if module not in sys.modules]
    stop = threading.Event()

    def load() -> None:
        stop.wait(IDLE_S)
        for module in missing:
            if stop.is_set():
                return
            # Reported at the use of the module; a plugin's sys.exit must end nothing here.
            with suppress(BaseException):
                import_module(module)

    if missing:
        # A daemon thread does not delay the end of the program.
        threading.Thread(target=load, name="nanocoder-imports", daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def wait_for(awaitable: Awaitable[Any], cancel: Cancel) -> Any:
    """Run *awaitable* on the background loop and return its result; *cancel* cancels it."""
    import asyncio
    import concurrent.futures

    async def awaited() -> Any:
        return await awaitable

    future = asyncio.run_coroutine_threadsafe(awaited(), _loop())
    forget = cancel.on_set(future.cancel)
    try:
        return future.result()
    except concurrent.futures.CancelledError as error:
        raise Cancelled(cancel.reason or "interrupted") from error
    finally:
        forget()


def _loop() -> "asyncio.AbstractEventLoop":
    import asyncio

    with _started:
        turn = threading.Event()
        if _loops:
            _loops[0].call_soon_threadsafe(turn.set)
        # A tool that blocks the loop keeps it; the other tools get a new one.
        if not (_loops and turn.wait(BLOCKED_S)):
            _loops[:] = [asyncio.new_event_loop()]
            work = _loops[0].run_forever
            threading.Thread(target=work, name="nanocoder-async", daemon=True).start()
        return _loops[0]
