"""A whole session is replayed: without its model, its tools, its clock or its person."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nanocoder import ApprovalAnswer, open_session
from nanocoder_kit_sessions import SessionStore
from nanocoder_provider_replay import replay
from nanocoder_provider_replay.journal import COMPARED

pytestmark = pytest.mark.timeout(90)
READ = {"calls": [{"name": "read_file", "arguments": {"path": "hello.py"}}]}
WRITE = {"name": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}}
CLOCK = {"name": "bash", "arguments": {"command": "date +%s.%N; pwd; cat hello.py"}}
TASK = {"calls": [{"name": "task", "arguments": {"description": "look", "prompt": "Look."}}]}
STEPS = {
    "calls": [{"name": "batch", "arguments": {"calls": [CLOCK | {"params": CLOCK["arguments"]}]}}]
}
DONE = {"text": "Done."}


@pytest.fixture
def recorded(nanocoder):
    """Run a session with every kind of call; return its id."""
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n")
    model = nanocoder.script(READ, {"calls": [CLOCK, WRITE]}, TASK, DONE)
    done = nanocoder("run", "--mode", "auto", "--model", model, "--output", "json", "Go")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["session_id"]


def lines_of(path: Path) -> list[str]:
    """Return the records of a journal that are compared, without number and checksum."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["kind"] in COMPARED]
    return [json.dumps({**row, "seq": 0, "crc": ""}) for row in rows]


@pytest.mark.contract("NT-96")
@pytest.mark.contract("NT-72")
def test_two_replays_write_the_recorded_journal_in_every_byte(nanocoder, recorded):
    text = nanocoder("sessions", "record", recorded).stdout
    first = nanocoder("sessions", "replay", recorded, "--journal", "first.jsonl")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "happened again: 18 records are the same" in first.stdout
    # Today the workspace is another one, and the command would fail.
    (nanocoder.cwd / "hello.py").unlink()
    (nanocoder.cwd / "new.txt").unlink()
    (nanocoder.cwd / "run.json").write_text(text)
    second = nanocoder("sessions", "replay", "run.json", "--journal", "second.jsonl")
    assert second.returncode == 0, second.stdout + second.stderr
    journals = [nanocoder.cwd / name for name in ("first.jsonl", "second.jsonl")]
    assert journals[0].read_bytes() == journals[1].read_bytes()
    state = nanocoder.home / ".local/state/nanocoder/sessions"
    assert lines_of(journals[0]) == lines_of(state / f"{recorded}.jsonl")
    assert not (nanocoder.cwd / "new.txt").exists()
    assert [path.stem for path in state.glob("*.jsonl")] == [recorded]  # a replay is not kept


def test_a_log_hears_nothing_of_a_replay_and_the_audit_names_it(nanocoder, recorded):
    state = nanocoder.home / ".local/state/nanocoder"
    before = (state / "log/nanocoder.jsonl").read_bytes()
    audited = (state / "audit/audit.jsonl").read_text()
    assert nanocoder("sessions", "replay", recorded).returncode == 0
    assert (state / "log/nanocoder.jsonl").read_bytes() == before
    rows = (state / "audit/audit.jsonl").read_text().removeprefix(audited).splitlines()
    assert json.loads(rows[0])["model"].startswith("replay/")


@pytest.mark.contract("NT-74")
def test_a_policy_of_today_that_judges_otherwise_is_the_first_divergence(nanocoder, recorded):
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.policy-rules]\ndeny = ["bash(date *)"]\n')
    done = nanocoder("sessions", "replay", recorded)
    assert done.returncode == 1
    assert "diverges at record 8 of 18" in done.stdout
    assert "the recording has no call.denied bash (call-2-1) there" in done.stdout
    assert '+ "message": "denied: the rule \'bash(date *)\' forbids it"' in done.stdout
    done = nanocoder("sessions", "replay", recorded, "--output", "json")
    assert (done.returncode, json.loads(done.stdout)["session"]) == (1, recorded)


def test_a_record_that_differs_is_named_with_its_field_and_a_diff(nanocoder, recorded):
    recording = json.loads(nanocoder("sessions", "record", recorded).stdout)
    [reply] = [row["data"] for row in recording["records"] if row["data"].get("text") == "Done."][
        :1
    ]
    reply["text"] = "Finished."
    (nanocoder.cwd / "run.json").write_text(json.dumps(recording))
    done = nanocoder("sessions", "replay", "run.json")
    assert done.returncode == 1
    assert "record 17 of 18: message assistant differs in text:\n--- recorded\n" in done.stdout
    assert "-Finished.\n+Done.\n" in done.stdout


@pytest.mark.contract("NT-96")
def test_a_session_becomes_a_test_that_needs_neither_files_nor_tools(nanocoder, recorded):
    test = Path(nanocoder("sessions", "to-test", recorded).stdout.strip())
    [recording] = test.parent.glob("*.json")
    assert sorted(test.parent.iterdir()) == sorted((test, recording))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    assert subprocess.run(command, cwd=nanocoder.cwd, check=False).returncode == 0
    data = json.loads(recording.read_text())
    data["messages"][1]["calls"][0]["arguments"]["path"] = "other.py"  # the model says otherwise
    recording.write_text(json.dumps(data))
    failed = subprocess.run(command, cwd=nanocoder.cwd, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "message assistant differs in calls" in failed.stdout


def test_a_failed_session_is_replayed_up_to_its_failure(nanocoder):
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n")
    model = nanocoder.script(READ, {"error": "no such model"})
    assert nanocoder("run", "--mode", "auto", "--model", model, "Go").returncode == 4
    session = nanocoder("sessions", "list", "--output", "json")
    [row] = json.loads(session.stdout)
    done = nanocoder("sessions", "replay", row["id"])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_whose_answer_had_to_fit_a_schema_is_replayed_with_its_second_try(nanocoder):
    model = nanocoder.script({"text": "one"}, {"text": '{"lines": 1}'})
    schema = ["--schema", '{"type": "object", "required": ["lines"]}']
    assert nanocoder("run", "--model", model, *schema, "Count").stdout == '{"lines": 1}\n'
    done = nanocoder("sessions", "replay")
    assert done.returncode == 0, done.stdout


def test_the_steps_of_a_call_are_not_taken_again(nanocoder):
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n")
    model = nanocoder.script(STEPS, DONE)
    assert nanocoder("run", "--mode", "auto", "--model", model, "Go").returncode == 0
    assert nanocoder("sessions", "replay").returncode == 0


def test_people_answer_as_they_did(tmp_path):
    """One call is edited and approved, one is refused with a reason, one is approved for good."""
    turns = [{"calls": [{**WRITE, "id": f"c{number}"}]} for number in range(4)]
    (tmp_path / "turns.json").write_text(json.dumps({"turns": [*turns, DONE]}))
    environment = {"HOME": str(tmp_path / "home")}
    edit = WRITE["arguments"] | {"content": "y\n"}
    answers = iter(
        [
            {"approved": True, "arguments": edit},
            {"approved": False, "reason": "not now"},
            {"approved": True, "always": True},
        ]
    )

    def approve(request):
        return ApprovalAnswer(request.id, request.digest, **next(answers))

    model = f"scripted/{tmp_path / 'turns.json'}"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    options = {"mode": "ask", "approve": approve, "environment": environment}
    with open_session(workspace, model=model, **options) as session:
        for _ in session.run("Go"):
            pass
        assert session.report.stop_reason == "done"
    recording = tmp_path / "run.json"
    store = SessionStore.of_user(environment)
    kinds = [record.kind for record in store.records(session.id)]
    assert {"call.edited", "call.denied", "call.approved"} < set(kinds)
    command = [sys.executable, "-m", "nanocoder", "sessions", "record", session.id]
    recording.write_text(subprocess.check_output(command, env=environment, text=True))
    other = tmp_path / "other"
    other.mkdir()
    assert replay(recording, other, environment=environment) == ""
    assert list(other.iterdir()) == []


EDIT = {"path": "hello.py", "old_string": "hello", "new_string": "bye"}


def day(folder, environment):
    """Work as a person does: mention a file, run a command, approve an edit, type meanwhile."""
    turns = [
        {"text": "It prints hello."},
        {"calls": [{"name": "bash", "arguments": {"command": "ls", "why": "to look"}}]},
        {"calls": [{"name": "edit_file", "arguments": EDIT, "id": "call-1"}]},
        {"text": "It prints bye."},
        {"text": "And now I am done."},
    ]
    (folder / "turns.json").write_text(json.dumps({"turns": turns}))

    def approve(request):
        return ApprovalAnswer(request.id, request.digest, approved=True)

    options = {"mode": "ask", "approve": approve, "environment": environment}
    model = f"scripted/{folder / 'turns.json'}"
    with open_session(folder, model=model, **options) as session:
        list(session.call("read_file", {"path": "hello.py", "limit": 1}))
        list(session.run("what is in @hello.py:1\n\nFile hello.py, line 1: …", typed="what is it"))
        list(session.call("bash", {"command": "echo mine; date +%N"}, typed=True))
        for event in session.run("change it"):
            if event.kind == "message" and event.data.get("text") == "It prints bye.":
                session.steer("and then")
        assert session.report.text == "And now I am done."
        return session.id


@pytest.mark.contract("NT-96")
@pytest.mark.contract("W7")
@pytest.mark.parametrize("more", [(), ("--tools",)])
def test_a_day_with_a_person_becomes_a_test_that_passes(nanocoder, more):
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n")
    session = day(nanocoder.cwd, {"HOME": str(nanocoder.home)})
    done = nanocoder("sessions", "to-test", session, *more)
    assert done.returncode == 0, done.stderr
    test = Path(done.stdout.strip())
    if more:  # the file as it was before the session changed it
        (test.parent / test.stem.removeprefix("test_") / "hello.py").write_text("print('hello')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    played = subprocess.run(command, cwd=nanocoder.cwd, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout
    assert f"{1 + len(more)} passed" in played.stdout


def test_a_recording_without_records_says_what_to_do(nanocoder):
    text = '{"format": 1, "cwd": "", "profile": "full", "messages": []}'
    (nanocoder.cwd / "run.json").write_text(text)
    done = nanocoder("sessions", "replay", "run.json")
    assert done.returncode == 2
    assert "record it again" in done.stderr
    assert "Traceback" not in done.stderr
