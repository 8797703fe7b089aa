"""HumanEval's own solutions pass, and files without a body fail."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import nanocoder_eval_humaneval as plugin
import pytest

TASKS = {task.name: task for task in plugin.nanocoder_resources()[0].open(None, None)}


def passes(task, folder, files):
    folder.mkdir()
    task.lay_out(folder)
    for path, text in files.items():
        (folder / path).write_text(text)
    words = ["sh", "-c", task.command]
    return subprocess.run(words, cwd=folder, check=False, capture_output=True).returncode == 0


def test_there_are_164_functions():
    assert len(TASKS) == 164
    assert next(iter(TASKS)) == "000-has_close_elements"
    assert {task.kind for task in TASKS.values()} == {"edit"}


@pytest.mark.timeout(300)
@pytest.mark.full
def test_each_solution_passes_and_each_untouched_folder_fails(tmp_path):
    def judge(name):
        task = TASKS[name]
        (tmp_path / name).mkdir()
        untouched = passes(task, tmp_path / name / "untouched", {})
        return untouched, passes(task, tmp_path / name / "solved", task.solution)

    with ThreadPoolExecutor(2) as threads:
        wrong = [
            name
            for name, judged in zip(TASKS, threads.map(judge, TASKS), strict=True)
            if judged != (False, True)
        ]
    assert wrong == []


def test_a_file_that_ends_the_program_does_not_pass(tmp_path):
    task = TASKS["000-has_close_elements"]
    assert not passes(task, tmp_path / "a", {"solution.py": "raise SystemExit\n"})
    assert not passes(task, tmp_path / "b", {"solution.py": "import os\nos._exit(0)\n"})


@pytest.mark.contract("K3")
@pytest.mark.timeout(200)
def test_the_command_judges_what_a_model_wrote(nanocoder):
    def solved(name):
        (task,) = [task for task in TASKS.values() if task.name.startswith(name)]
        content = task.solution["solution.py"]
        call = {"name": "write_file", "arguments": {"path": "solution.py", "content": content}}
        turns = [{"calls": [{"name": "read_file", "arguments": {"path": "solution.py"}}]}]
        turns += [{"calls": [call]}, {"text": "Done."}]
        (nanocoder.cwd / "model.json").write_text(json.dumps({"turns": turns}))
        words = ("--results", name, "--only", "000", "--model", "scripted/model.json")
        done = nanocoder("eval", "humaneval", *words, "--output", "json", timeout=150)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)["solved"]

    assert solved("000") == 1
    assert solved("001") == 0  # the solution of another function
