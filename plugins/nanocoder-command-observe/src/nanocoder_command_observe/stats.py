"""`nanocoder stats`: how long calls take and how often they fail, against the objectives."""

import math
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nanocoder import Host, UsageError
from nanocoder_kit_files.table import print_table
from nanocoder_kit_sessions import session_store

from nanocoder_command_observe.burn_rate import MIN_CALLS, BurnRate, burn_rates
from nanocoder_command_observe.statistics import Statistics, missed, statistics

DAY_S: Final = 86_400.0
NO_DAYS: Final = (
    "--days {} is not valid: give more than 0, as in --days 7, or leave it out to count every call"
)
DAYS_AND_BURN_RATE: Final = "--burn-rate has times of its own: leave --days out"
NO_OBJECTIVES: Final = (
    "{} needs an objective: set one as in"
    " `nanocoder config set plugins.command-observe.error_rate '{{\"*\" = 0.05}}'`"
)
BURN_HEAD: Final = (
    *("tool", "objective", "window", "calls"),
    *("burn rate", "at its end", "alert from", "state"),
)
HEAD: Final = (
    *("tool", "calls", "answered", "errors", "denied"),
    *("p50", "p95", "p99", "max", "objectives"),
)


def run(arguments: Namespace, host: Host, objectives: Mapping[str, Mapping[str, float]]) -> int:
    """Print the figures; with --check, return 1 when one of the *objectives* is missed."""
    if arguments.burn_rate:
        return _print_burn_rates(arguments, host, objectives)
    figures = statistics(
        session_store(host), since=_since(arguments.days), tool=arguments.tool or ""
    )
    rows = [
        {**tool.data(), "missed": missed(tool, objectives), "judged": _is_judged(name, objectives)}
        for name, tool in figures.tools.items()
    ]
    if arguments.output == "json":
        data = {"sessions": figures.sessions, "damaged_lines": figures.damaged, "tools": rows}
        host.print_json(data)
    else:
        _print(host, rows, figures, arguments)
    if arguments.check and not any(objectives.values()):
        host.say(f"nothing was checked: {NO_OBJECTIVES.format('--check')}")
    return 1 if arguments.check and any(row["missed"] for row in rows) else 0


def _print_burn_rates(
    arguments: Namespace, host: Host, objectives: Mapping[str, Mapping[str, float]]
) -> int:
    if arguments.days is not None:
        raise UsageError(DAYS_AND_BURN_RATE)
    if not any(objectives.values()):
        raise UsageError(NO_OBJECTIVES.format("--burn-rate"))
    store = session_store(host)
    rates = burn_rates(store, objectives, time.time(), tool=arguments.tool or "")
    if arguments.output == "json":
        host.print_json({"burn_rates": [rate.data() for rate in rates]})
    elif rates:
        print_table(BURN_HEAD, [_burn_cells(rate) for rate in rates])
    else:
        host.print_line("No calls in the last 3 days that an objective judges.")
    return 1 if arguments.check and any(rate.is_alert for rate in rates) else 0


def _burn_cells(rate: BurnRate) -> tuple[Any, ...]:
    few = f"too few calls (below {MIN_CALLS})" if rate.calls < MIN_CALLS else "ok"
    figures = (f"{rate.long:,.1f}", f"{rate.short:,.1f}", f"{rate.limit:,.1f}")
    verdict = "alert" if rate.is_alert else few
    return (rate.tool, rate.objective, rate.window, rate.calls, *figures, verdict)


def _since(days: float | None) -> float:
    """Return the time *days* ago, for None the epoch; raises UsageError for an invalid number."""
    if days is None:
        return 0.0
    if not 0 < days < math.inf:
        raise UsageError(NO_DAYS.format(f"{days:g}"))
    return time.time() - days * DAY_S


def _is_judged(tool: str, objectives: Mapping[str, Mapping[str, float]]) -> bool:
    return any(tool in limits or "*" in limits for limits in objectives.values())


def _print(
    host: Host, rows: Sequence[Mapping[str, Any]], figures: Statistics, arguments: Namespace
) -> None:
    if rows:
        print_table(HEAD, [_cells(row) for row in rows])
    else:
        tool = f" of {arguments.tool!r}" if arguments.tool else ""
        days = f" in the last {arguments.days:g} days" if arguments.days else ""
        host.print_line(f"No calls{tool}{days} (sessions kept: {figures.sessions}).")
    if figures.damaged:
        host.print_line(f"{figures.damaged} damaged lines were skipped.")


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    times = (_milliseconds(row[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms"))
    # Avoid 0/0: a tool whose every call was refused has no error rate.
    errors = f"{row['errors']} ({row['error_rate']:.1%})" if row["answered"] else "0"
    verdict = "ok" if row["judged"] else "none"
    if row["missed"]:
        verdict = f"missed: {', '.join(row['missed'])}"
    counts = (row["calls"], row["answered"], errors, row["denied"])
    return (row["tool"], *counts, *times, verdict)


def _milliseconds(duration: float | None) -> str:
    return "" if duration is None else f"{duration:,.1f} ms"
