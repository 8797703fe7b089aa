"""Jobs as tasks of Ray: a few at a time, begun again when a worker dies, given up when asked."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import ray
from nanocoder import Cancel, UsageError
from nanocoder_kit_batch.processes import POLL_S, Gate, cancelled_when

from nanocoder_runner_ray import Job, Settings

untyped: Any = ray
"""Its decorators have no types."""
CONNECT_S: Final = 10
AHEAD: Final = 2
"""Submitted tasks for each worker: one running and one ready."""


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
    workers = settings.number_of_workers(options, jobs)
    with _cluster(options["scheduler"], workers, settings):
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
    """Run one job in a process of Ray and return its result; raises the errors of the work."""
    cancel, worker = Cancel(), f"{socket.gethostname()}:{os.getpid()}"

    def is_over() -> bool:
        over: bool = ray.get(gate.is_over.remote(worker))
        return over

    with cancelled_when(is_over, cancel):
        return work(job, cancel, partial(_admit, cancel, gate, worker))


@contextmanager
def _admit(cancel: Cancel, gate: Any, worker: str, provider: str) -> Iterator[None]:
    with ExitStack() as place:
        while (delay_s := ray.get(gate.take.remote(provider, worker))) is None:
            if cancel.wait(POLL_S):
                cancel.check()
        place.callback(lambda: ray.get(gate.give_back.remote(provider, worker)))
        if delay_s and cancel.wait(delay_s):
            cancel.check()
        yield
