"""Limits of the requests to providers: concurrent ones, and those per minute."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from attrs import define, field, frozen
from nanocoder import Cancel

MINUTE_S: Final = 60.0
POLL_S: Final = 0.05


def _numbers_above_0(_: object, attribute: Any, value: Mapping[str, float]) -> None:
    for name, number in value.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)) or number <= 0:
            raise ValueError(f"{attribute.name}: {name} is {number!r}, not a number above 0")


@frozen
class LimitSettings:
    """The limits common to all runners."""

    concurrency: dict[str, Any] = field(
        factory=dict,
        validator=_numbers_above_0,
        metadata={
            "description": "How many requests a provider gets at once, by its name.",
            "user_only": True,
        },
    )
    per_minute: dict[str, Any] = field(
        factory=dict,
        validator=_numbers_above_0,
        metadata={
            "description": "How many requests a provider gets a minute, by its name.",
            "user_only": True,
        },
    )


@define
class Rate:
    """A token bucket for one provider, as the time at which the next request is due.

    A burst of a tenth of a minute's requests passes without delay.
    """

    per_minute: float
    due: float = 0.0

    def delay_s(self, now: float) -> float:
        """Reserve one request, and return its delay in seconds."""
        step = MINUTE_S / self.per_minute
        slack = step * max(0.0, self.per_minute / 10 - 1)
        self.due = max(self.due, now - slack)
        delay = max(0.0, self.due - now)
        self.due += step
        return delay


class Rates:
    """The rates of all providers, shared by all senders of requests."""

    def __init__(self, per_minute: Mapping[str, float]) -> None:
        self._rates = {name: Rate(rate) for name, rate in per_minute.items()}

    def delay_s(self, provider: str) -> float:
        """Reserve one request, and return its delay in seconds."""
        rate = self._rates.get(provider)
        return rate.delay_s(time.monotonic()) if rate else 0.0


class Limits:
    """The limits of one process, for all of its threads."""

    def __init__(self, settings: LimitSettings, cancel: Cancel) -> None:
        self._cancel = cancel
        self._rates = Rates(settings.per_minute)
        self._slots: Mapping[str, int] = settings.concurrency
        self._taken: dict[str, int] = defaultdict(int)
        self._changed = threading.Condition()

    @contextmanager
    def admit(self, provider: str) -> Iterator[None]:
        """Wait for a slot for one request, and hold it; raises Cancelled."""
        slots = self._slots.get(provider)
        with self._changed:
            while slots is not None and self._taken[provider] >= slots:
                self._cancel.check()
                self._changed.wait(POLL_S)
            self._taken[provider] += 1
            delay_s = self._rates.delay_s(provider)
        try:
            if delay_s and self._cancel.wait(delay_s):
                self._cancel.check()
            yield
        finally:
            with self._changed:
                self._taken[provider] -= 1
                self._changed.notify()
