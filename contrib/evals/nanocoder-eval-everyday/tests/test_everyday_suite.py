"""The suite judges as its tasks say: their solutions pass, and untouched folders fail."""

import subprocess

import nanocoder_eval_everyday as plugin
import pytest

TASKS = {task.name: task for task in plugin.nanocoder_resources()[0].open(None, None)}


def passes(task, folder, answer):
    done = subprocess.run(
        ["sh", "-c", task.command],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "NANOCODER_ANSWER": answer},
        check=False,
        capture_output=True,
    )
    return done.returncode == 0


def test_there_are_forty_tasks_of_four_kinds():
    assert len(TASKS) == 40
    assert {task.kind for task in TASKS.values()} == {"read", "run", "make", "edit"}


@pytest.mark.rows(5)
@pytest.mark.parametrize("name", TASKS)
def test_a_solution_passes_and_an_untouched_folder_fails(name, tmp_path):
    task = TASKS[name]
    task.lay_out(tmp_path)
    assert not passes(task, tmp_path, "Done.")
    for path, text in task.solution.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert passes(task, tmp_path, task.answer)
