"""The everyday tasks judge rightly: an untouched folder fails, and a solution passes."""

from collections import Counter
from pathlib import Path

import everyday
import pytest

TASKS = {task.name: task for task in everyday.tasks()}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("answer", ["", "I have done what you asked for."])
def test_an_untouched_folder_fails(name: str, answer: str, tmp_path: Path) -> None:
    everyday.lay_out(TASKS[name].files, tmp_path)
    assert not everyday.is_solved(TASKS[name], tmp_path, answer)


@pytest.mark.parametrize("name", TASKS)
def test_a_solution_passes(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    everyday.lay_out(task.files, tmp_path)
    everyday.lay_out(task.solution, tmp_path)
    assert everyday.is_solved(task, tmp_path, task.answer)


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if task.answer])
def test_a_question_is_no_order_to_change_files(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    everyday.lay_out(dict.fromkeys(task.files, "changed\n"), tmp_path)
    assert not everyday.is_solved(task, tmp_path, task.answer)


def test_both_halves_ask_for_everything() -> None:
    kinds = Counter((task.half, task.kind) for task in TASKS.values())
    assert len(TASKS) == 40
    assert sum(count for (half, _), count in kinds.items() if half == "tuned") == 20
    assert len(kinds) == 8
