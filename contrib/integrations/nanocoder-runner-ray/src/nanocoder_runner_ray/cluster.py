"""Jobs as tasks of Ray: a few at a time, begun again when a worker dies, given up when asked."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import ray
from nanocoder import Cancel, UsageError
from nanocoder_kit_batch import Rate

from nanocoder_runner_ray import Job, Settings

untyped: Any = ray
"""Its decorators have no types."""
CONNECT_S: Final = 10
POLL_S: Final = 0.5
AHEAD: Final = 2
"""So many tasks for each worker are with Ray at once: one at work and one ready."""


class Gate:
    """An actor that all workers share: places and rates of providers, and whether all is over."""

    def __init__(self, places: Mapping[str, int], per_minute: Mapping[str, float]) -> None:
        self._places = dict(places)
        self._rates = {name: Rate(rate) for name, rate in per_minute.items()}
        self._over = False

    def take(self, provider: str) -> float | None:
        """Take a place and return in how many seconds the request may be sent; None: wait."""
        if provider in self._places:
            if self._places[provider] < 1:
                return None
            self._places[provider] -= 1
        rate = self._rates.get(provider)
        return rate.delay_s(time.monotonic()) if rate else 0.0

    def give_back(self, provider: str) -> None:
        """Let another request have the place."""
        if provider in self._places:
            self._places[provider] += 1

    def end(self) -> None:
        """Let every task end soon."""
        self._over = True

    def is_over(self) -> bool:
        """Whether the driver has ended the batch."""
        return self._over


def run_on_cluster(
    work: Callable[..., Any],
    jobs: Sequence[Job],
    cancel: Cancel,
    options: Mapping[str, Any],
    settings: Settings,
) -> Iterator[tuple[Job, Any]]:
    """Yield each job beside its outcome, in the order in which they end.

    Raises: UsageError when there is no cluster at the address.
    """
    if not jobs:
        return
    workers = options["workers"] or settings.workers or (os.cpu_count() or 1)
    with _cluster(options["scheduler"], min(workers, len(jobs)), settings):
        gate = untyped.remote(Gate).options(num_cpus=0)
        shared = gate.remote(dict(settings.concurrency), dict(settings.per_minute))
        task = untyped.remote(do_on_worker).options(
            max_retries=settings.retries, resources=settings.resources or None
        )
        begin = partial(task.remote, work, gate=shared)
        try:
            yield from _outcomes(begin, iter(jobs), AHEAD * workers, cancel)
        finally:
            ray.get(shared.end.remote())


def _outcomes(
    begin: Callable[..., Any], waiting: Iterator[Job], size: int, cancel: Cancel
) -> Iterator[tuple[Job, Any]]:
    begun: dict[Any, Job] = {}
    try:
        while not cancel.is_set():
            while len(begun) < size and (job := next(waiting, None)) is not None:
                begun[begin(dict(job))] = job
            if not begun:
                return
            ended, _ = ray.wait([*begun], timeout=POLL_S)
            for reference in ended:
                yield begun.pop(reference), _outcome_of(reference)
    finally:
        for reference in begun:
            ray.cancel(reference)


def _outcome_of(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return error.cause
    except ray.exceptions.RayError as error:
        return error


@contextmanager
def _cluster(address: str, workers: int, settings: Settings) -> Iterator[None]:
    own = {"num_cpus": workers, "resources": settings.resources, "include_dashboard": False}
    place = {"address": address} if address else own
    _refuse_silent(address)
    try:
        ray.init(**place, log_to_driver=False, logging_level="CRITICAL", namespace="nanocoder")
    except Exception as error:  # Ray raises bare exceptions, for a slow start, too
        where = (
            f"--scheduler: no Ray cluster answers at {address}" if address else "Ray does not start"
        )
        raise UsageError(f"{where}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _refuse_silent(address: str) -> None:
    """Raise UsageError where nothing listens: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as error:
        problem = f"--scheduler: no Ray cluster answers at {address}: {error}"
        raise UsageError(problem) from error


def do_on_worker(work: Callable[..., Any], job: dict[str, Any], gate: Any) -> Any:
    """Do one job in a process of Ray and return its result; raises what the work raises."""
    cancel, ended = Cancel(), threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_S):
            if ray.get(gate.is_over.remote()):
                cancel.set("interrupted")
                return

    threading.Thread(target=watch, name="nanocoder-over", daemon=True).start()
    try:
        return work(job, cancel, partial(_admit, cancel, gate))
    finally:
        ended.set()


@contextmanager
def _admit(cancel: Cancel, gate: Any, provider: str) -> Iterator[None]:
    with ExitStack() as place:
        while (delay_s := ray.get(gate.take.remote(provider))) is None:
            if cancel.wait(POLL_S):
                cancel.check()
        place.callback(lambda: ray.get(gate.give_back.remote(provider)))
        if delay_s and cancel.wait(delay_s):
            cancel.check()
        yield
