"""A fast stream is painted as often as eyes can follow, and no more."""

import io

import pytest
from nanocoder import Event
from nanocoder_ui_terminal import Settings
from nanocoder_ui_terminal.live_lines import BEGIN_FRAME
from nanocoder_ui_terminal.screen import FRAME_S, TextScreen
from nanocoder_ui_terminal.terminal import Terminal

PIECES = 20_000
STEP_S = 0.0001


@pytest.fixture
def now(monkeypatch):
    """Set the clock."""
    times = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: times[0])
    return times


@pytest.mark.parametrize("kind", ["text", "call.progress"])
def test_twenty_thousand_pieces_are_painted_at_most_every_sixteen_milliseconds(now, kind):
    out = io.StringIO()
    screen = TextScreen(Terminal(out, moves=True), Settings())
    screen.show(Event("call.received", {"tool": "bash", "arguments": {}}, "a"))
    screen.show(Event("call.started", {"tool": "bash", "arguments": {}}, "a"))
    now[0] += 1
    before = out.getvalue().count(BEGIN_FRAME)
    for number in range(PIECES):
        now[0] += STEP_S
        screen.show(Event(kind, {"text": f"{number}\n", "is_output": True}, "a"))
    painted = out.getvalue().count(BEGIN_FRAME) - before
    assert 1 < painted <= PIECES * STEP_S / FRAME_S + 1


@pytest.mark.timeout(90)
def test_a_screen_that_is_painted_anew_is_never_cleared(start):
    """A terminal that is cleared from its first row keeps what was there in its history."""
    command = {"name": "bash", "arguments": {"command": "sleep 0.5; echo one; echo two; sleep 0.5"}}
    script = [{"delay_s": 0.5, "calls": [command]}, {"text": "Done.", "deltas": 5}]
    talk = start(["run", "--mode", "auto", "go"], *script)
    assert talk.end() == 0
    assert talk.text.startswith("• bash")
    assert "\x1b[J" not in talk.raw
