"""Read, write, check, answer: the whole product headless, from built wheels, by a script."""

import json

import pytest

pytestmark = pytest.mark.timeout(300)

SCRIPT = {
    "turns": [
        {"calls": [{"name": "read_file", "arguments": {"path": "app.py"}}]},
        {
            "text": "It lacks a main function.",
            "calls": [
                {
                    "name": "write_file",
                    "arguments": {
                        "path": "app.py",
                        "content": "def main() -> None:\n    print('hello')\n\n\nmain()\n",
                    },
                }
            ],
        },
        {"calls": [{"name": "bash", "arguments": {"command": "python3 app.py"}}]},
        {"text": "app.py has a main function and still prints hello."},
    ]
}


@pytest.fixture(scope="module")
def installed(make_installed):
    return make_installed("nanocoder-set-default")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/app.py").write_text("print('hello')\n")
    (tmp_path / "turns.json").write_text(json.dumps(SCRIPT))
    return tmp_path


def run(installed, project, *options):
    model = f"scripted/{project / 'turns.json'}"
    cwd = str(project / "project")
    return installed.nanocoder("run", "--model", model, "--cwd", cwd, *options, "Add a main")


@pytest.mark.contract("NT-46")
def test_the_scenario_runs_headless_to_its_answer(installed, project):
    done = run(installed, project, "--mode", "auto", "--output", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["stop_reason"] == "done"
    assert report["text"].endswith("still prints hello.")
    assert [call["tool"] for call in report["tool_calls"]] == ["read_file", "write_file", "bash"]
    assert {call["status"] for call in report["tool_calls"]} == {"ok"}
    assert report["files_changed"] == ["app.py"]
    assert "def main" in (project / "project/app.py").read_text()


def test_without_a_person_the_same_scenario_only_reads_and_says_why(installed, project):
    done = run(installed, project, "--output", "json")
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert report["stop_reason"] == "approval_needed"
    assert [denial["tool"] for denial in report["denials"]] == ["write_file"]
    assert [call["status"] for call in report["tool_calls"]] == ["ok", "approval_needed", "ok"]
    assert (project / "project/app.py").read_text() == "print('hello')\n"


def test_in_edits_mode_the_file_is_written_and_the_command_runs_in_the_sandbox(installed, project):
    done = run(installed, project, "--mode", "edits", "--output", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["files_changed"] == ["app.py"]
    assert report["denials"] == []


@pytest.mark.usefixtures("no_sandbox")
def test_without_a_sandbox_the_command_waits_in_edits_mode(installed, project):
    done = run(installed, project, "--mode", "edits", "--output", "json")
    report = json.loads(done.stdout)
    assert report["files_changed"] == ["app.py"]
    assert [denial["tool"] for denial in report["denials"]] == ["bash"]
    assert done.returncode == 3


def test_every_event_is_a_line_from_the_first_to_the_last(installed, project):
    done = run(installed, project, "--mode", "auto", "--output", "jsonl")
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds[0] == "session.started"
    assert kinds[-1] == "session.finished"
    assert kinds.count("call.started") == kinds.count("call.returned") == 3


def test_a_session_goes_on_where_it_stopped(installed, project):
    first = run(installed, project, "--mode", "plan", "--max-turns", "1", "--output", "json")
    assert first.returncode == 5, first.stderr
    listed = installed.nanocoder("sessions", "list", "--output", "json", cwd=project / "project")
    (session,) = json.loads(listed.stdout)
    assert session["title"] == "Add a main"
    done = run(installed, project, "--mode", "auto", "--continue", "--output", "json")
    assert json.loads(done.stdout)["session_id"] == session["id"]
