"""Statistics of each tool's calls, from the journals of sessions.

Journals are read line by line: a damaged line is counted and skipped, and a tool's times are stored
in buckets one per cent wide, so that neither long nor many journals fill the memory.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from attrs import define, field, frozen
from nanocoder_files import open_private
from nanocoder_kit_sessions import Record, SessionStore

WIDTH: Final = math.log(1.01)
SMALLEST_MS: Final = 0.001
MAX_LINE_BYTES: Final = 268_435_456
FINISHED: Final = re.compile(rb'^.{0,64}"kind":"call\.finished"')
NEVER_RAN: Final = frozenset({"invalid_arguments", "unknown_tool", "busy", "not_run"})
"""Error classes of calls that never reached the tool."""


class Times:
    """A histogram of durations in milliseconds, precise to one per cent, and the exact maximum."""

    def __init__(self) -> None:
        self.count = 0
        self.longest = 0.0
        self._buckets: Counter[int] = Counter()

    def add(self, milliseconds: float) -> None:
        """Add one duration."""
        self.count += 1
        self.longest = max(self.longest, milliseconds)
        self._buckets[math.ceil(math.log(max(milliseconds, SMALLEST_MS)) / WIDTH)] += 1

    def percentile(self, part: float) -> float | None:
        """Return the time that *part* of them, 0 to 1, do not exceed; None without any."""
        rest = math.ceil(part * self.count)
        for bucket, count in sorted(self._buckets.items()):
            rest -= count
            if rest <= 0:
                return round(min(math.exp(bucket * WIDTH), self.longest), 3)
        return None


@frozen
class Outcome:
    """The outcome of a call. *took_ms* is None if the tool did not answer."""

    is_answered: bool
    is_error: bool = False
    is_denied: bool = False
    took_ms: float | None = None

    @classmethod
    def of_result(cls, result: Mapping[str, Any]) -> "Outcome":
        """Return the outcome in the record of a result; its fields may be of any type."""
        status, error_class = result.get("status"), result.get("error_class", "")
        if status in {"denied", "approval_needed"}:
            return cls(is_answered=False, is_denied=True)
        if status != "ok" and (error_class in NEVER_RAN or error_class == "cancelled"):
            return cls(is_answered=False)
        # Records of earlier releases know how long a call took, people included, and no more.
        took_ms = result.get("ran_ms", result.get("duration_ms"))
        is_time = isinstance(took_ms, int | float) and took_ms >= 0
        return cls(
            is_answered=True,
            is_error=status != "ok",
            took_ms=float(took_ms) if is_time else None,
        )


@define
class ToolStatistics:
    """The calls of one tool; *times* are its handler's own, without waiting for others or people.

    *answered* are those that *worked* and *errors*. Calls that were denied or interrupted, or that
    never reached the tool, are neither, since they say nothing about the tool.
    """

    tool: str
    calls: int = 0
    errors: int = 0
    denied: int = 0
    worked: int = 0
    times: Times = field(factory=Times)

    @property
    def answered(self) -> int:
        """The number of calls that the tool answered: the base of its error rate."""
        return self.worked + self.errors

    @property
    def error_rate(self) -> float:
        """The part of the calls that the tool answered that were errors, 0 to 1."""
        return self.errors / self.answered if self.errors else 0.0

    def add(self, result: Mapping[str, Any]) -> None:
        """Take the record of one call into account."""
        self.calls += 1
        call = Outcome.of_result(result)
        self.denied += call.is_denied
        self.worked += call.is_answered and not call.is_error
        self.errors += call.is_error
        if call.took_ms is not None:
            self.times.add(call.took_ms)

    def data(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data; times in milliseconds, null without any."""
        return {
            "tool": self.tool,
            "calls": self.calls,
            "answered": self.answered,
            "errors": self.errors,
            "error_rate": round(self.error_rate, 4),
            "denied": self.denied,
            "p50_ms": self.times.percentile(0.5),
            "p95_ms": self.times.percentile(0.95),
            "p99_ms": self.times.percentile(0.99),
            "max_ms": self.times.longest if self.times.count else None,
        }


@frozen
class Statistics:
    """All tools by name, how many sessions were read, and how many lines were damaged."""

    tools: Mapping[str, ToolStatistics]
    sessions: int = 0
    damaged: int = 0


def statistics(store: SessionStore, *, since: float = 0.0, tool: str = "") -> Statistics:
    """Read every journal of *store*: calls since *since*, in seconds since the epoch.

    With *tool*, of that tool only.
    """
    tools: dict[str, ToolStatistics] = {}
    damaged = 0
    for call in finished_calls(store, since=since, tool=tool):
        if call is None:
            damaged += 1
        else:
            tools.setdefault(call.tool, ToolStatistics(call.tool)).add(call.result)
    return Statistics(dict(sorted(tools.items())), len(store.ids()), damaged)


class FinishedCall(NamedTuple):
    """A finished call: its tool, the time in seconds since the epoch, and its record."""

    tool: str
    at: float
    result: Mapping[str, Any]


def finished_calls(
    store: SessionStore, *, since: float = 0.0, tool: str = ""
) -> Iterator[FinishedCall | None]:
    """Yield each call of every journal that ended since *since*, and None for each damaged line.

    With *tool*, only calls of that tool. Names that a model made up are left out.
    """
    for session_id in store.ids():
        for record in _finished_calls(store.path(session_id), since):
            if record is None:
                yield None
                continue
            result = record.data.get("result")
            result = result if isinstance(result, dict) else {}
            name = result.get("tool")
            if not isinstance(name, str) or result.get("error_class") == "unknown_tool":
                continue
            if not tool or name == tool:
                yield FinishedCall(name, record.at, result)


def _finished_calls(path: Path, since: float) -> Iterator[Record | None]:
    """Yield the record of each call that ended, and None for each damaged line.

    Lines of other kinds are not decoded. A file that is no journal has none; neither has one
    that was not written to since *since*.
    """
    try:
        descriptor = open_private(path)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mtime < since:
            return
        while line := file.readline(MAX_LINE_BYTES):
            record = Record.of_line(line) if FINISHED.match(line) else None
            if record is None and not Record.is_intact(line):
                yield None
            elif record is not None and record.at >= since:
                yield record


def missed(tool: ToolStatistics, objectives: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the objectives that a tool missed, as in "p95_ms 2,100 > 2,000".

    *objectives* has limits by tool for each of p95_ms, p99_ms and error_rate; "*" is for all tools
    without one.
    """
    lines = []
    figures = tool.data()
    for name, limit in limits_of(tool.tool, objectives).items():
        value = figures[name]
        if value is not None and value > limit:
            lines.append(f"{name} {value:,g} > {limit:,g}")
    return lines


def limits_of(tool: str, objectives: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the limits of the *objectives* for *tool*; those without one are left out."""
    limits = {name: by.get(tool, by.get("*")) for name, by in objectives.items()}
    return {name: limit for name, limit in limits.items() if limit is not None}
