"""The driver: a window of jobs is at the scheduler, and results come back as they are ready."""

import logging
import os
import queue
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import dask
import distributed
from nanocoder import Cancel, UsageError

from nanocoder_runner_dask.quiet import quiet
from nanocoder_runner_dask.settings import Settings
from nanocoder_runner_dask.shared_limits import RateOnScheduler, name_of_semaphore
from nanocoder_runner_dask.worker import Deaf, do_on_worker

untyped: Any = distributed
"""Most of its functions have no types."""
POLL_S: Final = 0.2
CONNECT_S: Final = 10
WINDOW: Final = 64
WINDOW_OF_THREAD: Final = 4

Job = Mapping[str, Any]


def run_on_cluster(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    cancel: Cancel,
    options: Mapping[str, Any],
    settings: Settings,
) -> Iterator[tuple[Job, Any]]:
    """Yield each job beside its outcome, in the order in which they come back.

    Raises: UsageError when the scheduler does not answer.
    """
    if not jobs:
        return
    workers = settings.number_of_workers(options, jobs)
    with _client(options["scheduler"], workers, settings) as client:
        _share_limits(client, settings)
        yield from _Window(client, work, cancel, settings).run(iter(jobs))


class _Window:
    """The submitted jobs: just enough to occupy all workers, so that the scheduler has few."""

    def __init__(
        self, client: Any, work: Callable[..., Any], cancel: Cancel, settings: Settings
    ) -> None:
        self._client = client
        self._work = work
        self._cancel = cancel
        self._settings = settings
        self._jobs: dict[str, tuple[Job, Any]] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run(self, waiting: Iterator[Job]) -> Iterator[tuple[Job, Any]]:
        """Submit jobs as others end, and yield the results."""
        try:
            self._fill(waiting)
            while self._jobs and not self._cancel.is_set():
                yield from self._outcomes(self._ended_now())
                self._fill(waiting)
        finally:
            self._client.cancel([future for _, future in self._jobs.values()], force=True)
            self._jobs.clear()

    def _fill(self, waiting: Iterator[Job]) -> None:
        threads = sum(self._client.nthreads().values()) if len(self._jobs) < WINDOW else 0
        size = max(WINDOW, WINDOW_OF_THREAD * threads)
        while len(self._jobs) < size and not self._cancel.is_set():
            job = next(waiting, None)
            if job is None:
                return
            self._submit(job)

    def _submit(self, job: Job) -> None:
        # Another start may give the same job to the same scheduler: it is not the same work.
        key = f"nanocoder-{job['key']}-{os.urandom(4).hex()}"
        future = self._client.submit(
            do_on_worker,
            self._work,
            dict(job),
            dict(self._settings.concurrency),
            tuple(self._settings.per_minute),
            key=key,
            pure=False,
            resources=self._settings.resources or None,
        )
        self._jobs[key] = job, future
        future.add_done_callback(lambda ended: self._ended.put(ended.key))

    def _ended_now(self) -> list[str]:
        keys: list[str] = []
        while True:
            try:
                keys.append(self._ended.get(timeout=0 if keys else POLL_S))
            except queue.Empty:
                return keys

    def _outcomes(self, keys: Sequence[str]) -> Iterator[tuple[Job, Any]]:
        ended = [self._jobs.pop(key) for key in keys]
        good = [(job, future) for job, future in ended if future.status == "finished"]
        # One message for all results; a result that was lost with its worker is computed again.
        values = self._client.gather([future for _, future in good], errors="skip")
        yield from zip((job for job, _ in good), values, strict=True)
        for job, future in ended:
            if future.status in {"error", "cancelled"}:
                yield job, _error_of(future)
            future.release()


def _error_of(future: Any) -> BaseException:
    error: BaseException | None = future.exception() if future.status == "error" else None
    return error or RuntimeError("the scheduler gave it up")


@contextmanager
def _client(scheduler: str, workers: int, settings: Settings) -> Iterator[Any]:
    changes = {
        "distributed.scheduler.allowed-failures": settings.retries,
        "distributed.scheduler.http.routes": [],
        "distributed.comm.timeouts.connect": CONNECT_S,
    }
    with ExitStack() as stack:
        stack.enter_context(quiet())
        stack.enter_context(dask.config.set(changes))
        if scheduler:
            yield stack.enter_context(_connected(scheduler))
            return
        with _interrupts_blocked():
            cluster = stack.enter_context(_local_cluster(workers, settings))
            client = stack.enter_context(untyped.Client(cluster))
        client.register_plugin(Deaf())
        yield client


def _local_cluster(workers: int, settings: Settings) -> Any:
    return untyped.LocalCluster(
        n_workers=workers,
        threads_per_worker=settings.threads,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
        resources=settings.resources or None,
    )


def _connected(scheduler: str) -> Any:
    try:
        return untyped.Client(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        problem = f"--scheduler: no scheduler answers at {scheduler}: {error}"
        raise UsageError(problem) from error


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in threads that start meanwhile, and so in the workers that they start.

    A terminal sends it to all processes; the workers end when the driver tells them to.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _share_limits(client: Any, settings: Settings) -> None:
    if settings.per_minute:
        client.register_plugin(RateOnScheduler(dict(settings.per_minute)))
    for provider, slots in settings.concurrency.items():
        untyped.Semaphore(slots, name=name_of_semaphore(provider, slots))
