"""Approval requests that a program answers on standard input."""

import json
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.timeout(60)

ASKS = "[plugins.ui-json]\napprove_stdin = true\n"
IMPATIENT = ASKS + "approval_timeout_s = 0.5\n"


def writes(*names):
    return {
        "calls": [
            {"name": "write_file", "arguments": {"path": name, "content": "x\n"}} for name in names
        ]
    }


DONE = {"text": "Done."}


class Dialogue:
    """Reads events and answers requests."""

    def __init__(self, process):
        self.process = process

    def until(self, kind):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["type"] == kind:
                return event
        raise AssertionError(f"the run ended without {kind}")

    def say(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode())
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def answer(self, request, *, approved=True, **more):
        echoed = {"id": request["id"], "digest": request["digest"]}
        self.say({**echoed, "approved": approved, **more})

    def end(self):
        report = self.until("session.finished")
        self.process.wait()
        return report


@pytest.fixture
def dialogue(run):
    started = []

    def start(*turns, settings=ASKS):
        process = run("jsonl", *turns, settings=settings, stdin=subprocess.PIPE)
        started.append(process)
        return Dialogue(process)

    yield start
    for process in started:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        process.wait()


@pytest.mark.contract("MA-114")
def test_an_answer_that_echoes_the_request_lets_the_call_run(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE)
    request = talk.until("call.approval_requested")
    assert request["tool"] == "write_file"
    assert "new.py" in request["preview"]
    talk.answer(request)
    assert talk.end()["stop_reason"] == "done"
    assert (workspace / "new.py").read_text() == "x\n"


def test_a_refusal_tells_the_model_why_and_the_run_goes_on(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE)
    talk.answer(talk.until("call.approval_requested"), approved=False, reason="use tabs")
    assert "use tabs" in talk.until("call.denied")["message"]
    assert talk.end()["text"] == "Done."
    assert not (workspace / "new.py").exists()


def test_changed_arguments_are_what_runs(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE)
    request = talk.until("call.approval_requested")
    talk.answer(request, arguments={"path": "new.py", "content": "y\n"})
    talk.end()
    assert (workspace / "new.py").read_text() == "y\n"


def test_the_request_of_a_sub_agent_is_heard_and_answered(dialogue, workspace):
    # The turns of the sub-agent are the same: a task, which it may not start, and the file.
    task = {"description": "Look", "prompt": "Write a.py"}
    talk = dialogue({"calls": [{"name": "task", "arguments": task}]}, writes("a.py"), DONE)
    request = talk.until("call.approval_requested")
    assert request["reason"].startswith("sub-agent general (Look): ")
    talk.answer(request)
    assert talk.until("call.answered")["answer"] == "approved"
    talk.answer(talk.until("call.approval_requested"), approved=False)
    talk.end()
    assert (workspace / "a.py").read_text() == "x\n"


@pytest.mark.contract("MA-115")
def test_an_answer_belongs_to_the_request_whose_id_it_has(dialogue, workspace):
    talk = dialogue(writes("a.py"), writes("b.py"), DONE)
    first = talk.until("call.approval_requested")
    talk.answer(first, approved=False)
    second = talk.until("call.approval_requested")
    assert second["sequence"] == first["sequence"] + 1
    talk.answer(first)
    talk.answer(second)
    talk.end()
    assert not (workspace / "a.py").exists()
    assert (workspace / "b.py").exists()


@pytest.mark.parametrize(
    "line",
    [b"y", b"", b"[]", b"{", b"\xff", b'{"id": 1, "id": 2}'],
    ids=["word", "empty", "list", "broken", "bytes", "twice"],
)
def test_what_is_no_answer_refuses(dialogue, workspace, line):
    talk = dialogue(writes("new.py"), DONE)
    talk.until("call.approval_requested")
    talk.say(line)
    assert talk.until("call.denied")["error_class"] == "denied"
    assert not (workspace / "new.py").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "0" * 64},
        {"digest": None},
        {"approved": "yes"},
        {"approved": 1},
        {"arguments": 3},
    ],
)
def test_an_answer_that_is_not_exactly_right_refuses(dialogue, workspace, change):
    talk = dialogue(writes("new.py"), DONE)
    talk.answer(talk.until("call.approval_requested"), **change)
    talk.until("call.denied")
    assert not (workspace / "new.py").exists()


def test_the_end_of_the_input_refuses(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE)
    talk.until("call.approval_requested")
    talk.process.stdin.close()
    assert "standard input ended" in talk.until("call.denied")["message"]


@pytest.mark.contract("MA-116")
def test_no_answer_in_time_refuses(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE, settings=IMPATIENT)
    talk.until("call.approval_requested")
    assert "0.5 s" in talk.until("call.denied")["message"]
    assert talk.end()["text"] == "Done."


def test_an_interrupt_ends_the_wait_and_the_run(dialogue, workspace):
    talk = dialogue(writes("new.py"), DONE)
    talk.until("call.approval_requested")
    time.sleep(0.5)  # the request is written just before the wait for its answer begins
    talk.process.send_signal(signal.SIGINT)
    assert talk.end()["stop_reason"] == "interrupted"
    assert talk.process.returncode == 130


def test_without_the_setting_nobody_is_asked(dialogue):
    talk = dialogue(writes("new.py"), DONE, settings="")
    talk.say(b"y")
    assert talk.end()["stop_reason"] == "approval_needed"
