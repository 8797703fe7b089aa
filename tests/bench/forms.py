"""Do tasks with the model alone and through the whole agent, and compare what both solve.

Both forms get the same tasks. An outcome is a line of a file, where a run that was ended goes on.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from attrs import asdict, frozen

FORMS: Final = ("model", "agent")
Z_95: Final = 1.96

Task = TypeVar("Task")


@frozen
class Outcome:
    """What became of one task in one form."""

    task_id: str
    form: str
    solved: bool
    seconds: float
    stopped: str = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command lines of all comparisons have in common."""
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--model", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--json", type=Path, help="a line for each outcome; a run goes on there")


def measure(
    tasks: Mapping[str, Task],
    attempt: Callable[[Task, str], Outcome],
    options: argparse.Namespace,
) -> list[Outcome]:
    """Return the outcomes of *tasks*, by their ids, and those that an earlier run wrote."""
    outcomes = remembered(options.json)
    done = {(outcome.task_id, outcome.form) for outcome in outcomes}
    # Form after form: two copies of the model at once would not fit into every machine.
    for form in (options.form,) if options.form else FORMS:
        for task_id, task in tasks.items():
            if (task_id, form) in done:
                continue
            outcome = attempt(task, form)
            outcomes.append(outcome)
            mark = "solved" if outcome.solved else "-"
            print(f"{outcome.task_id:20} {form} {mark:7} {outcome.seconds:6.1f} s", flush=True)
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
    return outcomes


def remembered(file: Path | None) -> list[Outcome]:
    """Return the outcomes that an earlier run wrote."""
    if file is None or not file.exists():
        return []
    return [Outcome(**json.loads(line)) for line in file.read_text().splitlines()]


def interval(solved: int, of: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share, by Wilson's formula."""
    share, square = solved / of, Z_95**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z_95 * math.sqrt(share * (1 - share) / of + square / (4 * of**2)) / (1 + square / of)
    return middle - half, middle + half


def difference(outcomes: Sequence[Outcome]) -> tuple[float, float, int]:
    """Return agent less model over the common tasks, half its 95 % interval, and how many.

    Both did the same tasks, so the interval is that of paired shares.
    """
    solved = {(outcome.task_id, outcome.form): outcome.solved for outcome in outcomes}
    both = [task for task, form in solved if form == "agent" and (task, "model") in solved]
    gained = sum(solved[task, "agent"] > solved[task, "model"] for task in both)
    lost = sum(solved[task, "agent"] < solved[task, "model"] for task in both)
    of = max(1, len(both))
    half = Z_95 * math.sqrt(max(0.0, gained + lost - (gained - lost) ** 2 / of)) / of
    return (gained - lost) / of, half, len(both)


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line for each form, and one for the difference."""
    for form in FORMS:
        of_form = [outcome for outcome in outcomes if outcome.form == form]
        if of_form:
            solved = sum(outcome.solved for outcome in of_form)
            least, most = interval(solved, len(of_form))
            seconds = sum(outcome.seconds for outcome in of_form) / len(of_form)
            figures = f"{solved} of {len(of_form)} | {least:.0%} to {most:.0%} | {seconds:.1f}"
            yield f"| {form} | {figures} |"
    points, half, both = difference(outcomes)
    if both:
        figures = f"{100 * points:+.1f} points (± {100 * half:.1f})"
        yield f"agent less model: {figures} on {both} tasks"
