"""An adaptive limit of concurrent calls, by the load that their durations show."""

import math

from attrs import define
from nanocoder import Event

BACKOFF = 0.7
"""Factor of the limit after a sign of overload."""
LEARNED_CALLS = 4
"""Number of calls of a tool before one can be judged slow."""
NOISE_S = 0.1
"""A call that exceeds the usual duration by less than this is not slow."""
MEAN_PART, SPREAD_PART, BESIDE_PART = 1 / 8, 1 / 4, 1 / 8
"""Weights of one call in the moving mean and spread, and the factor for a concurrent call."""


@define
class Usual:
    """Durations of the calls of one tool, in seconds: the moving mean, and the mean deviation."""

    mean: float = 0.0
    spread: float = 0.0
    calls: int = 0

    def bound(self) -> float:
        """Return the duration, in seconds, above which a call is slow."""
        if self.calls < LEARNED_CALLS:
            return math.inf
        return self.mean + max(4 * self.spread, self.mean, NOISE_S)

    def learn(self, seconds: float, weight: float) -> None:
        """Update the mean and the spread with one more call; the first one sets the mean."""
        if self.calls == 0:
            self.mean = seconds
        off = seconds - self.mean
        weight = 1.0 if off < 0 else weight
        self.spread += (abs(off) - self.spread) * SPREAD_PART * weight
        self.mean += off * MEAN_PART * weight
        self.calls += 1


class Limiter:
    """The limit of concurrent calls, from 1 to *most*, adapted to the load.

    It rises by one for each round of calls with usual durations, and falls by a third when a
    concurrent call took far longer or timed out: at most once for the calls of one round, as in
    TCP. A call that runs alone never lowers it, and teaches the usual duration.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._usual: dict[str, Usual] = {}
        self._fell_at = -math.inf

    @property
    def limit(self) -> int:
        """The present limit of concurrent calls."""
        return max(1, int(self._limit + 1e-9))

    def learn(
        self, tool: str, began: float, ended: float, running_beside: int, *, timed_out: bool = False
    ) -> None:
        """Learn from a call that ran beside others: *running_beside* calls with itself."""
        usual = self._usual.setdefault(tool, Usual())
        seconds = ended - began
        if running_beside > 1 and (timed_out or seconds > usual.bound()):
            if began >= self._fell_at:
                self._limit = max(1.0, min(self._limit, running_beside) * BACKOFF)
                self._fell_at = ended
            return
        if timed_out:
            return
        usual.learn(seconds, BESIDE_PART if running_beside > 1 else 1.0)
        if running_beside >= self.limit:
            self._limit = min(float(self.most), self._limit + 1 / self._limit)

    def take(self, event: Event, *, own_limit: bool) -> None:
        """Learn from the end of a call, reported by `call.returned`.

        A call that failed, was interrupted, reached a timeout that it chose itself (*own_limit*),
        or only waited for its steps says nothing about the load.
        """
        data = event.data
        timed_out = data["error_class"] == "timeout"
        if "running_beside" not in data or (data["error_class"] and not timed_out):
            return
        if timed_out and own_limit:
            return
        began = event.at - data["ran_ms"] / 1_000
        self.learn(data["tool"], began, event.at, data["running_beside"], timed_out=timed_out)
