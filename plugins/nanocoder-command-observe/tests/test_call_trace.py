"""The six stages of a call: their events while it runs, and their trace after the run."""

import json
import os
from typing import Annotated

import pytest
from nanocoder import (
    ApprovalAnswer,
    Decision,
    Effect,
    ToolError,
    UsageError,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_command_observe.call_trace import STAGES, trace
from nanocoder_kit_sessions import SessionStore, testing
from nanocoder_testing import Tools, opened


@tool(risk="safe", effects={Effect.READ})
def look(target: Annotated[str, "Where."]) -> str:
    """Look at a target."""
    if target == "nowhere":
        raise ToolError("there is nothing", error_class="nothing_there")
    return f"looked at {target}"


TOOLS = Tools(look)


class Judge:
    def __init__(self, decision):
        self.decision = decision

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(self.decision, "as tests want it", rule="a rule")


class Withholding:
    @hookimpl
    def nanocoder_after_execute(self, result):
        raise RuntimeError("no")


@pytest.fixture
def call(tmp_path, home):
    """Make calls in a session that keeps a journal; returns its events and records."""

    def make(*targets, name="look", **plugins):
        events = []
        plugins = {"tools": TOOLS, "files": testing, **plugins}
        options = {"persist": True, "environment": {"HOME": str(home)}}
        with opened(tmp_path, plugins=plugins, approve=agree, **options) as (session, _):
            for target in targets:
                events += session.call(name, {"target": target} if target else {})
        store = SessionStore.of_user({"HOME": str(home)})
        [session_id] = store.ids()
        return events, store.records(session_id)

    return make


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def statuses(records, call_id="last"):
    return {stage.name: stage.status for stage in trace(records, call_id).stages}


ALL_OK = dict.fromkeys(STAGES, "ok")


@pytest.mark.contract("NT-97")
@pytest.mark.contract("NT-98")
@pytest.mark.contract("NT-99")
@pytest.mark.contract("NT-101")
@pytest.mark.contract("NT-102")
def test_a_call_that_works_has_an_event_for_each_stage_and_six_of_them_in_its_trace(call):
    events, records = call("x")
    kinds = [event.kind for event in events]
    reached = [
        "session.started",
        "call.validated",
        "call.decided",
        "call.finished",
        "call.returned",
    ]
    assert [kind for kind in kinds if kind in reached] == reached
    found = trace(records, "last")
    assert (found.tool, found.status, found.call_id) == ("look", "ok", "call-1")
    assert {stage.name: stage.status for stage in found.stages} == ALL_OK
    times = [stage.at_ms for stage in found.stages[:-1]]
    assert times == sorted(times)
    assert all(stage.ms >= 0 for stage in found.stages[:-1])


def fails(found, stage, error_class, status="failed"):
    """Say that one stage failed, and none after it but the result's was reached."""
    named = {one.name: one for one in found.stages}
    place = STAGES.index(stage)
    assert (named[stage].status, named[stage].error_class) == (status, error_class)
    assert {named[name].status for name in STAGES[:place]} <= {"ok"}
    between = STAGES[place + 1 : STAGES.index("output")]
    assert {named[name].status for name in between} <= {"not reached"}
    assert named["telemetry"].status == "ok"


@pytest.mark.contract("NT-98")
@pytest.mark.parametrize(
    ("name", "error_class"), [("lok", "unknown_tool"), ("look", "invalid_arguments")]
)
def test_input_that_makes_no_sense_fails_its_stage(call, name, error_class):
    events, records = call("", name=name)
    [failed] = [event for event in events if event.kind == "call.failed"]
    assert (failed.data["stage"], failed.data["error_class"]) == ("input", error_class)
    fails(trace(records, "last"), "input", error_class)


@pytest.mark.contract("NT-100")
def test_a_policy_that_says_no_denies_the_call_in_its_stage(call):
    events, records = call("x", policy=Judge(Decision.DENY))
    [denied] = [event for event in events if event.kind == "call.denied"]
    assert (denied.data["stage"], denied.data["error_class"]) == ("policy", "denied")
    fails(trace(records, "last"), "policy", "denied", "denied")


@pytest.mark.contract("NT-100")
def test_the_time_of_a_person_is_told_apart(call):
    _, records = call("x", policy=Judge(Decision.ASK))
    [policy] = [one for one in trace(records, "last").stages if one.name == "policy"]
    assert policy.status == "ok"
    assert policy.note.startswith("approved, asking took ")


@pytest.mark.contract("NT-99")
def test_a_handler_that_fails_fails_its_stage(call):
    events, records = call("nowhere")
    [finished] = [event for event in events if event.kind == "call.finished"]
    assert finished.data == {"is_error": True, "error_class": "nothing_there"}
    found = trace(records, "last")
    fails(found, "execution", "nothing_there")
    assert found.status == "error"


@pytest.mark.contract("NT-101")
def test_a_result_that_cannot_be_made_fails_its_stage(call):
    events, records = call("x", chain=Withholding())
    [failed] = [event for event in events if event.kind == "call.failed"]
    assert (failed.data["stage"], failed.data["error_class"]) == ("output", "withheld")
    fails(trace(records, "last"), "output", "withheld")


@pytest.mark.contract("NT-97")
def test_a_workspace_that_is_gone_fails_the_first_stage(tmp_path, home):
    folder = tmp_path / "work"
    folder.mkdir()
    plugins = {"tools": TOOLS}
    with opened(folder, plugins=plugins, environment={"HOME": str(home)}) as (session, _):
        folder.rmdir()
        events = list(session.call("look", {"target": "x"}))
    [failed] = [event for event in events if event.kind == "call.failed"]
    assert failed.data["stage"] == "bootstrap"


class Broken:
    @hookimpl
    def nanocoder_event(self, event):
        if event.kind == "call.started":
            raise RuntimeError("no line to the collector")


@pytest.mark.contract("NT-102")
def test_a_hook_that_hears_nothing_is_told_once_and_stands_in_the_trace(call):
    events, records = call("x", "y", listener=Broken())
    [failed] = [event for event in events if event.kind == "telemetry.failed"]
    assert (failed.data["part"], failed.data["plugin"]) == ("hook", "listener")
    assert failed.call_id == "call-1"
    assert statuses(records, "call-1") == {**ALL_OK, "telemetry": "failed"}
    assert statuses(records, "call-2") == ALL_OK


@pytest.mark.contract("NT-102")
def test_a_journal_that_cannot_be_written_is_told_once(tmp_path, home):
    plugins = {"tools": TOOLS, "files": testing}
    options = {"persist": True, "environment": {"HOME": str(home)}}
    with opened(tmp_path, plugins=plugins, **options) as (session, _):
        journal = session.journal
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, journal._descriptor)  # as a disk that has become full
        os.close(full)
        events = [*session.call("look", {"target": "x"}), *session.call("look", {"target": "y"})]
    [failed] = [event for event in events if event.kind == "telemetry.failed"]
    assert failed.data["part"] == "journal"
    assert "No space left" in failed.data["message"]
    assert [one.data["status"] for one in events if one.kind == "call.returned"] == ["ok", "ok"]


def test_a_call_that_never_ended_says_so(call):
    _, records = call("x")
    cut = [one for one in records if one.kind not in {"call.finished", "session.finished"}]
    found = trace(cut, "call-1")
    assert found.status == "unfinished"
    assert found.stages[-1].note == "the end of this call is not in the journal"


def test_a_record_of_an_earlier_release_has_no_stages_and_says_so(call):
    _, records = call("x")
    for record in records:
        record.data.get("result", {}).pop("stages", None)
    assert statuses(records)["execution"] == "unknown"


def test_a_call_that_there_is_not_is_named_with_its_nearest(call):
    _, records = call("x")
    with pytest.raises(UsageError, match="no call 'cal-1'; did you mean 'call-1'") as caught:
        trace(records, "cal-1")
    assert caught.value.error_class == "call_not_found"


@pytest.mark.timeout(60)
def test_the_command_prints_the_trace_of_a_single_call(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("x")
    assert nanocoder("call", "read_file", '{"path": "a.txt"}').returncode == 0
    shown = nanocoder("trace", "last").stdout
    assert nanocoder("trace").stdout == shown
    assert [line.split()[:2] for line in shown.splitlines()[2:]] == [[one, "ok"] for one in STAGES]
    found = json.loads(nanocoder("trace", "call-1", "--output", "json").stdout)
    assert [stage["stage"] for stage in found["stages"]] == list(STAGES)
    assert nanocoder("trace", "call-9").returncode == 2
