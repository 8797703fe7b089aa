"""The examples of the tasks solve them, and untouched folders or other numbers do not."""

import json
import os
import runpy
import subprocess
from pathlib import Path

import nanocoder_eval_shell as plugin
import pytest

TASKS = {task.name: task for task in plugin.nanocoder_resources()[0].open(None, None)}
PACK = runpy.run_path(str(Path(__file__).with_name("pack.py")))
EXAMPLES = {row["name"]: row["example"] for row in json.loads(plugin.DATA.read_text())}


def passes(task, folder, answer):
    environment = {"PATH": os.environ["PATH"], "NANOCODER_ANSWER": answer}
    words = ["sh", "-c", task.command]
    done = subprocess.run(words, cwd=folder, env=environment, check=False, capture_output=True)
    return done.returncode == 0


def example(name, folder):
    """Run the example of a task, and return what it prints."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    words = ["bash", "-c", EXAMPLES[name]]
    done = subprocess.run(
        words, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_there_are_64_tasks_and_each_that_is_left_out_has_one_reason():
    assert len(TASKS) == 64
    absent = [number for numbers in PACK["LEFT_OUT"].values() for number in numbers]
    assert len(absent) == len(set(absent)) == 119 - 64
    assert not {f"{number:03}" for number in absent} & {name[:3] for name in TASKS}


@pytest.mark.timeout(200)
@pytest.mark.rows(6)
@pytest.mark.parametrize("name", TASKS)
def test_the_example_passes_and_an_untouched_folder_fails(name, tmp_path):
    task = TASKS[name]
    task.lay_out(tmp_path)
    assert not passes(task, tmp_path, "The result is\n\n123456789")
    result = example(name, tmp_path)
    assert result == task.answer
    assert passes(task, tmp_path, f"I counted.\n\n**{result}**")


def test_a_question_is_not_solved_when_a_file_has_changed(tmp_path):
    (task,) = [task for task in TASKS.values() if task.name.startswith("060")]
    task.lay_out(tmp_path)
    assert passes(task, tmp_path, "90")
    assert not passes(task, tmp_path, "")
    assert not passes(task, tmp_path, "90\nThat was it.")
    (tmp_path / "reports/report1.txt").write_text("16\n")
    assert not passes(task, tmp_path, "90")


@pytest.mark.contract("K3")
@pytest.mark.timeout(200)
def test_the_command_judges_what_a_model_answers(nanocoder):
    call = {"name": "read_file", "arguments": {"path": "task_directory/file1.txt"}}

    def solved(answer):
        turns = [{"calls": [call]}, {"text": f"The sum:\n{answer}"}]
        (nanocoder.cwd / "model.json").write_text(json.dumps({"turns": turns}))
        words = ("--results", f"r{answer}", "--only", "048", "--model", "scripted/model.json")
        done = nanocoder("eval", "shell", *words, "--output", "json", timeout=150)
        assert (done.returncode, done.stderr) == (0, "")
        figures = json.loads(done.stdout)
        return figures["solved"], figures["failures"]

    assert solved("1965") == (1, {})
    assert solved("1964") == (0, {"check_failed": 1})
