"""`nanocoder eval compare A B`: tell a difference of two results from chance."""

import json
import random
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, evolve, frozen
from nanocoder import Host, UsageError, counted
from nanocoder_kit_batch import Results, failure_of
from nanocoder_kit_batch.own_files import write_page
from nanocoder_kit_batch.statistics import bootstrap, mcnemar

from nanocoder_command_eval.criteria import read_criteria
from nanocoder_command_eval.figures import Figures, dollars, number, shares
from nanocoder_command_eval.page import comparison_page, comparison_picture

FLIPS: Final = 10_000
SEED: Final = 20_250_101
LEVEL: Final = 0.05
SHOWN_PLUGINS: Final = 12
NOTES: Final = "eval.json"


@frozen
class Comparison:
    """Two results of the same tasks. *difference* is that of pass@1, with its 95 % interval.

    *p* is the p-value: of McNemar's exact test with one run a task, else of a sign-flip permutation
    test of the tasks' differences.
    """

    tasks: int
    difference: float
    low: float
    high: float
    p: float
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        """True if B solves significantly less."""
        return self.p < LEVEL and self.difference < 0

    @property
    def verdict(self) -> str:
        """The comparison in one sentence."""
        if self.p >= LEVEL:
            return f"no difference that chance does not explain (p = {self.p:.3f})"
        better = "B" if self.difference > 0 else "A"
        return f"{better} solves more (p = {self.p:.3f})"


def compare(arguments: Namespace, host: Host) -> int:
    """Compare two directories of results and print a table.

    Returns 1 when the second fails a criterion, or solves less and that was forbidden.
    """
    criteria = read_criteria(arguments.criteria)
    if len(arguments.others) != 2:  # noqa: PLR2004 - a comparison has two sides
        raise UsageError("name two directories of results: nanocoder eval compare A B")
    a, b = (_results(folder) for folder in arguments.others)
    both = {result["id"] for result in a} & {result["id"] for result in b}
    if not both:
        raise UsageError("the two results have no task in common")
    a, b = ([result for result in each if result["id"] in both] for each in (a, b))
    comparison = compared(a, b)
    sides = [
        evolve(Figures.of(name, each, {}), plugins=_plugins(name))
        for name, each in zip(arguments.others, (a, b), strict=True)
    ]
    if arguments.page:
        _write(Path(arguments.page), sides[0], sides[1], comparison)
    unmet = criteria.unmet(sides[1])
    if arguments.fail_if_worse and comparison.is_worse:
        unmet.append(f"--fail-if-worse: {comparison.verdict}")
    _show(arguments, host, sides, comparison, unmet)
    return 1 if unmet else 0


def _write(path: Path, a: Figures, b: Figures, comparison: Comparison) -> None:
    verdict = comparison.verdict
    is_picture = path.suffix == ".svg"
    picture = comparison_picture(a, b, verdict) if is_picture else ""
    write_page(path, picture or comparison_page(a, b, verdict, asdict(comparison)))


def _show(
    arguments: Namespace,
    host: Host,
    sides: Sequence[Figures],
    comparison: Comparison,
    unmet: Sequence[str],
) -> None:
    if arguments.output == "json":
        data = {**asdict(comparison), "verdict": comparison.verdict, "unmet": unmet}
        host.print_json({**data, "a": sides[0].data(), "b": sides[1].data()})
        return
    host.print_table(("figure", "A", "B"), table_of(*sides))
    host.print_line()
    interval = f"({comparison.low:+.1%} to {comparison.high:+.1%})"
    tasks = counted(comparison.tasks, "task")
    host.print_line(f"B - A: {comparison.difference:+.1%} {interval} of {tasks}")
    host.print_line(
        f"solved more often by A: {len(comparison.only_a)}, by B: {len(comparison.only_b)}"
    )
    host.print_line(comparison.verdict)
    for line in unmet:
        host.say(f"not met: {line}")


def table_of(a: Figures, b: Figures) -> list[tuple[str, str, str]]:
    """Return the figures of both sides for a table."""
    return [
        ("results", a.suite, b.suite),
        ("model", a.model, b.model),
        ("set", a.sets or "all plugins", b.sets or "all plugins"),
        ("pass@1", a.share, b.share),
        ("cost a solved run", dollars(a.cost_per_solved), dollars(b.cost_per_solved)),
        ("tokens a solved run", number(a.tokens_per_solved), number(b.tokens_per_solved)),
        ("seconds, half below", f"{a.seconds_p50:.1f}", f"{b.seconds_p50:.1f}"),
        *_differing(a.plugins, b.plugins),
    ]


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return a row for each plugin that differs, or one with how many if they are many."""
    rows = [
        (f"plugin {name}", a.get(name, "none"), b.get(name, "none"))
        for name in sorted({*a, *b})
        if a.get(name) != b.get(name)
    ]
    if len(rows) <= SHOWN_PLUGINS:
        return rows
    return [("plugins", f"{len(a):,}", f"{len(b):,}")]


def _plugins(folder: str) -> dict[str, str]:
    """Return the plugins that an evaluation recorded; none for the results of a batch."""
    try:
        notes = Path(folder) / NOTES
        data = json.loads(notes.read_text(encoding="utf-8")) if notes.is_file() else {}
        return {str(name): str(version) for name, version in data["plugins"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}


def compared(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> Comparison:
    """Compare results that have the same ids."""
    first, second = shares(a), shares(b)
    differences = {task: second[task] - first[task] for task in sorted(first)}
    # A single task has no variance.
    low, high = bootstrap([*differences.values()]) if len(differences) > 1 else (-1.0, 1.0)
    only_a = tuple(task for task, value in differences.items() if value < 0)
    only_b = tuple(task for task, value in differences.items() if value > 0)
    is_single = len(a) == len(first)
    p = mcnemar(len(only_a), len(only_b)) if is_single else flipped([*differences.values()])
    mean = sum(differences.values()) / len(differences)
    return Comparison(len(differences), mean, low, high, p, only_a, only_b)


def flipped(differences: Sequence[float]) -> float:
    """Return the p-value of a sign-flip permutation test of the mean of *differences*."""
    chance, total = random.Random(SEED), abs(sum(differences))  # noqa: S311 - repeatable, no secret
    sums = (
        abs(sum(value if chance.random() < 0.5 else -value for value in differences))  # noqa: PLR2004
        for _ in range(FLIPS)
    )
    return (1 + sum(each >= total - 1e-12 for each in sums)) / (1 + FLIPS)


def _results(folder: str) -> list[dict[str, Any]]:
    results = list(Results(Path(folder)))
    if not results:
        raise UsageError(
            f"{folder!r} has no results (results.jsonl); name a folder that"
            " `nanocoder eval SUITE --results` has filled"
        )
    for result in results:
        failure_of(result)  # a line without its fields is refused here
    return results
