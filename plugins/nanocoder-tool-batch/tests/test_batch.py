"""What runs in a batch, how, and what is told of it."""

import threading
import time
from types import SimpleNamespace

import nanocoder_tool_batch
import pytest
from nanocoder import (
    ApprovalAnswer,
    Attachment,
    BadArguments,
    Decision,
    ToolResult,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_testing import opened
from nanocoder_testing.playing import called
from nanocoder_tool_batch import batch

MEETING = threading.Barrier(5)


@tool(risk="safe", effects={"read"})
def echo(text: str, delay: float = 0) -> str:
    """Return the text."""
    time.sleep(delay)
    return text


@tool(risk="safe", effects={"read"})
def meet() -> str:
    """Wait until five are here."""
    MEETING.wait(timeout=40)
    return "met"


@tool(risk="safe", effects={"read"})
def fail() -> str:
    """Break."""
    raise RuntimeError("broken inside")


@tool(risk="medium", effects={"write"})
def append(ctx, path: str, text: str) -> str:
    """Append to a file, slowly."""
    time.sleep(0.02)
    with open(ctx.working_directory / path, "a", encoding="utf-8") as file:
        file.write(text)
    return "done"


@tool(risk="safe", effects={"read"})
def picture() -> ToolResult:
    """Show a picture."""
    return ToolResult("a picture", attachments=(Attachment("image/png", b"png"),))


@tool(risk="safe", effects={"read"}, timeout_s=0)
def wait_for_cancel(ctx) -> str:
    """Wait for an interruption."""
    ctx.cancelled.wait(40)
    return "waited"


@tool(risk="safe", effects={"read"})
def leave(code: int) -> ToolResult:
    """End as a command does."""
    failure = {"is_error": True, "error_class": "exit_nonzero"} if code else {}
    return ToolResult("output", metadata={"exit_code": code}, **failure)


OTHERS = [leave, echo, meet, fail, append, picture, wait_for_cancel]


@pytest.fixture
def run(tmp_path):
    def run_batch(*calls, plugins=(), **options):
        tool_calls = [{"tool": name, "parameters": parameters} for name, parameters in calls]
        others = SimpleNamespace(nanocoder_tools=hookimpl(lambda: OTHERS))
        together = {"tool-batch": nanocoder_tool_batch, "others": others, **dict(plugins)}
        with opened(tmp_path, plugins=together, **{"approve": yes, **options}) as (session, _):
            return called(session, "batch", {"tool_calls": tool_calls})

    return run_batch


def yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


@pytest.mark.contract("NA-53")
def test_results_come_in_the_order_of_the_calls(run):
    result, _ = run(("echo", {"text": "one", "delay": 0.2}), ("echo", {"text": "two"}))
    assert result.output == ("2 of 2 calls succeeded.\n\n[1] echo: ok\none\n\n[2] echo: ok\ntwo")
    assert result.metadata == {"succeeded": 2, "failed": 0, "total": 2}


@pytest.mark.contract("NA-53")
def test_the_calls_run_at_the_same_time(run):
    result, _ = run(*[("meet", {})] * 5)
    assert result.metadata["succeeded"] == 5


@pytest.mark.contract("NA-53")
def test_one_that_fails_stops_no_other(run):
    result, _ = run(("fail", {}), ("no_such", {}), ("echo", {"txt": 1}), ("echo", {"text": "fine"}))
    assert [entry["error_class"] for entry in result.data["calls"]] == [
        "tool_broken",
        "unknown_tool",
        "invalid_arguments",
        "",
    ]
    assert result.output.startswith("1 of 4 calls succeeded.")
    assert not result.is_error


def test_the_exit_code_of_each_step_that_failed_is_in_the_summary_and_in_the_data(run):
    result, _ = run(("leave", {"code": 3}), ("leave", {"code": 0}), ("leave", {"code": 7}))
    assert result.output.splitlines()[0] == (
        "1 of 3 calls succeeded."
        " Failed: 1 (exit_nonzero, exit code 3), 3 (exit_nonzero, exit code 7)."
    )
    assert "[3] leave: error (exit_nonzero, exit code 7)" in result.output
    assert [entry["exit_code"] for entry in result.data["calls"]] == [3, 0, 7]


def test_a_batch_of_which_nothing_worked_is_an_error(run):
    result, _ = run(("fail", {}))
    assert (result.is_error, result.error_class) == (True, "batch_failed")


@pytest.mark.contract("NA-53")
def test_calls_after_the_twenty_fifth_are_errors(run):
    result, _ = run(*[("echo", {"text": str(number)}) for number in range(27)])
    assert result.output.startswith("25 of 27 calls succeeded.")
    classes = [entry["error_class"] for entry in result.data["calls"]]
    assert classes == [""] * 25 + ["too_many_calls"] * 2
    assert "send the rest in another one" in result.output


@pytest.mark.contract("NA-53")
def test_a_batch_in_a_batch_is_refused(run):
    result, _ = run(("batch", {"tool_calls": [{"tool": "echo", "parameters": {"text": "x"}}]}))
    assert result.data["calls"][0]["error_class"] == "nested_call"


# CONC-015
@pytest.mark.contract("NA-53")
def test_each_call_is_judged_and_asked_for_by_itself(run, tmp_path):
    def judge(call, tool):
        if call.name == "append" and call.arguments["path"] == "forbidden":
            return Verdict(Decision.DENY, "not this one")
        return Verdict(Decision.ASK if call.name == "append" else Decision.ALLOW, "so")

    questions = []

    def approve(request):
        questions.append(request.call.arguments["path"])
        approved = request.call.arguments["path"] != "refused"
        return ApprovalAnswer(request.id, request.digest, approved)

    policy = SimpleNamespace(nanocoder_before_execute=hookimpl(judge))
    paths = ("agreed", "refused", "forbidden")
    result, _ = run(
        *[("append", {"path": path, "text": "x"}) for path in paths],
        plugins={"policy": policy},
        approve=approve,
    )
    assert [entry["error_class"] for entry in result.data["calls"]] == ["", "denied", "denied"]
    assert sorted(questions) == ["agreed", "refused"]
    assert [path.name for path in tmp_path.iterdir()] == ["agreed"]


def test_without_a_policy_agreeing_to_the_batch_agrees_to_none_of_its_calls(run):
    questions = []

    def approve(request):
        questions.append(request.call.name)
        return yes(request)

    run(
        ("append", {"path": "a", "text": "x"}),
        ("append", {"path": "b", "text": "x"}),
        approve=approve,
    )
    assert questions == ["append", "append"]


@pytest.mark.parametrize(
    "spelling", ["log.txt", "./log.txt", "link", "d/../log.txt", "d/l/../log.txt", "{root}/log.txt"]
)
def test_calls_about_one_path_keep_their_order(run, tmp_path, spelling):
    (tmp_path / "d").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("log.txt")
    (tmp_path / "d/l").symlink_to("../sub")
    spelling = spelling.format(root=tmp_path)
    calls = [("append", {"path": "log.txt", "text": str(number)}) for number in range(9)]
    run(*calls, ("append", {"path": spelling, "text": "9"}))
    assert (tmp_path / "log.txt").read_text() == "0123456789"


def test_every_step_is_an_event_of_its_own_call(run):
    _, events = run(*[("echo", {"text": "x"})] * 3)
    started = [
        event for event in events if event.kind == "call.started" and event.data["tool"] == "echo"
    ]
    assert {event.data["parent"] for event in started} == {"call-1"}
    assert len({event.call_id for event in started}) == 3
    returned = [event.call_id for event in events if event.kind == "call.returned"]
    assert sorted(returned) == sorted({*(event.call_id for event in started), "call-1"})
    texts = [event.data["text"] for event in events if event.kind == "call.progress"]
    assert "3 of 3 done" in texts


def test_attachments_come_along(run):
    result, _ = run(("picture", {}), ("picture", {}))
    assert [attachment.media_type for attachment in result.attachments] == ["image/png"] * 2


def test_a_long_output_gets_its_share_and_the_others_stay_whole(run):
    result, _ = run(("echo", {"text": "long " * 20_000}), ("echo", {"text": "short"}))
    assert len(result.output) < 45_000
    assert result.output.endswith("[2] echo: ok\nshort")


def test_an_interrupt_ends_all_of_it_within_a_second(tmp_path):
    from nanocoder import Cancel

    others = SimpleNamespace(nanocoder_tools=hookimpl(lambda: OTHERS))
    plugins = {"tool-batch": nanocoder_tool_batch, "others": others}
    cancel = Cancel()
    threading.Timer(0.3, cancel.set).start()
    started = time.monotonic()
    with opened(tmp_path, plugins=plugins, approve=yes) as (session, _):
        tool_calls = [{"tool": "wait_for_cancel", "parameters": {}}] * 3
        result, _ = called(session, "batch", {"tool_calls": tool_calls}, cancel=cancel)
    assert result.error_class == "cancelled"
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "arguments",
    [{}, {"tool_calls": []}, {"tool_calls": [{"parameters": {}}]}, {"tool_calls": [{"tool": 1}]}],
)
def test_malformed_batches_are_refused(arguments):
    with pytest.raises(BadArguments):
        batch.signature.check(arguments)


def test_a_call_without_arguments_needs_none(run):
    assert (
        batch.signature.check({"tool_calls": [{"tool": "echo"}]})["tool_calls"][0].parameters == {}
    )


def test_a_batch_that_is_more_than_may_wait_runs_all_of_its_calls(tmp_path, run):
    settings = tmp_path / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text("concurrency = 1\nmax_waiting_calls = 1\n")
    result, _ = run(*(("echo", {"text": f"call {number}", "delay": 0.05}) for number in range(8)))
    assert result.output.startswith("8 of 8 calls succeeded.")
    assert [f"call {number}" in result.output for number in range(8)] == [True] * 8
