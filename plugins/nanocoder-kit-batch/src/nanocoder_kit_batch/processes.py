"""The common part of runners with many processes: settings, the gate, interruption."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from attrs import field, frozen
from nanocoder import Cancel

from nanocoder_kit_batch.limits import LimitSettings, Rates

POLL_S: Final = 0.5
LEASE_S: Final = 30.0
"""Seconds without a sign of life after which a worker's slots are released."""


@frozen
class ProcessSettings(LimitSettings):
    """The settings that each runner with processes has."""

    workers: int = field(
        default=0,
        metadata={
            "description": "How many processes work at once here; 0: one for each core.",
            "minimum": 0,
        },
    )
    retries: int = field(
        default=3,
        metadata={
            "description": "How often a task begins again whose worker died.",
            "minimum": 0,
        },
    )
    resources: dict[str, Any] = field(
        factory=dict,
        metadata={"description": "What a worker must have for a task, such as { gpu = 1 }."},
    )

    def number_of_workers(self, options: Mapping[str, Any], jobs: Collection[Any]) -> int:
        """Return the number of processes to start; `--workers` overrides the settings."""
        return min(options["workers"] or self.workers or (os.cpu_count() or 1), len(jobs))


class Gate:
    """Slots and rates of providers, in one process that all workers ask. It has no threads.

    A worker that dies releases no slot, so its slots are free again after `LEASE_S` without a
    sign of life.
    """

    def __init__(
        self,
        slots: Mapping[str, int],
        per_minute: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = dict(slots)
        self._rates = Rates(per_minute)
        self._clock = clock
        self._holders: dict[str, list[str]] = defaultdict(list)
        self._heard: dict[str, float] = {}
        self._over = False

    def take(self, provider: str, worker: str) -> float | None:
        """Take a slot, and return the request's delay in seconds; None if no slot is free."""
        self._heard[worker] = self._clock()
        if (slots := self._slots.get(provider)) is not None:
            holders = self._holders[provider] = [*filter(self._is_alive, self._holders[provider])]
            if len(holders) >= slots:
                return None
            holders.append(worker)
        return self._rates.delay_s(provider)

    def give_back(self, provider: str, worker: str) -> None:
        """Release the slot of *worker*."""
        if worker in self._holders[provider]:
            self._holders[provider].remove(worker)

    def end(self) -> None:
        """Make every worker interrupt its task."""
        self._over = True

    def is_over(self, worker: str) -> bool:
        """Return True if the batch has ended; the question is a sign of life of *worker*."""
        self._heard[worker] = self._clock()
        return self._over

    def _is_alive(self, worker: str) -> bool:
        return self._clock() - self._heard[worker] < LEASE_S


@contextmanager
def cancelled_when(is_over: Callable[[], bool], cancel: Cancel) -> Iterator[None]:
    """Poll *is_over* twice a second on a thread, and interrupt the task once it is true."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_S):
            if is_over():
                cancel.set("interrupted")
                return

    threading.Thread(target=watch, name="nanocoder-over", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
