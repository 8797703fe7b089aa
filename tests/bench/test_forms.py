"""Forms are compared on the tasks that both did, and a run that was ended goes on."""

from argparse import ArgumentParser
from pathlib import Path

import forms
import pytest
from forms import Outcome


def test_forms_are_compared_on_the_tasks_that_both_did() -> None:
    outcomes = [Outcome(f"T/{number}", "model", number < 6, 1.0) for number in range(10)]
    outcomes += [Outcome(f"T/{number}", "agent", number < 4, 2.0) for number in range(8)]
    points, half, both = forms.difference(outcomes)
    assert (points, both) == (-0.25, 8)
    assert half == pytest.approx(0.3, abs=0.01)
    lines = list(forms.summary(outcomes))
    assert lines[0] == "| model | 6 of 10 | 31% to 83% | 1.0 |"
    assert lines[-1] == "agent less model: -25.0 points (± 30.0) on 8 tasks"


def test_a_run_does_each_task_once_in_each_form_and_goes_on_where_it_was_ended(
    tmp_path: Path,
) -> None:
    attempts: list[tuple[str, str]] = []

    def attempt(task: str, form: str) -> Outcome:
        attempts.append((task, form))
        return Outcome(task, form, solved=True, seconds=1.0)

    def outcomes_of(*arguments: str) -> list[Outcome]:
        parser = ArgumentParser()
        forms.add_options(parser)
        options = parser.parse_args([*arguments, "--json", str(tmp_path / "outcomes.jsonl")])
        return forms.measure({"a": "a", "b": "b"}, attempt, options)

    assert len(outcomes_of("--form", "agent")) == 2
    assert len(outcomes_of()) == 4
    assert attempts == [("a", "agent"), ("b", "agent"), ("a", "model"), ("b", "model")]
