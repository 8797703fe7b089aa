"""Harbor runs nanocoder once: a task, its environment, a scripted model, the task's own tests."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CALL = {"name": "write_file", "arguments": {"path": "out.txt", "content": "hi\n"}}
USAGE = {"input_tokens": 100, "output_tokens": 20, "cost": 0.001}
TASK = """
version = "1.0"
[environment]
cpus = 1
"""
TEST = """#!/bin/sh
if [ "$(cat /app/out.txt)" = hi ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
HERE = Path(__file__).parent


@pytest.fixture
def program():
    beside = Path(sys.executable).with_name("nanocoder")
    return beside if beside.exists() else Path(shutil.which("nanocoder"))


@pytest.fixture
def harbor(tmp_path, program):
    """Run the task with these turns of the model; return the result of its trial."""
    task = tmp_path / "task"
    for name in ("environment", "tests"):
        (task / name).mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Write hi into out.txt; don't say 'done' twice.\n")
    (task / "environment/Dockerfile").write_text("FROM debian:13\n")
    (task / "tests/test.sh").write_text(TEST)
    script = tmp_path / "script.json"
    repository = program.resolve().parents[3]
    interpreter = program.with_name("python").resolve()
    shown = (tmp_path, repository, Path(sys.base_prefix), interpreter.parents[1])
    paths = f"{program.parent}:/usr/bin:/bin"

    def run(*turns, words=""):
        script.write_text(json.dumps({"turns": turns}))
        command = [str(Path(sys.executable).with_name("harbor")), "run", "-p", str(task), "-y"]
        command += ["--agent", "nanocoder_harbor:Nanocoder", "-m", f"scripted/{script}"]
        command += ["--ak", f"words={words}", "--ae", f"PATH={paths}", "--env", "rooted:Rooted"]
        command += ["--ek", f"shown={':'.join(map(str, dict.fromkeys(shown)))}"]
        command += ["--jobs-dir", str(tmp_path / "jobs"), "--job-name", "job"]
        places = {"PYTHONPATH": str(HERE), "HOME": str(tmp_path)}
        environment = {**os.environ, **places, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        [result] = (tmp_path / "jobs/job").glob("*/result.json")
        return json.loads(result.read_text())

    return run


def test_a_task_is_solved_and_its_tokens_and_cost_are_told(harbor):
    trial = harbor({"calls": [CALL], "usage": USAGE}, {"text": "Done.", "usage": USAGE})
    assert trial["exception_info"] is None
    assert trial["verifier_result"]["rewards"] == {"reward": 1.0}
    assert trial["agent_info"]["name"] == "nanocoder"
    assert trial["agent_info"]["version"][0].isdigit()
    told = trial["agent_result"]
    assert (told["n_input_tokens"], told["n_output_tokens"], told["cost_usd"]) == (200, 40, 0.002)
    assert told["metadata"]["stop_reason"] == "done"
    assert told["metadata"]["files_changed"] == ["out.txt"]


def test_a_run_that_a_limit_ends_is_judged_by_the_tests_as_well(harbor):
    trial = harbor({"calls": [CALL]}, {"text": "Done."}, words="--max-turns 1")
    assert trial["exception_info"] is None
    assert trial["agent_result"]["metadata"]["stop_reason"] == "turn_limit"
    assert trial["verifier_result"]["rewards"] == {"reward": 1.0}


def test_what_is_no_run_is_a_broken_trial(harbor):
    trial = harbor({"text": "Done."}, words="--no-such-word")
    assert trial["exception_info"]["exception_type"] == "NonZeroAgentExitCodeError"
