"""How the limit of calls at once follows the load."""

from typing import Annotated

import nanocoder_policy_limits
import pytest
from nanocoder import CallLimit, Event, SessionInfo, ToolContext, tool
from nanocoder_policy_limits import Settings, nanocoder_event
from nanocoder_policy_limits.adaptive import LEARNED_CALLS, Limiter
from nanocoder_testing import Tools, opened


def taught(most: int = 8, usual_s: float = 1.0) -> Limiter:
    """Return a limiter that knows a tool whose calls take *usual_s* seconds when alone."""
    limiter = Limiter(most)
    for at in range(LEARNED_CALLS):
        limiter.learn("look", at, at + usual_s, 1)
    return limiter


def round_of(limiter: Limiter, began: float, seconds: float, calls: int | None = None, **how):
    """Let as many calls as may end at once; returns the new limit."""
    running_beside = calls or limiter.limit
    for _ in range(running_beside):
        limiter.learn("look", began, began + seconds, running_beside, **how)
    return limiter.limit


@pytest.mark.contract("NT-91")
def test_the_limit_falls_when_calls_slow_each_other_down_and_recovers():
    limiter = taught()
    assert [round_of(limiter, 100.0 * n, 30.0) for n in range(1, 5)] == [5, 3, 2, 1]
    assert round_of(limiter, 900.0, 30.0) == 2, "alone it is no sign, and it may rise"
    limits = [round_of(limiter, 1_000.0 + n, 1.0) for n in range(9)]
    assert limits == sorted(limits)
    assert limits[-1] == 8


@pytest.mark.contract("NT-91")
def test_calls_that_ran_before_the_limit_fell_do_not_let_it_fall_again():
    limiter = taught()
    for ended in (130.0, 131.0, 132.0):
        limiter.learn("look", 100.0, ended, 8)
    assert limiter.limit == 5


@pytest.mark.contract("NT-91")
def test_a_call_that_times_out_beside_others_lets_the_limit_fall_and_one_alone_does_not():
    limiter = Limiter(8)
    limiter.learn("hang", 0.0, 1.0, 1, timed_out=True)
    assert limiter.limit == 8
    limiter.learn("hang", 2.0, 3.0, 8, timed_out=True)
    assert limiter.limit == 5


@pytest.mark.contract("NT-91")
def test_each_tool_is_compared_with_itself():
    limiter = taught(usual_s=0.01)
    for at in range(20):
        limiter.learn("build", at, at + 60.0, 8)
    assert limiter.limit == 8, "slow tools are not slowed tools"
    limiter.learn("look", 200.0, 201.0, 8)
    assert limiter.limit == 5


@pytest.mark.contract("NT-91")
def test_a_tool_whose_calls_differ_widely_is_slow_only_far_beyond_that():
    limiter = Limiter(8)
    for at, seconds in enumerate([0.1, 20.0, 1.0, 40.0, 0.5, 30.0, 2.0] * 3):
        limiter.learn("bash", at, at + seconds, 1)
    limiter.learn("bash", 100.0, 150.0, 8)
    assert limiter.limit == 8
    limiter.learn("bash", 200.0, 900.0, 8)
    assert limiter.limit == 5


def test_what_nobody_would_notice_is_not_slow():
    limiter = taught(usual_s=0.001)
    assert round_of(limiter, 100.0, 0.09) == 8


def test_a_tool_that_has_become_slow_for_good_is_learned_alone_and_the_limit_comes_back():
    limiter = taught()
    for at in range(400):
        round_of(limiter, 100.0 * (at + 1), 30.0)
    assert limiter.limit == 8


# From the events of a session


class Calls:
    """The calls of one session, as the hook hears of them."""

    def __init__(self, tmp_path, most: int) -> None:
        self.session = SessionInfo("s", tmp_path, call_limit=CallLimit(most))
        self.settings = Settings()

    @property
    def limit(self) -> int:
        return self.session.call_limit.current

    def end(self, seconds: float, beside: int | None, at: float, error_class="", arguments=()):
        started = {"tool": "look", "arguments": dict.fromkeys(arguments, 1)}
        self._hear(Event("call.started", started, "c", at - seconds))
        counted = {} if beside is None else {"running_beside": beside}
        data = {"tool": "look", "error_class": error_class, "ran_ms": seconds * 1_000, **counted}
        self._hear(Event("call.returned", {**data, "data": None}, "c", at))

    def _hear(self, event: Event) -> None:
        nanocoder_event(event, self.session, self.settings)


@pytest.mark.contract("NT-91")
def test_calls_that_slow_each_other_down_lower_the_limit_of_the_session(tmp_path):
    calls = Calls(tmp_path, 4)
    for at in range(LEARNED_CALLS):
        calls.end(1.0, 1, 100.0 + at)
    for _ in range(4):
        calls.end(60.0, 4, 200.0)
    assert calls.limit == 2
    for at in range(20):
        calls.end(1.0, calls.limit, 300.0 + at)
    assert calls.limit == 4


def test_failures_and_composed_calls_say_nothing_about_the_load(tmp_path):
    calls = Calls(tmp_path, 2)
    for at in range(20):
        calls.end(100.0, None, 1_000.0 * at, "timeout")
        calls.end(100.0, 2, 1_000.0 * at, "file_not_found")
        calls.end(100.0, 2, 1_000.0 * at, "cancelled")
    assert calls.limit == 2


@pytest.mark.contract("NT-91")
def test_a_call_that_ended_at_a_limit_of_its_own_choice_says_nothing_about_the_load(tmp_path):
    calls = Calls(tmp_path, 8)
    for _ in range(8):
        calls.end(1.0, 8, 100.0, "timeout", arguments=["timeout"])
    assert calls.limit == 8
    for _ in range(8):
        calls.end(60.0, 8, 200.0, "timeout")
    assert calls.limit == 5


@tool(risk="safe", effects={"read"})
def hang(ctx: ToolContext, seconds: Annotated[float, "For how long."]) -> str:
    """Do nothing until cancelled."""
    ctx.cancelled.wait(seconds)
    ctx.cancelled.check()
    return f"hung for {seconds:g} s"


@pytest.mark.contract("NT-91")
def test_after_calls_that_hung_beside_each_other_fewer_run_at_once(tmp_path):
    project = tmp_path / ".nanocoder/config.toml"
    project.parent.mkdir()
    project.write_text("call_timeout_s = 1.5\n")
    plugins = {"tools": Tools(hang), "policy-limits": nanocoder_policy_limits}
    long, short = ([("hang", {"seconds": s + n / 1_000}) for n in range(4)] for s in (9, 0.25))
    with opened(tmp_path, [long, short, "It hung."], plugins=plugins) as (session, _):
        events = list(session.run("go"))
        hung, rest = (message.results for message in session.messages if message.results)
    assert {result.error_class for result in hung} == {"timeout"}
    assert {result.error_class for result in rest} == {""}
    queued = [event.call_id for event in events if event.kind == "call.queued"]
    assert {call.split(".")[0] for call in queued} == {"c2"}, "the first four found room at once"
