"""One question, several steps."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from nanocoder import (
    ApprovalAnswer,
    Cancel,
    Decision,
    SessionInfo,
    ToolCall,
    ToolError,
    Verdict,
    hookimpl,
)
from nanocoder_testing.playing import called, opened
from nanocoder_testing.subject import Subject
from nanocoder_tool_compose import nanocoder_render

SOURCE = "def load(path):\r\n    return path\r\n\r\n\r\nloaded = load('x')\r\n"
OTHER = "from a import load\n\nload('y')\n"


class Person:
    """Somebody who agrees, or not, and remembers what was asked."""

    def __init__(self, *, agrees=True):
        self.agrees = agrees
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=self.agrees)


class Denying:
    """A policy that denies one tool."""

    def __init__(self, name):
        self.name = name

    @hookimpl
    def nanocoder_before_execute(self, call):
        decision = Decision.DENY if call.name == self.name else Decision.ASK
        return Verdict(decision, "by the test")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.py").write_bytes(SOURCE.encode())
    (tmp_path / "b.py").write_text(OTHER)
    return tmp_path


def run(root, name, arguments, person=None, policy=None, **options):
    plugins = Subject("tool-compose", "nanocoder_tool_compose").alone()
    if policy is not None:
        plugins.add(policy, "policy")
    with opened(root, plugins=plugins, approve=person or Person()) as (session, _):
        return called(session, name, arguments, **options)


EDIT = {"file_path": "b.py", "old_string": "load('y')", "new_string": "load('z')"}


def rename(check="true", **more):
    return {"files": ["a.py", "b.py"], "old": "load", "new": "fetch", "check": check, **more}


@pytest.mark.contract("CO-12")
@pytest.mark.contract("CO-14")
def test_an_edit_asks_once_and_shows_its_steps(root):
    person = Person()
    result, events = run(root, "atomic_edit", EDIT, person)
    assert (root / "b.py").read_text() == OTHER.replace("'y'", "'z'")
    assert result.output.startswith("Edited b.py: 1 place")
    (request,) = person.asked
    assert (request.call.name, request.steps) == ("atomic_edit", ("read_file", "edit_file"))
    assert [step["tool"] for step in result.data["steps"]] == ["read_file", "edit_file"]
    started = [event for event in events if event.kind == "call.started"]
    assert [event.data["parent"] for event in started] == ["", "call-1", "call-1"]


@pytest.mark.contract("CO-11")
def test_without_consent_no_step_is_taken(root):
    result, events = run(root, "atomic_edit", EDIT, Person(agrees=False))
    assert result.error_class == "denied"
    assert "call.started" not in [event.kind for event in events]


@pytest.mark.contract("CO-18")
def test_what_a_policy_denies_inside_stays_denied(root):
    result, _ = run(root, "atomic_edit", EDIT, policy=Denying("edit_file"))
    assert result.error_class == "denied"
    assert result.output.startswith("step 2, edit_file: ")
    assert (root / "b.py").read_text() == OTHER


@pytest.mark.contract("CO-13")
@pytest.mark.contract("CO-14")
def test_a_refactoring_reads_replaces_writes_and_checks_with_one_question(root):
    person = Person()
    result, _ = run(root, "atomic_refactor", rename("grep -c fetch a.py b.py"), person)
    assert [request.call.name for request in person.asked] == ["atomic_refactor"]
    assert (root / "a.py").read_bytes() == (SOURCE.replace("load(", "fetch(").encode()), (
        "a word that only begins like it stays, and so do the line ends"
    )
    assert (root / "b.py").read_text() == OTHER.replace("load", "fetch")
    assert result.output.startswith(
        "Replaced 'load' by 'fetch': 4 places in 2 files; the check passed\n"
    )
    tools = [step["tool"] for step in result.data["steps"]]
    # write_file refuses once that "def load" goes.
    expected = ["write_file", "write_file", "write_file"]
    assert tools == ["read_file"] * 2 + expected + ["bash"]
    assert result.metadata["files_changed"] == ["a.py", "b.py"]


@pytest.mark.contract("CO-22")
def test_the_preview_is_the_steps_and_one_diff(root):
    person = Person()
    run(root, "atomic_refactor", rename("mypy ."), person)
    preview = person.asked[0].preview
    assert preview.startswith("steps: read_file, write_file a.py, b.py; bash mypy .; restored")
    assert "+++ b/a.py" in preview
    assert "+++ b/b.py" in preview
    assert "+def fetch(path):" in preview


def test_patterns_mean_the_files_that_have_the_text(root):
    (root / "lib/inner").mkdir(parents=True)
    (root / "lib/inner/c.py").write_text("load()\n")
    (root / "lib/other.py").write_text("reload()\n")
    (root / "lib/picture.py").write_bytes(b"load\0\xff")
    person = Person()
    more = {"files": ["*.py", "./lib/**/*.py", "b.py"]}
    result, _ = run(root, "atomic_refactor", rename(**more), person)
    assert result.metadata["files_changed"] == ["a.py", "b.py", "lib/inner/c.py"]
    assert (root / "lib/inner/c.py").read_text() == "fetch()\n"
    assert "write_file a.py, b.py, lib/inner/c.py;" in person.asked[0].preview


@pytest.mark.parametrize("pattern", ["*.rs", "nowhere/**/*.py", "lib/*.py"])
def test_a_pattern_without_such_a_file_says_so(root, pattern):
    result, _ = run(root, "atomic_refactor", rename(files=[pattern]))
    assert result.error_class == "text_not_found"
    assert f"no file that matches '{pattern}' has 'load'" in result.output


@pytest.mark.contract("CO-13")
@pytest.mark.contract("CO-15")
def test_a_check_that_fails_puts_every_file_back(root):
    result, _ = run(root, "atomic_refactor", rename("echo why; exit 3"))
    assert result.error_class == "exit_nonzero"
    assert "why" in result.output
    assert result.output.endswith("[restored to the state before this call: a.py, b.py]")
    assert result.metadata["restored"] == ["a.py", "b.py"]
    assert (root / "a.py").read_bytes() == SOURCE.encode()
    assert (root / "b.py").read_text() == OTHER


def test_a_check_that_is_too_long_for_a_command_puts_every_file_back(root):
    result, _ = run(root, "atomic_refactor", rename("true " + "x" * 200_000))
    assert result.error_class == "command_too_long"
    assert result.metadata["restored"] == ["a.py", "b.py"]
    assert (root / "a.py").read_bytes() == SOURCE.encode()


def test_what_the_check_changed_or_deleted_is_put_back_as_well(root):
    run(root, "atomic_refactor", rename("echo more >> a.py; rm b.py; false"))
    assert (root / "a.py").read_bytes() == SOURCE.encode()
    assert (root / "b.py").read_text() == OTHER


def test_what_cannot_be_put_back_is_said(root):
    check = "rm a.py && mkdir a.py && false"
    result, _ = run(root, "atomic_refactor", rename(check))
    assert "'a.py' could not be restored" in result.output
    assert result.metadata["restored"] == ["b.py"]
    assert (root / "b.py").read_text() == OTHER


def test_a_denied_check_puts_every_file_back(root):
    result, _ = run(root, "atomic_refactor", rename(), policy=Denying("bash"))
    assert result.error_class == "denied"
    assert (root / "a.py").read_bytes() == SOURCE.encode()
    assert (root / "b.py").read_text() == OTHER


def test_an_interruption_puts_every_file_back(root):
    cancel = Cancel()
    called = []

    class Interrupting:
        @hookimpl
        def nanocoder_before_execute(self, call):
            called.append(call.name)
            if call.name == "bash":
                cancel.set()
            return Verdict(Decision.ASK, "by the test")

    result, _ = run(root, "atomic_refactor", rename(), policy=Interrupting(), cancel=cancel)
    assert called[-1] == "bash"
    assert result.is_error
    assert (root / "a.py").read_bytes() == SOURCE.encode()
    assert (root / "b.py").read_text() == OTHER


@pytest.mark.parametrize(
    ("more", "error_class"),
    [
        ({"old": "nowhere"}, "text_not_found"),
        ({"old": "x" * 10_001}, "invalid_arguments"),
        ({"check": " "}, "invalid_arguments"),
        ({"files": ["missing.py"]}, "file_not_found"),
        ({"files": ["../x.py"]}, "path_outside_workspace"),
        ({"files": []}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_done_changes_nothing(root, more, error_class):
    result, _ = run(root, "atomic_refactor", rename(**more))
    assert result.error_class == error_class
    assert (root / "a.py").read_bytes() == SOURCE.encode()


def test_a_preview_says_what_will_fail(root):
    session = SessionInfo("s", root)
    absent = ToolCall("c", "atomic_refactor", rename(old="nowhere"))
    with pytest.raises(ToolError, match=r"nothing was changed: 'nowhere' is not in 'a\.py'"):
        nanocoder_render(absent, None, session)
    lost = ToolCall("c", "atomic_edit", {**EDIT, "file_path": "missing.py"})
    with pytest.raises(ToolError, match=r"missing\.py"):
        nanocoder_render(lost, None, session)
    vague = ToolCall("c", "atomic_edit", {**EDIT, "old_string": "load"})
    assert "[old_string does not occur exactly once]" in nanocoder_render(vague, None, session)
    exact = nanocoder_render(ToolCall("c", "atomic_edit", EDIT), None, session)
    assert "steps: read_file b.py, edit_file b.py\n--- a/b.py" in exact
    assert nanocoder_render(ToolCall("c", "other", {}), None, session) is None


@pytest.mark.timeout(60)
@pytest.mark.contract("CO-15")
def test_what_was_replaced_when_the_program_was_killed_is_put_back_by_the_next_one(root, home):
    state = home / ".local/state/nanocoder"
    state.mkdir(parents=True)
    command = [Path(sys.executable).with_name("nanocoder"), "call"]
    # It is the check that kills: every file has been written by then.
    arguments = json.dumps(rename(f"grep -q fetch a.py && kill -9 $(cat {home}/pid)"))
    killing = [*command, "atomic_refactor", arguments, "--mode", "auto"]
    script = f'echo $$ > {home}/pid; exec "$@"'
    # In a sandbox the check could not reach it.
    env = {**os.environ, "NANOCODER_SANDBOX": "none"}
    options = {"cwd": root, "capture_output": True, "text": True, "env": env}
    killed = subprocess.run(["bash", "-c", script, "bash", *killing], check=False, **options)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert "fetch" in (root / "a.py").read_text()
    arguments = json.dumps({"path": "a.py"})
    resumed = subprocess.run([*command, "read_file", arguments], check=False, **options)
    assert "restored: a.py, b.py" in resumed.stderr
    assert "load" in resumed.stdout
    assert (root / "a.py").read_bytes() == SOURCE.encode()
    assert (root / "b.py").read_text() == OTHER
