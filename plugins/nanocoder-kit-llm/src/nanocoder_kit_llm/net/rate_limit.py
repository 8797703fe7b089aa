"""A limit of requests to one host."""

import threading
import time
from collections import deque
from collections.abc import Callable

from nanocoder import ToolError

WINDOW_S = 60.0


class RateLimit:
    """Counts requests of the last minute for each host; safe from several threads."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}

    def take(self, host: str) -> None:
        """Count a request to *host*; raises ToolError (rate_limited) beyond the limit."""
        with self._lock:
            now = self._clock()
            times = self._times.setdefault(host, deque())
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
            if len(times) >= self._per_minute:
                wait = times[0] + WINDOW_S - now
                raise ToolError(
                    f"{host!r} was asked {self._per_minute} times in a minute; wait {wait:.0f} s",
                    error_class="rate_limited",
                )
            times.append(now)
