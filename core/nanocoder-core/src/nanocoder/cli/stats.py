"""`nanocoder stats`: how long calls take and how often they fail, against what was agreed."""

import argparse
import math
import time
from typing import Any

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import UsageError
from nanocoder.session.statistics import Statistics, missed, statistics
from nanocoder.session.store import SessionStore

DAY_S = 86_400.0
NO_DAYS = (
    "--days {} is not valid: give more than 0, as in --days 7, or leave it out to count every call"
)
HEAD = ("tool", "calls", "answered", "errors", "denied", "p50", "p95", "p99", "max", "objectives")


def run(arguments: argparse.Namespace) -> int:
    """Print the figures; with --check, return 1 when an objective is missed."""
    host = Host(arguments.cwd)
    store = SessionStore.of_user(warn=host.say)
    found = statistics(store.folder, since=_since(arguments.days), tool=arguments.tool)
    table = host.config.objectives
    objectives = {name: getattr(table, name) for name in ("p95_ms", "p99_ms", "error_rate")}
    rows = [
        {**one.data(), "missed": missed(one, objectives), "judged": _is_judged(name, objectives)}
        for name, one in found.tools.items()
    ]
    if arguments.output == "json":
        print_json({"sessions": found.sessions, "damaged_lines": found.damaged, "tools": rows})
    else:
        _print(rows, found, _asked(arguments))
    return 1 if arguments.check and any(row["missed"] for row in rows) else 0


def _since(days: float | None) -> float:
    """Return the time *days* ago, None: the epoch; raises UsageError for no number of days."""
    if days is None:
        return 0.0
    if not 0 < days < math.inf:
        raise UsageError(NO_DAYS.format(f"{days:g}"))
    return time.time() - days * DAY_S


def _asked(arguments: argparse.Namespace) -> str:
    """Say which calls were asked for, when not all."""
    tool = f" of {arguments.tool!r}" if arguments.tool else ""
    days = f" in the last {arguments.days:g} days" if arguments.days else ""
    return tool + days


def _is_judged(tool: str, objectives: dict[str, dict[str, float]]) -> bool:
    return any(tool in limits or "*" in limits for limits in objectives.values())


def _print(rows: list[dict[str, Any]], found: Statistics, asked: str) -> None:
    if not rows:
        print_line(f"No calls{asked} (sessions kept: {found.sessions}).")
    else:
        print_table(HEAD, [_cells(row) for row in rows])
    if found.damaged:
        print_line(f"{found.damaged} damaged lines were skipped.")


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    met = "ok" if row["judged"] else "none"
    times = (_shown(row[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms"))
    # Of nothing there is no part: a tool that was only refused has no error rate.
    errors = f"{row['errors']} ({row['error_rate']:.1%})" if row["answered"] else "0"
    said = f"missed: {', '.join(row['missed'])}" if row["missed"] else met
    counts = (row["calls"], row["answered"], errors, row["denied"])
    return (row["tool"], *counts, *times, said)


def _shown(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds:,.1f} ms"
