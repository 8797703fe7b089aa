"""A circuit breaker shared by all clients of one server, so that retries do not flood it."""

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Final

from nanocoder import ProviderError

from nanocoder_kit_llm.http.failures import RETRIED_KINDS, FinalError

OPEN_AFTER: Final = 14
"""Failures in a row, of all sessions together; one request alone makes at most seven."""
OPEN_S: Final = 30.0
FORGET_S: Final = 120.0
"""Seconds without a failure after which earlier failures are forgotten."""
RETRIES: Final = 30
BUDGET_S: Final = 300.0


class RetryBudget:
    """Limit of the retries to one server by all sessions: at most 30 in five minutes.

    Without it each of ten sub-agents would retry its request six times, and a server that fails
    every second request would never recover. *clock* is for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._spent: deque[float] = deque()

    def take(self) -> bool:
        """Take one retry from the budget; return False if none is left."""
        with self._lock:
            now = self._clock()
            while self._spent and now - self._spent[0] >= BUDGET_S:
                self._spent.popleft()
            if len(self._spent) >= RETRIES:
                return False
            self._spent.append(now)
            return True


class Breaker:
    """Counts the failures of one server, and the retries. *clock* is for tests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = RetryBudget(clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._failed_at = 0.0
        self._open_until = 0.0

    def check(self, host: str) -> None:
        """Raise ProviderError while the breaker is open; afterwards admit one trial request."""
        with self._lock:
            now = self._clock()
            if now < self._open_until:
                raise FinalError(
                    f"{host} failed {self._failures} times in a row and is left alone for"
                    f" {self._open_until - now:.0f} s more",
                    kind="unavailable",
                )
            if self._failures >= OPEN_AFTER:
                self._open_until = now + OPEN_S  # for all but this trial request

    def counted(self, error: ProviderError) -> ProviderError:
        """Return *error*, and count it if it is of a kind that a retry may avoid."""
        if error.retry is not False and error.kind in RETRIED_KINDS:
            with self._lock:
                now = self._clock()
                is_fresh = now - self._failed_at < FORGET_S
                self._failures = self._failures + 1 if is_fresh else 1
                self._failed_at = now
                if self._failures >= OPEN_AFTER:
                    self._open_until = now + OPEN_S
        return error

    def succeeded(self) -> None:
        """Reset the failures, since the server answered."""
        with self._lock:
            self._failures, self._open_until = 0, 0.0


@cache
def breaker_of(base_url: str) -> Breaker:
    """Return the breaker that all clients of one server share."""
    del base_url
    return Breaker()
