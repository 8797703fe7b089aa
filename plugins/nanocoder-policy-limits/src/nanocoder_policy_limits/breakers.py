"""Circuit breakers: a tool that fails repeatedly is paused for a while, then tried once.

Closed: calls pass. Open: after a number of failures in a row none passes, until the cool-down ends.
Half open: one trial call passes; success closes the breaker, failure restarts the cool-down.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from attrs import define

MAX_KEPT = 1_024
"""Limit of the tools in memory; the one that failed longest ago is evicted first."""


@define
class _Breaker:
    failures: int = 0
    failed_at: float = 0.0
    error_class: str = ""
    trial: str = ""
    tried_at: float = 0.0


class Breakers:
    """Breakers by key; all methods may be called from any thread.

    *clock* returns seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Breaker] = OrderedDict()
        self._chosen: OrderedDict[Hashable, None] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of tools whose last call failed."""
        return len(self._kept)

    def seconds_to_wait(
        self, key: Hashable, call_id: str, threshold: int, cooldown_s: float
    ) -> tuple[float, str]:
        """Return the seconds that a call has to wait, and the tool's error; 0.0 lets it pass.

        A call that passes after the cool-down is the one trial, also when it is judged again. A
        trial without a result for another cool-down is given up.
        """
        with self._lock:
            breaker = self._kept.get(key)
            if breaker is None or breaker.failures < threshold:
                return 0.0, ""
            now = self.clock()
            since = breaker.failed_at
            if breaker.trial and breaker.trial != call_id:
                since = max(since, breaker.tried_at)
            wait_s = since + cooldown_s - now
            if wait_s > 0:
                return wait_s, breaker.error_class
            breaker.trial, breaker.tried_at = call_id, now
            return 0.0, ""

    def record_success(self, key: Hashable, call_id: str, threshold: int) -> None:
        """Close the breaker, unless only a trial may."""
        with self._lock:
            breaker = self._kept.get(key)
            if breaker is not None and _is_relevant(breaker, call_id, threshold):
                del self._kept[key]

    def record_failure(self, key: Hashable, call_id: str, threshold: int, error_class: str) -> None:
        """Count a failure; *threshold* in a row, or one of a trial, open the breaker."""
        with self._lock:
            breaker = self._kept.pop(key, None) or _Breaker()
            self._kept[key] = breaker
            if _is_relevant(breaker, call_id, threshold):
                breaker.failures += 1
                breaker.failed_at = self.clock()
                breaker.error_class = error_class
                breaker.trial = ""
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)

    def forget_trial(self, key: Hashable, call_id: str) -> None:
        """Allow another trial if this call was the trial and never ran."""
        with self._lock:
            breaker = self._kept.get(key)
            if breaker is not None and breaker.trial == call_id:
                breaker.trial = ""

    def remember_own_limit(self, call: Hashable) -> None:
        """Record that *call* set its own timeout."""
        with self._lock:
            self._chosen[call] = None
            if len(self._chosen) > MAX_KEPT:
                self._chosen.popitem(last=False)

    def forget_own_limit(self, call: Hashable) -> bool:
        """Return True if *call* set its own timeout, and remove the record of it."""
        with self._lock:
            return self._chosen.pop(call, self) is None


def _is_relevant(breaker: _Breaker, call_id: str, threshold: int) -> bool:
    """Return True if a call's end is relevant: in an open breaker only a trial's is."""
    return breaker.failures < threshold or breaker.trial == call_id
