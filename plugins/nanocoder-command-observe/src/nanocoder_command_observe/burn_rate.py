"""Burn rates: how fast calls consume an objective's error budget, over a long and a short time.

An objective allows a share of the calls to miss it, the error budget: `error_rate` names it,
`p95_ms` allows 5 %, `p99_ms` 1 %. The burn rate is the share of misses divided by the budget: at 1
the budget is just consumed. An alert needs both times of a window: the long one shows that it
matters, the short one that it goes on. Windows and rates are those of the Site Reliability Workbook
(https://sre.google/workbook/alerting-on-slos/).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from attrs import frozen
from nanocoder_kit_sessions import SessionStore

from nanocoder_command_observe.statistics import Outcome, finished_calls, limits_of

ALLOWED: Final = {"p95_ms": 0.05, "p99_ms": 0.01}
MIN_CALLS: Final = 10
"""A single failure among fewer calls in the long time would be an alert."""
NEARLY_ALL: Final = 0.9
"""If this part misses an objective, it is an alert, however much the objective allows."""


class Window(NamedTuple):
    """Two times that end now, in seconds, and the burn rate that is an alert in both."""

    name: str
    long_s: float
    short_s: float
    rate: float


WINDOWS: Final = (
    Window("1 h", 3_600.0, 300.0, 14.4),
    Window("6 h", 21_600.0, 1_800.0, 6.0),
    Window("3 days", 259_200.0, 21_600.0, 1.0),
)


@frozen
class BurnRate:
    """The burn rates of a tool's calls for one objective within one window."""

    tool: str
    objective: str
    window: str
    calls: int
    long: float
    short: float
    limit: float

    @property
    def is_alert(self) -> bool:
        """True if both burn rates exceed the limit, with enough calls."""
        return self.calls >= MIN_CALLS and min(self.long, self.short) >= self.limit

    def data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data."""
        return {
            "tool": self.tool,
            "objective": self.objective,
            "window": self.window,
            "calls": self.calls,
            "long": round(self.long, 3),
            "short": round(self.short, 3),
            "limit": round(self.limit, 3),
            "alert": self.is_alert,
        }


def burn_rates(
    store: SessionStore,
    objectives: Mapping[str, Mapping[str, float]],
    now: float,
    *,
    tool: str = "",
) -> list[BurnRate]:
    """Return the burn rate of each tool's objectives in each window that has calls.

    *objectives* has limits by tool for p95_ms, p99_ms and error_rate, "*" for all others. *now* is
    in seconds since the epoch. An objective that allows nothing burns at the first miss.
    """
    answered: Counter[tuple[str, float]] = Counter()
    misses: Counter[tuple[str, str, float]] = Counter()
    times = {seconds for window in WINDOWS for seconds in (window.long_s, window.short_s)}
    for call in finished_calls(store, since=now - max(times), tool=tool):
        outcome = None if call is None else Outcome.of_result(call.result)
        if call is None or outcome is None or not outcome.is_answered:
            continue
        missed = _missed(outcome, limits_of(call.tool, objectives))
        for seconds in times:
            if call.at >= now - seconds:
                answered[call.tool, seconds] += 1
                misses.update((call.tool, objective, seconds) for objective in missed)

    def rate(name: str, objective: str, seconds: float, allowed: float) -> float:
        calls = answered[name, seconds]
        part = misses[name, objective, seconds] / calls if calls else 0.0
        return part / allowed if part else 0.0

    rates = []
    for name in sorted({name for name, _ in answered}):
        for objective, limit in limits_of(name, objectives).items():
            # No part at all: a rate is finite, and each miss is more than every limit.
            allowed = max(ALLOWED.get(objective, limit), 1e-9)
            rates += [
                BurnRate(
                    name,
                    objective,
                    window.name,
                    answered[name, window.long_s],
                    rate(name, objective, window.long_s, allowed),
                    rate(name, objective, window.short_s, allowed),
                    min(window.rate, NEARLY_ALL / allowed),
                )
                for window in WINDOWS
                if answered[name, window.long_s]
            ]
    return rates


def _missed(outcome: Outcome, limits: Mapping[str, float]) -> list[str]:
    """Return the objectives that one call missed."""
    return [
        objective
        for objective, limit in limits.items()
        if (
            outcome.is_error
            if objective == "error_rate"
            else outcome.took_ms is not None and outcome.took_ms > limit
        )
    ]
