"""The runner `threads`: the tasks of a batch in threads of one process, the default."""

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen
from nanocoder import Cancel, Runner, hookimpl
from nanocoder_kit_batch import Limits
from nanocoder_kit_batch.limits import LimitSettings

MAX_WORKERS: Final = 8


@frozen
class Settings(LimitSettings):
    """The table [plugins.runner-threads]."""

    workers: int = field(
        default=min(MAX_WORKERS, 2 * (os.cpu_count() or 1)),
        metadata={"description": "How many tasks are worked on at once.", "minimum": 1},
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the settings."""
    return Settings


@hookimpl
def nanocoder_runners() -> list[Runner]:
    """Offer the runner."""
    return [Runner("threads", run_in_threads)]


def run_in_threads(
    work: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    cancel: Cancel,
    options: Mapping[str, Any],
    settings: Settings,
) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each job beside its outcome, in the order in which they end."""
    workers = min(options["workers"] or settings.workers, len(jobs))
    own = Cancel(cancel)
    limits, waiting = Limits(settings, own), iter(jobs)
    outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
    taking = threading.Lock()

    def serve() -> None:
        while not own.is_set():
            with taking:
                job = next(waiting, None)
            if job is None:
                break
            try:
                outcome = work(job, own, limits.admit)
            except BaseException as error:  # noqa: BLE001 - the job's outcome, whatever it is
                outcome = error
            outcomes.put((job, outcome))
        outcomes.put(None)

    threads = [threading.Thread(target=serve, name="nanocoder-batch") for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        ended = 0
        while ended < workers:
            outcome = outcomes.get()
            if outcome is None:
                ended += 1
            else:
                yield outcome
    finally:
        own.set()
        for thread in threads:
            thread.join()
        own.close()
