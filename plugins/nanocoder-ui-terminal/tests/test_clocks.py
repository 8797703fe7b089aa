"""The times that stand beside calls."""

import io

import pytest
from nanocoder import Event
from nanocoder_ui_terminal import Settings
from nanocoder_ui_terminal.call_lines import Call, LineLimits, returned_lines, running_line
from nanocoder_ui_terminal.screen import TextScreen
from nanocoder_ui_terminal.terminal import Terminal

RETURNED = {"status": "ok", "output": "", "metadata": {}, "error_class": "", "title": ""}


@pytest.fixture
def now(monkeypatch):
    """Set the clock."""
    times = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: times[0])
    return times


def test_a_call_that_began_while_a_person_was_asked_takes_no_negative_time(now):
    out = io.StringIO()
    screen = TextScreen(Terminal(out), Settings())
    for call_id in ("outer", "inner"):
        screen.show(Event("call.received", {"tool": call_id, "arguments": {}}, call_id))
    screen.show(Event("call.started", {"tool": "outer", "arguments": {}}, "outer"))
    screen.show(Event("call.approval_requested", {}, "outer"))
    now[0] += 2
    screen.show(Event("call.started", {"tool": "inner", "arguments": {}}, "inner"))
    now[0] += 1
    screen.show(Event("call.approved", {"always": False}, "outer"))
    now[0] += 4
    screen.show(Event("call.returned", {**RETURNED, "tool": "inner"}, "inner"))
    screen.show(Event("call.returned", {**RETURNED, "tool": "outer"}, "outer"))
    screen.close()
    assert [line for line in out.getvalue().splitlines() if line] == [
        "• inner  4.0 s",
        "• outer  4.0 s",
    ]


def test_the_clock_of_a_call_starts_at_zero(now):
    call = Call("bash", {}, started=100.0)
    assert running_line(call, "-", Terminal(io.StringIO())) == "- bash  0 s"
    now[0] += 65
    assert running_line(call, "-", Terminal(io.StringIO())) == "- bash  1 min 05 s"


def test_a_short_call_says_what_it_found_in_place_of_milliseconds(now):
    call = Call("grep", {"pattern": "add"}, started=100.0)
    now[0] += 0.048
    data = {**RETURNED, "metadata": {"summary": "4 matches"}}
    lines = returned_lines(call, data, Terminal(io.StringIO()), LineLimits(12, 6, 6))
    assert lines == ["• grep add  4 matches"]


def test_the_lines_that_were_cut_before_are_counted(now):
    lines = [f"row {number}" for number in range(2_000)]
    output = "\n".join([*lines[:1_500], "[1,003 lines left out]", *lines[1_500:]])
    data = {**RETURNED, "output": output, "metadata": {"exit_code": 0}}
    drawn = returned_lines(Call("bash", {}), data, Terminal(io.StringIO()), LineLimits(12, 6, 6))
    assert drawn[1].strip() == "… 2,997 more lines"
