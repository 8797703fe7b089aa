"""The summary page of a batch: solved tasks, costs, and reasons of failures."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from nanocoder import counted, one_line

from nanocoder_kit_batch.charts import Interval, bars, figures, histogram, intervals
from nanocoder_kit_batch.incident import IncidentNote
from nanocoder_kit_batch.own_files import write_own
from nanocoder_kit_batch.page import facts, page, table
from nanocoder_kit_batch.results import Results
from nanocoder_kit_batch.running import Batch
from nanocoder_kit_batch.statistics import wilson
from nanocoder_kit_batch.tally import Tally, failure_of, price_of, quantile, reason_of

SHOWN_FAILURES: Final = 200
SHOWN_GROUPS: Final = 20
BRIEF: Final = 140


def summary_page(
    title: str,
    results: Iterable[Mapping[str, Any]],
    tasks: int,
    note: IncidentNote | None = None,
) -> str:
    """Return the page for *results* of a number of *tasks*; an incident comes first."""
    tally, groups = Tally(), defaultdict[str, Tally](Tally)
    failed: list[Mapping[str, Any]] = []
    for result in results:
        tally.add(result)
        groups[group_of(result)].add(result)
        if failure_of(result) and len(failed) < SHOWN_FAILURES:
            failed.append(result)
    missing = tasks - tally.total
    lead = f"{counted(tally.total, 'result')} of {counted(tasks, 'task')}"
    lead += f"; {missing:,} are still to do" if missing else ""
    incident = [facts(note.rows(datetime.now(UTC)))] if note else []
    parts = [*incident, _facts(tally), figures(_charts(tally, groups))]
    if failed:
        limit = f", the first {SHOWN_FAILURES}" if tally.failed > len(failed) else ""
        parts += [f"<h2>{counted(tally.failed, 'failed task')}{limit}</h2>", _failures(failed)]
    return page(title, lead, parts)


def group_of(result: Mapping[str, Any]) -> str:
    """Return the group of a result in comparisons: its model, and its set if it has one."""
    model = result["model"] or "no model"
    return f"{model} ({result['set']})" if result.get("set") else str(model)


def _facts(tally: Tally) -> str:
    share = tally.solved / tally.total if tally.total else 0.0
    cost = "unknown" if tally.cost is None else price_of(tally.cost)
    each = tally.cost / tally.solved if tally.cost is not None and tally.solved else None
    return facts(
        {
            "solved": f"{share:.1%}",
            "failed": f"{tally.failed:,}",
            "cost": cost,
            "cost a solved task": "unknown" if each is None else price_of(each),
            "tokens a task": f"{sum(tally.tokens) / max(1, tally.total):,.0f}",
            "seconds a task": f"{quantile(tally.seconds, 0.5):.1f}",
        }
    )


def _charts(tally: Tally, groups: Mapping[str, Tally]) -> Iterable[str]:
    rows = [
        Interval(name, group.solved / group.total, *wilson(group.solved, group.total))
        for name, group in list(groups.items())[:SHOWN_GROUPS]
    ]
    yield intervals("Solved, with the 95 % interval", rows)
    yield bars("Failures by class", dict(tally.failures.most_common(12)), lambda n: f"{n:,.0f}")
    yield histogram("Cost of a task", tally.costs, lambda value: f"${value:.4f}")
    yield histogram("Tokens of a task", tally.tokens, lambda value: f"{value:,.0f}")
    yield histogram("Seconds of a task", tally.seconds, lambda value: f"{value:.1f} s")


def _failures(failed: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        (
            result["id"],
            failure_of(result),
            one_line(reason_of(result), BRIEF) or "-",
            result.get("session_id", "") or "-",
        )
        for result in failed
    ]
    return table(("task", "class", "message", "session"), rows)


def write_summary(path: Path, title: str, batch: Batch, note: IncidentNote | None = None) -> None:
    """Write the page about the results of a batch to *path*."""
    results = batch.results_of_tasks(Results(batch.folder))
    text = summary_page(title, results, len({task.key for task in batch.tasks}), note)
    write_own(path.parent, path.name, [text.encode()])
