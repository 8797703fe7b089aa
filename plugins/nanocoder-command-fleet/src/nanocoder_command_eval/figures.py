"""The figures of one evaluation: pass@1 with its interval, costs, tokens, times, failures."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from attrs import field, frozen
from nanocoder_kit_batch import failure_of, quantile
from nanocoder_kit_batch.statistics import bootstrap, wilson
from nanocoder_kit_batch.tally import tokens_of

NEARLY_ALL: Final = 0.95


def task_of(result: Mapping[str, Any]) -> str:
    """Return the name of a result's task, without the number of the run."""
    return str(result["id"]).rpartition("#")[0]


def shares(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return by task in how many of its runs it was solved, from 0 to 1."""
    runs = defaultdict[str, list[bool]](list)
    for result in results:
        runs[task_of(result)].append(not failure_of(result))
    return {task: sum(solved) / len(solved) for task, solved in runs.items()}


def pass_at(results: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    """Return, for each k that every task has runs for, the mean chance that one of k runs solves.

    It is the estimate without bias: 1 - C(n - c, k) / C(n, k) for c solved ones of n runs.
    """
    counts = list(_solved_and_runs(results, task_of).values())
    most = min((runs for _, runs in counts), default=0)
    return {
        k: sum(1 - math.comb(runs - solved, k) / math.comb(runs, k) for solved, runs in counts)
        / len(counts)
        for k in range(1, most + 1)
    }


@frozen
class Figures:
    """The outcome of an evaluation.

    *low* and *high* are the ends of the 95 % interval of *pass_at_1*. They are Wilson's with one
    run a task, and else from a bootstrap over the tasks; if all tasks have the same share, which a
    bootstrap cannot vary, Wilson's with each task as one run. *pass_at* has, for each k up to the
    number of runs, the probability that at least one of k runs solves a task. Costs are in US
    dollars, None if unknown. *plugins* has the versions of the plugins in use.
    """

    suite: str
    model: str
    tasks: int
    runs: int
    solved: int
    pass_at_1: float
    low: float
    high: float
    pass_at: Mapping[int, float]
    cost: float | None
    cost_per_solved: float | None
    tokens_per_solved: float | None
    seconds_p50: float
    seconds_p95: float
    failures: Mapping[str, int]
    kinds: Mapping[str, tuple[int, int]]
    sets: str = ""
    plugins: Mapping[str, str] = field(factory=dict)

    @classmethod
    def of(cls, suite: str, results: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> Self:
        """Return the figures of *results*; *kinds* has the kind of each task."""
        by_task = shares(results)
        solved = [result for result in results if not failure_of(result)]
        low, high = bootstrap([*by_task.values()])
        if len(results) == len(by_task) or low == high:
            low, high = wilson(sum(by_task.values()), len(by_task))
        costs = [result["cost"] for result in results if result["cost"] is not None]
        cost = sum(costs) if costs else None
        seconds = [result.get("seconds", 0.0) for result in results]
        count = len(solved)
        return cls(
            suite=suite,
            model=_names(results, "model"),
            sets=_names(results, "set"),
            tasks=len(by_task),
            runs=len(results),
            solved=count,
            pass_at_1=sum(by_task.values()) / max(1, len(by_task)),
            low=low,
            high=high,
            pass_at=pass_at(results),
            cost=cost,
            cost_per_solved=cost / count if cost is not None and count else None,
            tokens_per_solved=sum(map(tokens_of, results)) / count if count else None,
            seconds_p50=quantile(seconds, 0.5),
            seconds_p95=quantile(seconds, NEARLY_ALL),
            failures=dict(Counter(filter(None, map(failure_of, results))).most_common()),
            kinds=_solved_and_runs(results, lambda result: kinds.get(task_of(result), "")),
        )

    @property
    def pass_at_k(self) -> float:
        """The share of tasks that at least one of all runs solves."""
        return self.pass_at[max(self.pass_at)] if self.pass_at else 0.0

    @property
    def share(self) -> str:
        """The share of solved runs, with its interval."""
        return f"{self.pass_at_1:.1%} ({self.low:.1%} to {self.high:.1%})"

    def data(self) -> dict[str, Any]:
        """Return the figures ready for JSON."""
        names = [attribute.name for attribute in type(self).__attrs_attrs__]
        return {name: getattr(self, name) for name in names}

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures for a table."""
        rows = [
            ("suite", self.suite),
            ("model", self.model),
            ("tasks and runs", f"{self.tasks:,} and {self.runs:,}"),
            ("pass@1", self.share),
            *((f"pass@{k}", f"{share:.1%}") for k, share in self.pass_at.items() if k > 1),
            ("cost", dollars(self.cost)),
            ("cost a solved run", dollars(self.cost_per_solved)),
            ("tokens a solved run", number(self.tokens_per_solved)),
            ("seconds, half and 95 % below", f"{self.seconds_p50:.1f} and {self.seconds_p95:.1f}"),
        ]
        named = [(kind, *counts) for kind, counts in self.kinds.items() if kind]
        return rows + [(f"solved: {kind}", f"{solved} of {runs}") for kind, solved, runs in named]


def dollars(value: float | None) -> str:
    """Return an amount of money for a table."""
    return "unknown" if value is None else f"${value:.4f}"


def number(value: float | None) -> str:
    """Return a whole number for a table."""
    return "none" if value is None else f"{value:,.0f}"


def _names(results: Iterable[Mapping[str, Any]], key: str) -> str:
    return ", ".join(sorted({str(result[key]) for result in results if result.get(key)}))


def _solved_and_runs(
    results: Iterable[Mapping[str, Any]], group_of: Callable[[Mapping[str, Any]], str]
) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for result in results:
        group = group_of(result)
        solved, runs = counts.get(group, (0, 0))
        counts[group] = solved + (not failure_of(result)), runs + 1
    return dict(sorted(counts.items()))
