"""A day of 200 calls, as an agent makes them in a project: how often is a person asked?"""

import json
import subprocess
from pathlib import Path

import pytest
from nanocoder import Event, Mode, SessionInfo
from nanocoder_policy_rules import nanocoder_event

CALLS = [
    json.loads(line)
    for line in Path(__file__).with_name("everyday_calls.jsonl").read_text().splitlines()
]
MOST_IN_THE_SANDBOX = 10
MOST_WITHOUT = 60


@pytest.fixture(autouse=True)
def _project(tmp_path):
    for folder in ("src", "tests", "scripts", "build"):
        (tmp_path / folder).mkdir()
    for name in ("parser", "writer", "config", "cache", "server", "client", "schema", "old"):
        (tmp_path / f"src/{name}.py").write_text("a = 1\n")
        (tmp_path / f"tests/test_{name}.py").write_text("x = 1\n")
    for name in ("README.md", "pyproject.toml", "scripts/serve.py"):
        (tmp_path / name).write_text("x\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)


def asked(judge, tmp_path, **how):
    """Return the calls that ask, of a person who grants for the project whatever is offered."""
    questions = []
    for call in CALLS:
        verdict = judge(call["tool"], call["arguments"], "edits", **how)
        assert verdict.decision != "deny", (call, verdict.reason)
        if verdict.decision != "ask":
            continue
        questions.append(call)
        if verdict.grants:
            data = {"scope": "project", "grants": verdict.grants, "lasts_s": 0.0, "always": False}
            nanocoder_event(
                Event("call.approved", data, "1"), SessionInfo("s", tmp_path, Mode.EDITS)
            )
    return questions


@pytest.mark.contract("E1", "C9")
def test_a_day_in_the_sandbox_asks_at_most_ten_times(judge, tmp_path):
    assert len(CALLS) == 200
    questions = asked(judge, tmp_path, sandbox="bwrap", sandboxed="allow")
    assert len(questions) <= MOST_IN_THE_SANDBOX, questions


@pytest.mark.contract("C9")
def test_a_day_without_a_sandbox_asks_at_most_sixty_times(judge, tmp_path):
    questions = asked(judge, tmp_path)
    assert len(questions) <= MOST_WITHOUT, questions
