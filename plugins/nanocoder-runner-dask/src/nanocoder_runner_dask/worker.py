"""One job on a worker: its limits are the scheduler's, and it ends when the driver gives it up."""

import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final

import distributed
from distributed import Worker, WorkerPlugin, get_worker
from distributed.utils import sync
from nanocoder import Cancel
from nanocoder_kit_batch.processes import POLL_S, cancelled_when

from nanocoder_runner_dask.quiet import forget_filter, quieten_loggers
from nanocoder_runner_dask.shared_limits import HANDLER, name_of_semaphore

untyped: Any = distributed
"""Most of its functions have no types."""
GIVEN_UP: Final = frozenset({"cancelled", "released", "forgotten"})


class Deaf(WorkerPlugin):
    """Lets a worker that we have started survive a Ctrl-C, but not the commands of its tasks."""

    name = "nanocoder-deaf"

    def setup(self, worker: Worker) -> None:
        """Answer the signal with nothing, on the main thread; a started program has its own way."""
        del worker
        quieten_loggers()
        forget_filter()
        with suppress(ValueError):
            signal.signal(signal.SIGINT, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def do_on_worker(
    work: Callable[..., Any],
    job: dict[str, Any],
    concurrency: Mapping[str, int],
    rated: Collection[str],
) -> Any:
    """Run one job and return its result; raises the errors of the work."""
    worker, cancel = get_worker(), Cancel()
    is_over = partial(_is_given_up, worker, worker.get_current_task())
    with cancelled_when(is_over, cancel):
        return work(job, cancel, partial(_admit, worker, cancel, concurrency, rated))


@contextmanager
def _admit(
    worker: Worker,
    cancel: Cancel,
    concurrency: Mapping[str, int],
    rated: Collection[str],
    provider: str,
) -> Iterator[None]:
    with ExitStack() as stack:
        if number := concurrency.get(provider):
            semaphore = untyped.Semaphore(number, name=name_of_semaphore(provider, number))
            while not semaphore.acquire(timeout=POLL_S):
                cancel.check()
            stack.callback(semaphore.release)
        if provider in rated:
            ask = getattr(worker.scheduler, HANDLER)
            if cancel.wait(sync(worker.loop, ask, provider=provider)):
                cancel.check()
        yield


def _is_given_up(worker: Worker, key: Any) -> bool:
    """Return True if the scheduler has told the worker to drop the task."""
    task = worker.state.tasks.get(key)
    return task is None or task.state in GIVEN_UP
