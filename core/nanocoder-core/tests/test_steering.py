"""A person's words while the model works, and the wall clock of a run."""

import time
from typing import Annotated

import nanocoder
import pytest
from nanocoder import Effect, Finished, StopReason, Usage, tool
from nanocoder_testing import Scripted, Tools, opened


@tool(risk="safe", effects={Effect.READ})
def look(at: Annotated[str, "Where."] = "here") -> str:
    """Look around."""
    return f"nothing at {at}"


@tool(risk="safe", effects={Effect.READ}, timeout_s=0)
def wait(ctx: nanocoder.ToolContext) -> str:
    """Wait until it is stopped."""
    ctx.cancelled.wait(30)
    return f"stopped: {ctx.cancelled.reason}"


TOOLS = {"tools": Tools(look, wait)}


@pytest.mark.contract("N5")
def test_what_is_typed_while_a_call_runs_goes_with_the_next_request(tmp_path):
    turns = [[("look", {"at": "a"})], "Done."]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, model):
        kinds = []
        for event in session.run("go"):
            kinds.append(event.kind)
            if event.kind == "call.started":
                session.steer("look at b, too")
                session.steer("and at c")
            if event.kind == "run.steered":
                assert event.data["prompt"] in {"look at b, too", "and at c"}
        first, second = model.requests
        assert [message.role for message in second.messages][-2:] == ["tool", "user"]
        assert second.messages[-1].text == "look at b, too\n\nand at c"
        assert len(first.messages) == 1
        assert kinds.index("call.returned") < kinds.index("run.steered")
        assert kinds.count("run.steered") == 2


@pytest.mark.contract("N5")
def test_a_run_that_would_have_ended_goes_on_with_what_was_typed(tmp_path):
    with opened(tmp_path, ["First.", "Second."], plugins=TOOLS) as (session, _):
        for event in session.run("go"):
            if event.kind == "text" and event.data["text"] == "First.":
                session.steer("and now the second")
        assert session.report.text == "Second."
        assert [message.text for message in session.messages] == [
            "go",
            "First.",
            "and now the second",
            "Second.",
        ]


@pytest.mark.contract("F9")
def test_what_was_typed_is_not_sent_once_the_budget_is_used_up(tmp_path, home):
    answer = Finished("Done.", usage=Usage(input_tokens=90, output_tokens=20))
    with limited(tmp_path, home, "max_tokens = 100", [answer, "never"]) as (session, model):
        for event in session.run("go"):
            if event.kind == "request.started":
                session.steer("and more")
        assert session.report.stop_reason is StopReason.BUDGET
        assert len(model.requests) == 1


def test_words_without_a_run_are_not_sent(tmp_path):
    with opened(tmp_path, ["Done.", "Again."], plugins=TOOLS) as (session, model):
        session.steer("too early")
        list(session.run("go"))
        session.steer("too late")
        list(session.run("more"))
        assert [
            message.text for message in model.requests[1].messages if message.role == "user"
        ] == [
            "go",
            "more",
        ]


def limited(tmp_path, home, limit, turns, **options):
    config = home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"{limit}\n")
    environment = {"HOME": str(home)}
    return opened(tmp_path, turns, plugins=TOOLS, environment=environment, **options)


@pytest.mark.contract("F9")
def test_the_wall_clock_stops_a_running_call_and_its_result_is_kept(tmp_path, home):
    turns = [[("look", {})], [("wait", {})], "never"]
    with limited(tmp_path, home, "max_seconds = 2", turns) as (session, _):
        began = time.monotonic()
        events = list(session.run("go"))
        assert time.monotonic() - began < 5
        report = session.report
        assert report.stop_reason is StopReason.BUDGET
        assert report.exit_code == 5
        assert report.error["message"] == (
            "stopped at the limit of 2 s (max_seconds, --max-seconds)"
        )
        assert events[-1].data["signal"] is None
        results = [result for message in session.messages for result in message.results]
        assert results[0].output == "nothing at here"
        assert len(results) == 2


@pytest.mark.contract("F9")
def test_the_wall_clock_stops_a_request_and_the_next_run_has_its_own(tmp_path, home):
    class Slow(Scripted):
        def stream(self, request, cancel):
            if len(request.messages) == 1:
                cancel.wait(30)
                cancel.check()
            yield Finished("Done.")

    with limited(tmp_path, home, "max_seconds = 0.3", (), model=Slow([])) as (session, _):
        list(session.run("go"))
        assert session.report.stop_reason is StopReason.BUDGET
        list(session.run("again"))
        assert session.report.stop_reason is StopReason.DONE


def test_an_interrupt_before_the_time_is_over_is_an_interrupt(tmp_path, home):
    with limited(tmp_path, home, "max_seconds = 20", [[("wait", {})]]) as (session, _):
        for event in session.run("go"):
            if event.kind == "call.started":
                session.interrupt(signal=2)
        assert session.report.stop_reason is StopReason.INTERRUPTED
        assert session.report.exit_code == 130
