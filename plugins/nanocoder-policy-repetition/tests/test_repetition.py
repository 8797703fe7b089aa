"""What ends a run in which the model repeats its calls, and what does not."""

import itertools
import re
from types import SimpleNamespace
from typing import Annotated

import nanocoder_policy_repetition as repetition
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import (
    ApprovalAnswer,
    Decision,
    Effect,
    ToolCall,
    ToolResult,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_policy_repetition import ALREADY_DONE
from nanocoder_policy_repetition.guard import COMMANDS, FULL, TIMES, TRACE_OF_TIMES
from nanocoder_testing import Scripted, Tools, opened, play


@tool(risk="safe", effects={Effect.READ})
def look(at: Annotated[str, "Where."] = "here") -> str:
    """Look somewhere, always seeing the same."""
    return f"nothing at {at}"


@tool(risk="safe", effects={Effect.READ}, repeatable=True)
def poll() -> str:
    """Look whether it is ready."""
    return "not yet"


@tool(risk="medium", effects={Effect.WRITE})
def change(to: str = "x") -> str:
    """Change something."""
    return f"changed to {to}"


TOOLS = {"policy-repetition": repetition, "tools": Tools(look, poll, change)}


def agree(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def small(turns):
    return Scripted(turns, profile="small")


def test_a_model_is_told_before_the_run_ends_and_may_answer_then(tmp_path):
    turns = [*[[("look", {})]] * FULL.in_a_row, "There is nothing."]
    played = play(tmp_path, turns, plugins=TOOLS)
    assert played.report["stop_reason"] == "loop"
    assert [result.output for result in played.results[1:]] == [ALREADY_DONE] * (FULL.in_a_row - 1)
    assert "called in 6 turns in a row" in played.report["error"]["message"]
    assert played.text == "There is nothing.", "the last turn is for the answer"
    assert "Answer now" in played.model.requests[-1].messages[-1].text


def test_a_small_model_does_not_heed_advice_and_is_stopped_at_the_third_call(tmp_path):
    played = play(tmp_path, model=small([[("look", {})]] * 4), turns=(), plugins=TOOLS)
    assert (played.report["stop_reason"], len(played.results)) == ("loop", 4)
    assert played.results[3].error_class == "not_run"


def checking(outputs):
    @tool(effects={"execute"}, risk="safe")
    def check() -> str:
        """Run the tests, again and again."""
        return next(outputs)

    offer = SimpleNamespace(nanocoder_tools=hookimpl(lambda: [check]))
    return {"policy-repetition": repetition, "checking": offer}


def test_a_command_may_be_repeated_and_says_so_from_the_third_time_on(tmp_path):
    turns = [*[[("check", {})]] * (COMMANDS.in_a_row - 1), "Done."]
    plugins = checking(itertools.repeat("not yet"))
    played = play(tmp_path, turns, plugins=plugins, approve=agree)
    assert (played.report["stop_reason"], played.text) == ("done", "Done.")
    outputs = [result.output for result in played.results]
    assert outputs[:2] == ["not yet", "not yet"]
    assert outputs[2].startswith("not yet\n[this call came to the same result 3 times in a row")


def test_a_command_that_tells_its_time_does_not_get_further_by_that(tmp_path):
    outputs = (f"1 failed in {n}.12s" for n in itertools.count())
    turns = [[("check", {})]] * (COMMANDS.in_a_row + 1)
    played = play(tmp_path, turns, plugins=checking(outputs), approve=agree)
    assert played.report["stop_reason"] == "loop"
    assert "3 times in a row" in played.results[2].output


def test_a_call_with_other_arguments_starts_the_count_anew(tmp_path):
    turns = [*([("look", {"at": str(n % 2)})] for n in range(8)), "Done."]
    assert play(tmp_path, turns, plugins=TOOLS).report["stop_reason"] == "done"


@pytest.mark.parametrize("arguments", [{"at": "a"}, {"ta": "x"}])
def test_the_same_call_counts_once_in_a_turn_whether_it_fails_or_not(tmp_path, arguments):
    turn = [("look", arguments)] * 4
    played = play(tmp_path, [turn, turn, "I see."], plugins=TOOLS)
    assert (played.report["stop_reason"], played.text) == ("done", "I see.")
    played = play(tmp_path, (), model=small([turn] * 9), plugins=TOOLS)
    assert (played.report["stop_reason"], played.report["turns"]) == ("loop", 3)


def test_a_polling_tool_may_be_called_for_ever(tmp_path):
    turns = [*([[("poll", {})]] * 8), "Ready."]
    played = play(tmp_path, turns, plugins=TOOLS)
    assert (played.report["stop_reason"], len(played.results)) == ("done", 8)


def test_a_failing_call_that_is_repeated_ends_the_run_too(tmp_path):
    played = play(tmp_path, [[("look", {"ta": "x"})]] * 9, plugins=TOOLS)
    assert played.report["stop_reason"] == "loop"


# Loops over the whole run


def agreeing(tmp_path, turns):
    return play(tmp_path, (), model=small(turns), plugins=TOOLS, approve=agree).report


def test_two_calls_in_alternation_with_equal_results_end_the_run(tmp_path):
    pair = [[("look", {"at": "a"})], [("change", {"to": "b"})]]
    report = agreeing(tmp_path, pair * 20)
    assert report["stop_reason"] == "loop"
    assert report["turns"] <= 10


def test_two_calls_in_alternation_in_one_reply_end_the_run(tmp_path):
    report = agreeing(tmp_path, [[("look", {}), ("change", {})] * 40, "Done."])
    assert report["stop_reason"] == "loop"


def test_the_third_equal_failure_ends_the_run_whatever_is_done_in_between(tmp_path):
    turns = []
    for number in range(9):
        turns += [[("look", {"ta": "x"})], [("look", {"at": str(number)})]]
    report = agreeing(tmp_path, turns)
    assert (report["stop_reason"], report["turns"]) == ("loop", 5)
    assert "failed 3 times" in report["error"]["message"]


def test_the_same_fault_in_other_arguments_is_the_same_failure(tmp_path):
    turns = [[("look", {"at": str(number), "ta": 1})] for number in range(9)]
    report = agreeing(tmp_path, turns)
    assert (report["stop_reason"], report["turns"]) == ("loop", 3)


def test_a_change_in_between_is_progress(tmp_path):
    turns = []
    for number in range(9):
        turns += [[("look", {"at": "a"})], [("look", {"ta": 1})], [("change", {"to": str(number)})]]
    assert agreeing(tmp_path, [*turns, "Done."])["stop_reason"] == "done"


# What the model sees, and what it does not


def test_a_repeated_reading_call_with_a_new_result_is_no_repetition(tmp_path):
    seen = iter(("one", "two", "three", "four"))

    @tool(risk="safe", effects={Effect.READ})
    def watch() -> str:
        """Look at something that changes."""
        return next(seen)

    watching = SimpleNamespace(nanocoder_tools=hookimpl(lambda: [watch]))
    plugins = {"policy-repetition": repetition, "watching": watching}
    played = play(tmp_path, [*[[("watch", {})]] * 4, "Done."], plugins=plugins)
    assert [result.output for result in played.results] == ["one", "two", "three", "four"]
    assert played.report["stop_reason"] == "done"


def test_a_message_of_the_person_begins_the_counts_anew(tmp_path):
    turns = [[("look", {})], [("look", {})], "Nothing.", [("look", {})], [("look", {})], "Nothing."]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, model):
        list(session.run("look"))
        list(session.run("look again"))
        assert session.report.stop_reason == "done"
        outputs = [
            each.output
            for request in model.requests[-1:]
            for message in request.messages
            for each in message.results
        ]
    assert outputs == ["nothing at here", ALREADY_DONE] * 2


def test_the_stopped_request_counts_as_no_turn_and_can_be_followed_by_another_prompt(tmp_path):
    scripted = small([*[[("look", {})]] * 3, "Nothing.", "I see."])
    with opened(tmp_path, model=scripted, plugins=TOOLS) as (session, model):
        events = list(session.run("look"))
        assert (session.report.stop_reason, session.report.turns) == ("loop", 3)
        assert (len(model.requests), session.report.text) == (4, "Nothing.")
        started = [event.data["turn"] for event in events if event.kind == "request.started"]
        assert started == [1, 2, 3, 3]
        list(session.run("what do you see?"))
        assert (session.report.stop_reason, session.report.text) == ("done", "I see.")


class Loud:
    """A dialect with other names for the same tools."""

    name = "loud"

    def offer(self, tools):
        return [{"name": "LOOK", "description": "Look.", "parameters": {}} for _ in tools]

    def canonical(self, call):
        return ToolCall(call.id, call.name.lower(), {})

    def render(self, call, result):
        return result.output

    @hookimpl
    def nanocoder_dialects(self):
        return [self]


@tool(risk="medium", effects={Effect.WRITE})
def put(ctx) -> ToolResult:
    """Put a file there."""
    ctx.workspace.write_text("a.txt", "x")
    return ToolResult("put", data={}, metadata={"path": "a.txt"})


class Both:
    @hookimpl
    def nanocoder_tools(self):
        return [look, put]

    @hookimpl
    def nanocoder_before_execute(self):
        return Verdict(Decision.ALLOW, "a test")


def test_a_call_of_a_dialect_is_known_by_its_canonical_name(tmp_path):
    turns = [[("PUT", {})], *[[("LOOK", {"at": n})] for n in range(FULL.in_a_row)], "Done."]
    plugins = {"tools": Both(), "loud": Loud(), "policy-repetition": repetition}
    played = play(tmp_path, turns, plugins=plugins, dialect="loud", mode="auto")
    outputs = [result.output for result in played.results]
    assert outputs == ["put", "nothing at here", *[ALREADY_DONE] * (FULL.in_a_row - 1)]
    assert played.report["stop_reason"] == "loop"


@given(st.text(), st.from_regex(TIMES, fullmatch=True), st.text())
def test_every_text_with_a_time_has_what_is_sought_first(before, time, after):
    text = f"{before}{time}{after}"
    assert re.search(TRACE_OF_TIMES, text) or not re.search(TIMES, text)
