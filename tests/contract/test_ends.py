"""How a run ends: stop_reason, exit code and the last line agree, as the page of errors says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/errors.md"
READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}}]}
OTHER = {"calls": [{"name": "write_file", "arguments": {"path": "ok/c.txt", "content": "x"}}]}
BROKEN = {"calls": [{"name": "write_file", "arguments": {"path": "b.txt"}}]}
LEAVE = {"calls": [{"name": "read_file", "arguments": {"path": "/etc/hostname"}}]}
ANSWER = {"text": "The answer."}
RULE = '[plugins.policy-rules]\ndeny = ["write_file(b.txt)"]\n'

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def run(tmp_path):
    """Return a function that plays turns, and returns the report, the exit code and both texts."""
    work = tmp_path / "work"
    (tmp_path / "config/nanocoder").mkdir(parents=True)
    work.mkdir()
    (work / "a.txt").write_text("a\n")
    script = tmp_path / "turns.json"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NANOCODER_")}
    places = {f"XDG_{name.upper()}_HOME": str(tmp_path / name) for name in ("config", "state")}

    def start(*words):
        command = [sys.executable, "-m", "nanocoder", "run", "go", *words]
        more = ("--model", f"scripted/{script}", "--cwd", str(work))
        return subprocess.run(
            [*command, *more],
            env={**kept, **places, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def play(turns, *words, rules=""):
        (tmp_path / "config/nanocoder/config.toml").write_text(rules)
        script.write_text(json.dumps({"turns": turns}))
        as_text, as_json = start(*words), start(*words, "--output", "json")
        assert as_text.returncode == as_json.returncode
        return json.loads(as_json.stdout), as_text

    return play


def codes():
    """Return the exit code of each stop_reason, as the page has it."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return {reason: int(code) for reason, code in rows}


AUTO = ("--mode", "auto")
ENDS = {
    "a plain answer": (([READ, ANSWER],), "", "done", ""),
    "a call outside the workspace": (([LEAVE, ANSWER], *AUTO), "", "done", ""),
    "what plan mode denies": (([WRITE, ANSWER], "--mode", "plan"), "", "done", ""),
    "a missing approval": (
        ([WRITE, ANSWER],),
        "",
        "approval_needed",
        "nanocoder: write_file needed approval, and no person could give it",
    ),
    "a missing approval and a later failure": (
        ([WRITE, BROKEN, ANSWER],),
        "",
        "approval_needed",
        "nanocoder: write_file needed approval, and no person could give it",
    ),
    "a rule's denial": (
        ([WRITE, ANSWER], *AUTO),
        RULE,
        "denied",
        "nanocoder: write_file was denied by a rule",
    ),
    "a denial and another way": (([WRITE, OTHER, ANSWER], *AUTO), RULE, "done", ""),
    "a limit of turns": (
        ([READ, READ, READ, ANSWER], "--max-turns", "1"),
        "",
        "turn_limit",
        "max_turns",
    ),
    "a model that fails": (
        ([{"error": {"kind": "auth", "message": "no key"}}],),
        "",
        "provider_error",
        "no key",
    ),
}


@pytest.mark.rows(5)
@pytest.mark.parametrize("name", ENDS)
def test_reason_exit_code_and_last_line_agree(run, name):
    (turns, *words), rules, reason, line = ENDS[name]
    report, printed = run(turns, *words, rules=rules)
    assert report["stop_reason"] == reason
    assert printed.returncode == codes()[reason]
    last = printed.stderr.splitlines()[-1] if printed.stderr else ""
    assert line in last
    assert line or "nanocoder: write_file" not in printed.stderr


def test_a_script_reads_the_answer_and_nothing_that_comes_before_it(run):
    _, printed = run([{**READ, "text": "I look first."}, ANSWER])
    assert printed.stdout == "The answer.\n"
    assert "I look first." in printed.stderr


def test_the_page_has_every_reason():
    from nanocoder import StopReason

    assert codes().keys() >= {str(reason) for reason in StopReason}
