"""Token buckets: each call takes a token, and tokens come back with time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MAX_KEPT = 1_024
"""Limit of the buckets; the least recently used one is evicted first."""


class Buckets:
    """Buckets by key. Nothing runs between calls: a bucket is refilled when it is used.

    *clock* returns seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of buckets."""
        return len(self._kept)

    def wait_s(self, key: Hashable, burst: int, per_s: float) -> float:
        """Take a token and return 0.0, or take none and return the seconds until there is one.

        A bucket holds at most *burst* tokens and is refilled with *per_s* each second; with 0 the
        wait is infinite.
        """
        with self._lock:
            now = self.clock()
            tokens, since = self._kept.pop(key, (float(burst), now))
            tokens = min(float(burst), tokens + (now - since) * per_s)
            is_taken = tokens >= 1.0
            self._kept[key] = (tokens - is_taken, now)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        if is_taken:
            return 0.0
        return (1.0 - tokens) / per_s if per_s else float("inf")
