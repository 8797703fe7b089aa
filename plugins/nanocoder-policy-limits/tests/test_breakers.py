"""When a tool is left alone, when it is tried again, and what counts as its failure."""

import threading
from typing import Annotated

import nanocoder_policy_limits as limits
import pytest
from nanocoder import Decision, SessionInfo, ToolCall, ToolError, Verdict, hookimpl, tool
from nanocoder_policy_limits import Settings, nanocoder_before_execute
from nanocoder_policy_limits.breakers import MAX_KEPT, Breakers
from nanocoder_testing import Tools, opened, play

KEY = ("s", "look")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breakers(clock):
    return Breakers(clock)


def fail(breakers, times, call_id="x", threshold=3):
    for _ in range(times):
        breakers.record_failure(KEY, call_id, threshold, "timeout")


def wait_of(breakers, call_id="x", threshold=3, cooldown_s=10.0):
    return breakers.seconds_to_wait(KEY, call_id, threshold, cooldown_s)[0]


@pytest.mark.contract("NT-66")
def test_it_opens_after_so_many_failures_in_a_row_and_says_for_how_long(breakers, clock):
    fail(breakers, 2)
    assert wait_of(breakers) == 0.0
    fail(breakers, 1)
    assert breakers.seconds_to_wait(KEY, "x", 3, 10.0) == (10.0, "timeout")
    clock.now += 9.0
    assert wait_of(breakers) == 1.0


def test_a_call_that_works_in_between_starts_the_count_anew(breakers):
    fail(breakers, 2)
    breakers.record_success(KEY, "x", 3)
    fail(breakers, 2)
    assert wait_of(breakers) == 0.0
    assert len(breakers) == 1


@pytest.mark.contract("NT-66")
def test_after_the_cool_down_one_call_tries_and_closes_it_or_opens_it_again(breakers, clock):
    fail(breakers, 3)
    clock.now += 10.0
    assert wait_of(breakers, "trial") == 0.0
    assert wait_of(breakers, "other") == 10.0
    breakers.record_failure(KEY, "trial", 3, "timeout")
    assert wait_of(breakers, "trial") == 10.0
    clock.now += 10.0
    assert wait_of(breakers, "again") == 0.0
    breakers.record_success(KEY, "again", 3)
    assert wait_of(breakers, "other") == 0.0


@pytest.mark.contract("NT-66")
def test_of_many_calls_at_the_same_time_one_is_the_trial(breakers, clock):
    fail(breakers, 3)
    clock.now += 10.0
    waits: list[float] = []
    threads = [
        threading.Thread(target=lambda n=n: waits.append(wait_of(breakers, f"call-{n}")))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [0.0] + [10.0] * 19


def test_a_trial_that_is_asked_about_again_is_still_the_trial(breakers, clock):
    fail(breakers, 3)
    clock.now += 10.0
    assert [wait_of(breakers, "trial"), wait_of(breakers, "trial")] == [0.0, 0.0]


def test_a_trial_that_never_ran_leaves_its_place_to_another(breakers, clock):
    fail(breakers, 3)
    clock.now += 10.0
    wait_of(breakers, "refused")
    breakers.forget_trial(KEY, "refused")
    assert wait_of(breakers, "second") == 0.0
    clock.now += 10.0
    assert wait_of(breakers, "third") == 0.0, "nothing was heard of the second"


def test_calls_that_began_before_it_opened_change_nothing(breakers, clock):
    fail(breakers, 3)
    clock.now += 5.0
    breakers.record_success(KEY, "old", 3)
    breakers.record_failure(KEY, "older", 3, "timeout")
    assert wait_of(breakers) == 5.0


def test_tools_that_failed_long_ago_are_forgotten_before_they_fill_the_memory(breakers):
    for number in range(MAX_KEPT + 5):
        breakers.record_failure(number, "x", 1, "timeout")
    assert len(breakers) == MAX_KEPT
    assert breakers.seconds_to_wait(0, "x", 1, 10.0)[0] == 0.0
    assert breakers.seconds_to_wait(MAX_KEPT, "x", 1, 10.0)[0] > 0.0


# In a session


def flaky(*errors):
    """Make a tool that fails with one of *errors* after the other, then works."""
    remaining = list(errors)

    @tool(risk="safe", effects={"read"})
    def look(target: Annotated[str, "Where."] = "x") -> str:
        """Look at a target."""
        if remaining:
            raise remaining.pop(0)
        return f"looked at {target}"

    return look


@pytest.fixture
def run(tmp_path, clock):
    """Make some calls of look, a turn each, and return the error class and text of each."""

    def play_it(tool, calls, advance=0.0, **settings):
        table = Settings(**{"breaker_failures": 2, "breaker_cooldown_s": 10.0, **settings})
        table.breakers.clock = clock

        class Time:
            @hookimpl
            def nanocoder_event(self, event):
                if event.kind == "request.started":
                    clock.now += advance

        plugins = {"tools": Tools(tool), "policy-limits": limits, "time": Time()}
        turns = [[("look", {"target": str(n)})] for n in range(calls)]
        played = play(
            tmp_path, [*turns, "Done."], plugins=plugins, settings={"policy-limits": table}
        )
        return [(result.error_class, result.output) for result in played.results]

    return play_it


@pytest.mark.contract("NT-66")
def test_the_model_reads_that_the_tool_is_left_alone_and_when_to_try_again(run):
    results = run(flaky(OSError("gone"), OSError("gone")), 3)
    assert [error_class for error_class, _ in results] == ["tool_broken", "tool_broken", "denied"]
    assert results[2][1] == (
        "denied: look keeps failing (tool_broken): wait 10 s, or use another tool"
    )


@pytest.mark.contract("NT-66")
def test_it_closes_when_the_trial_works(run):
    results = run(flaky(OSError("gone"), OSError("gone")), 5, advance=5.0)
    assert [error_class for error_class, _ in results] == [
        "tool_broken",
        "tool_broken",
        "denied",
        "",
        "",
    ]


@pytest.mark.contract("NT-66")
@pytest.mark.parametrize("error_class", ["file_not_found", "denied", "invalid_arguments"])
def test_what_is_not_the_tools_fault_never_opens_it(run, error_class):
    errors = [ToolError(f"no {number}", error_class=error_class) for number in range(4)]
    assert [actual for actual, _ in run(flaky(*errors), 5)] == [error_class] * 4 + [""]


def test_which_errors_count_is_a_setting_and_nought_switches_it_off(run):
    results = run(flaky(*[ToolError("no", error_class="mine")] * 2), 3, breaker_faults=("mine",))
    assert [error_class for error_class, _ in results] == ["mine", "mine", "denied"]
    results = run(flaky(*[OSError("gone")] * 4), 5, breaker_failures=0)
    assert results[-1] == ("", "looked at 4")


@tool(risk="safe", effects={"read"}, timeout_s=0)
def own(timeout: float = 9.0, target: str = "x") -> str:
    """Look, and watch the time itself."""
    raise ToolError(f"not within {timeout} s", error_class="timeout")


@tool(risk="safe", effects={"read"}, timeout_s=0.01)
def slow(ctx, timeout: float = 9.0, target: str = "x") -> str:
    """Look until the tool's limit."""
    ctx.cancelled.wait(timeout)
    ctx.cancelled.check()
    return "seen"


@pytest.mark.contract("NT-66")
@pytest.mark.parametrize(
    ("used", "arguments", "last"),
    [
        (own, {"timeout": 1.0}, "timeout"),
        (own, {}, "denied"),
        (slow, {"timeout": 5.0}, "denied"),
        (slow, {}, "denied"),
    ],
)
def test_a_limit_that_the_call_chose_says_nothing_about_the_tool(tmp_path, used, arguments, last):
    table = Settings(breaker_failures=2)
    turns = [[(used.name, {**arguments, "target": str(n)})] for n in range(3)]
    plugins = {"tools": Tools(used), "policy-limits": limits}
    played = play(tmp_path, [*turns, "Done."], plugins=plugins, settings={"policy-limits": table})
    assert [result.error_class for result in played.results] == ["timeout", "timeout", last]


def test_chosen_limits_are_told_once_and_do_not_fill_the_memory(breakers):
    for number in range(MAX_KEPT + 1):
        breakers.remember_own_limit(number)
    assert [breakers.forget_own_limit(call) for call in (0, 1, 1)] == [False, True, False]


@pytest.mark.contract("NT-66")
def test_a_closed_breaker_never_turns_a_no_into_a_yes(tmp_path):
    class No:
        @hookimpl
        def nanocoder_before_execute(self):
            return Verdict(Decision.DENY, "never")

    plugins = {"tools": Tools(flaky()), "policy-limits": limits, "policy-no": No()}
    with opened(tmp_path, plugins=plugins) as (session, _):
        *_, last = session.call("look", {})
    assert last.data["output"] == "denied: never"


def test_each_session_has_its_own(tmp_path, clock):
    settings = Settings(breaker_failures=1)
    settings.breakers.clock = clock
    settings.breakers.record_failure(("one", "look"), "x", 1, "timeout")
    judged = [
        nanocoder_before_execute(
            ToolCall("1", "look"), flaky(), SessionInfo(name, tmp_path), settings
        )
        for name in ("one", "two")
    ]
    assert [verdict and verdict.decision for verdict in judged] == [Decision.DENY, None]
