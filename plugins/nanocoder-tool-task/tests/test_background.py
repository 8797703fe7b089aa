"""Sub-agents in the background: how they are asked for, what they may not, and how they end."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from nanocoder import ApprovalAnswer, hookimpl, tool
from nanocoder_testing import Scripted, opened
from nanocoder_testing.playing import called
from nanocoder_tool_task import Settings

WRITE = {"name": "write_file", "arguments": {"path": "new.txt", "content": "text\n"}}
WAIT = {"name": "wait_for_it", "arguments": {}}
GIVEN = {"description": "look around", "prompt": "go", "background": True}


@pytest.fixture
def gate():
    return threading.Event()


@pytest.fixture
def session(tmp_path, script, tools, gate):
    """Open a session: with session(*turns) as ask: ask("task", {…}) is a result."""

    @tool(risk="safe", effects={"read"}, timeout_s=0)
    def wait_for_it(ctx) -> str:
        """Wait until the test says so."""
        while not gate.wait(0.02):
            ctx.cancelled.check()
        return "it came"

    waiting = SimpleNamespace(nanocoder_tools=hookimpl(lambda: [wait_for_it]))

    @contextmanager
    def open_it(*turns, **options):
        settings = {"tool-task": Settings(model=script(*turns))}
        together = {**tools, "waiting": waiting}
        with opened(tmp_path, plugins=together, settings=settings, **options) as (session, _):

            def ask(name, arguments):
                return called(session, name, arguments)[0]

            ask.session = session
            yield ask

    return open_it


def calls(*requested):
    return {"calls": list(requested)}


@pytest.mark.contract("MA-84")
def test_it_returns_at_once_and_is_read_later(session, gate):
    with session(calls(WAIT), {"text": "Found it."}) as ask:
        started = ask("task", GIVEN)
        assert started.data["started"] == ["a1"]
        assert "works" in ask("task_result", {}).output
        assert "still works" in ask("task_result", {"id": "a1", "wait_s": 0}).output
        gate.set()
        read = ask("task_result", {"id": "a1", "wait_s": 30})
        assert (read.output, read.is_error) == ("Found it.", False)
        assert ask("task_result", {}).output == "a1 done: look around"


class Parent(Scripted):
    """A model of the session: it plays its turns, and the test sees what it read."""

    def texts(self):
        return [message.text for message in self.requests[-1].messages if message.typed == ""]


def parent(script, tools, tmp_path, turns, delay_s=0.2, **options):
    model = Parent(turns)
    settings = {"tool-task": Settings(model=script({"text": "Found it.", "delay_s": delay_s}))}
    options = {"plugins": tools, "settings": settings, "mode": "auto", **options}
    return opened(tmp_path, model=model, **options), model


START = [("task", GIVEN)]
READ_IT = [("task_result", {"id": "a1"})]


@pytest.mark.contract("MA-84")
def test_a_run_does_not_end_before_the_answer_of_its_sub_agent_is_known(script, tools, tmp_path):
    turns = [START, "I have started it.", READ_IT, "It was found."]
    session, model = parent(script, tools, tmp_path, turns)
    with session as (it, _):
        list(it.run("go"))
        assert it.report.text == "It was found."
        assert model.texts() == [
            "[a1 has finished: look around; task_result reads its answer]",
        ]
        (result,) = model.requests[-1].messages[-1].results
        assert result.output == "Found it."


@pytest.mark.contract("MA-84")
def test_a_run_of_a_person_ends_and_the_next_one_hears_of_the_sub_agent(script, tools, tmp_path):
    turns = [START, "I have started it.", "And?", "Nothing."]
    session, model = parent(script, tools, tmp_path, turns, interactive=True)
    with session as (it, _):
        list(it.run("go"))
        assert it.report.text == "I have started it."
        it.resource("tool-task", "agents").find("a1").ended.wait(20)
        for _ in range(2):
            list(it.run("and now?"))
        assert model.texts() == ["[a1 has finished: look around; task_result reads its answer]"]


@pytest.mark.contract("MA-84")
def test_an_answer_that_was_read_is_not_announced(script, tools, tmp_path):
    session, model = parent(script, tools, tmp_path, [START, READ_IT, "It was found."])
    with session as (it, _):
        list(it.run("go"))
        assert it.report.text == "It was found."
        assert model.texts() == []


@pytest.mark.contract("MA-84")
def test_a_run_that_waits_for_a_sub_agent_can_be_stopped(script, tools, tmp_path):
    session, _ = parent(script, tools, tmp_path, [START, "I have started it."], delay_s=60)
    with session as (it, _):
        for event in it.run("go"):
            if event.kind == "request.finished" and it.report.text:
                it.interrupt()
        assert it.report.stop_reason == "interrupted"


@pytest.mark.contract("MA-84")
def test_nobody_is_asked_for_one_in_the_background(session, tmp_path):
    requests = []

    def approve(request):
        requests.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    with session(calls(WRITE), {"text": "I could not."}, approve=approve) as ask:
        ask("task", GIVEN)
        read = ask("task_result", {"id": "a1", "wait_s": 30})
    assert (read.is_error, read.error_class) == (True, "approval_needed")
    assert not requests
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.contract("MA-84")
def test_it_ends_with_the_session_and_its_worktree_with_it(session, repository, git):
    with session(calls(WAIT), {"text": "never"}) as ask:
        ask("task", {**GIVEN, "isolation": "worktree"})
        assert git(repository, "worktree", "list").count("\n") == 2
        agents = ask.session.resource("tool-task", "agents")
    (record,) = agents.all()
    assert not record.thread.is_alive()
    assert record.outcome.error_class in {"interrupted", "cancelled"}
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.contract("MA-84")
def test_it_can_be_stopped(session):
    with session(calls(WAIT), {"text": "never"}) as ask:
        ask("task", GIVEN)
        stopped = ask("task_result", {"id": "a1", "cancel": True})
        assert stopped.error_class == "interrupted"


@pytest.mark.contract("MA-84")
def test_the_ninth_at_once_is_refused_and_told_so(session, gate):
    also = [{"description": f"number {n}", "prompt": "go"} for n in range(2, 9)]
    with session(calls(WAIT), {"text": "Done."}) as ask:
        assert len(ask("task", {**GIVEN, "also": also}).data["started"]) == 8
        ninth = ask("task", GIVEN)
        assert (ninth.is_error, ninth.error_class) == (True, "too_many_sessions")
        gate.set()
        for number in range(1, 9):
            assert ask("task_result", {"id": f"a{number}", "wait_s": 30}).output
        assert not ask("task", GIVEN).is_error


@pytest.mark.contract("MA-83", "MA-84")
def test_its_patch_is_merged_when_it_is_asked_for(session, repository):
    def approve(request):
        return ApprovalAnswer(request.id, request.digest, approved=True)

    reading = {"name": "read_file", "arguments": {"path": "code.py"}}
    with session(calls(reading), calls(WRITE), {"text": "Done."}, approve=approve) as ask:
        ask("task", {**GIVEN, "isolation": "worktree", "name": "general"})
        first = ask("task_result", {"id": "a1", "wait_s": 30})
        # No person is there to approve the write, so there is nothing to merge.
        assert first.error_class == "approval_needed"
        ask("task", {**GIVEN, "isolation": "worktree", "background": False})
        assert not (repository / "new.txt").read_text().startswith("text")
        merged = ask("task_result", {"id": "a2", "merge": True})
        assert "Its changes were merged" in merged.output
        assert (repository / "new.txt").read_text() == "text\n"


def test_ids_that_nobody_has_are_refused(session):
    with session() as ask:
        assert ask("task_result", {"id": "a9"}).error_class == "unknown_agent"
        assert ask("task_result", {"cancel": True}).error_class == "invalid_arguments"
        assert ask("task_result", {}).output == "There are none."
