"""Who runs at once, who waits, who is told to come back, and how the limit follows the load."""

import itertools
import threading
import time
from typing import Annotated

import pytest
from nanocoder import (
    Cancel,
    Cancelled,
    Effect,
    SessionInfo,
    ToolContext,
    ToolError,
    hookimpl,
    tool,
)
from nanocoder.path.queue import LEARNED_CALLS, Admission, Limiter
from nanocoder_testing import opened, play


@tool(risk="safe", effects={Effect.READ})
def look(tag: Annotated[str, "Which."] = "") -> str:
    """Look at something."""
    return tag


@tool(risk="medium", effects={Effect.WRITE})
def change(path: Annotated[str, "What."]) -> str:
    """Change something."""
    return path


@tool(risk="safe", effects={Effect.READ}, composed_of=["look"])
def boss(ctx: ToolContext, tag: Annotated[str, "Which."] = "") -> str:
    """Let another tool do the work."""
    return ctx.call("look", {"tag": tag}).output


class Tools:
    def __init__(self, *tools):
        self.tools = tools

    @hookimpl
    def nanocoder_tools(self):
        return list(self.tools)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# The limit


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


@pytest.mark.contract("NT-91")
def test_the_limit_of_a_session_is_what_it_admits():
    clock = Clock()
    admission = Admission(4, clock=clock)
    for _ in range(LEARNED_CALLS):
        with admission.slot(look, {}, is_step=False) as slot:
            admission.learn(slot, "look", 1.0, "")
    kind = [admission.slot(look, {}, is_step=False) for _ in range(4)]
    clock.now += 60.0
    for slot in kind:
        admission.learn(slot, "look", 60.0, "")
        admission.leave(slot)
    slots = [admission.slot(look, {}, is_step=False) for _ in range(4)]
    assert [slot.runs for slot in slots] == [True, True, False, False]


def test_failures_and_composed_calls_say_nothing_about_the_load():
    admission = Admission(2)
    slots = [
        admission.slot(look, {}, is_step=False),
        admission.slot(boss, {}, is_step=False),
        admission.slot(look, {}, is_step=False),
    ]
    for _ in range(20):
        admission.learn(slots[1], "boss", 100.0, "timeout")
        admission.learn(slots[0], "look", 100.0, "file_not_found")
        admission.learn(slots[0], "look", 100.0, "cancelled")
    assert admission.limiter.limit == 2


@tool(risk="safe", effects={Effect.READ})
def pause(timeout: Annotated[float, "Seconds."] = 60.0) -> str:
    """Wait for something, no longer than asked."""
    return f"nothing in {timeout}"


@pytest.mark.contract("NT-91")
def test_a_call_that_ended_at_a_limit_of_its_own_choice_says_nothing_about_the_load():
    admission = Admission(8)
    slots = [admission.slot(pause, {"timeout": 1}, is_step=False) for _ in range(8)]
    for slot in slots:
        admission.learn(slot, "pause", 1.0, "timeout")
        admission.leave(slot)
    assert admission.limiter.limit == 8
    slots = [admission.slot(pause, {}, is_step=False) for _ in range(8)]
    for slot in slots:
        admission.learn(slot, "pause", 60.0, "timeout")
    assert admission.limiter.limit == 5


# The queue


@pytest.mark.contract("NT-92")
def test_a_call_beyond_the_bound_is_told_how_many_wait():
    admission = Admission(1, waiting=2)
    slots = [admission.slot(look, {}, is_step=False) for _ in range(3)]
    assert [slot.position for slot in slots] == [0, 1, 2]
    with pytest.raises(ToolError, match="busy: 2 calls are waiting; send fewer at once") as caught:
        admission.slot(look, {}, is_step=False)
    assert caught.value.error_class == "busy"
    admission.leave(slots[0])
    assert [slot.runs for slot in slots] == [False, True, False]
    assert admission.slot(look, {}, is_step=False).position == 2


@pytest.mark.contract("NT-92")
def test_a_waiting_call_ends_with_its_cancel_and_leaves_no_gap():
    admission = Admission(1)
    first, second, third = (admission.slot(look, {}, is_step=False) for _ in range(3))
    cancel = Cancel()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(Cancelled), second:
        second.wait(cancel)
    admission.leave(first)
    assert third.runs
    assert third.wait(Cancel()) >= 0.0


def test_who_came_first_goes_first():
    admission = Admission(1)
    slots = [admission.slot(look, {}, is_step=False) for _ in range(4)]
    for before, after in itertools.pairwise(slots):
        admission.leave(before)
        assert [slot.runs for slot in slots].index(True) == slots.index(after)


# CONC-011
def test_writers_of_one_path_go_one_after_the_other_and_hold_nobody_else_back():
    admission = Admission(8)
    first = admission.slot(change, {"path": "a"}, is_step=False)
    second = admission.slot(change, {"path": "./a"}, is_step=True)
    other = admission.slot(change, {"path": "b"}, is_step=False)
    assert [first.runs, second.runs, other.runs] == [True, False, True]
    admission.leave(first)
    assert second.runs


def test_composed_calls_wait_for_their_like_alone_so_that_their_steps_never_wait_for_them():
    admission = Admission(1)
    outer = [admission.slot(boss, {}, is_step=False) for _ in range(2)]
    step, nested = admission.slot(look, {}, is_step=True), admission.slot(boss, {}, is_step=True)
    assert [slot.runs for slot in [*outer, step, nested]] == [True, False, True, True]


# In a session


@pytest.mark.contract("NT-92")
def test_the_model_reads_that_too_many_wait_and_the_others_run(tmp_path):
    settings = tmp_path / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text("concurrency = 1\nmax_waiting_calls = 2\n")
    entered = threading.Semaphore(0)

    @tool(risk="safe", effects={Effect.READ})
    def wait_for_all(ctx: ToolContext, tag: Annotated[str, "Which."]) -> str:
        """Wait until the refused call has been answered."""
        entered.acquire(timeout=8)
        return tag

    turns = [[("wait_for_all", {"tag": tag}) for tag in "abcde"], "Done."]
    with opened(tmp_path, turns, plugins={"tools": Tools(wait_for_all)}) as (session, _):
        events = []
        for event in session.run("go"):
            events.append(event)
            if event.kind == "call.failed" and len([e for e in events if e.kind == event.kind]) > 1:
                entered.release(3)
        results = session.messages[2].results
    refused = [one for one in results if one.error_class == "busy"]
    assert len(refused) == 2
    assert {one.output for one in refused} == {"busy: 2 calls are waiting; send fewer at once"}
    queued = [event.data["position"] for event in events if event.kind == "call.queued"]
    assert sorted(queued) == [1, 2]
    waited = [one for one in results if not one.is_error]
    assert sum("queued_ms" in one.metadata for one in waited) == 2


@pytest.mark.contract("NT-92")
def test_an_interrupt_ends_calls_that_wait(tmp_path):
    settings = tmp_path / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text("concurrency = 1\n")

    @tool(risk="safe", effects={Effect.READ})
    def patient(ctx: ToolContext, tag: Annotated[str, "Which."]) -> str:
        """Wait until told to stop, for tests."""
        ctx.cancelled.wait(8)
        ctx.cancelled.check()
        return tag

    turns = [[("patient", {"tag": tag}) for tag in "abc"], "never"]
    with opened(tmp_path, turns, plugins={"tools": Tools(patient)}) as (session, _):
        for event in session.run("go"):
            if event.kind == "call.queued":
                session.interrupt()
                interrupted = time.monotonic()
        assert time.monotonic() - interrupted < 1.5
        assert {one.error_class for one in session.messages[-1].results} == {"cancelled"}


@pytest.mark.contract("MA-120")
def test_the_steps_of_composed_calls_count_too(tmp_path):
    settings = tmp_path / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text("concurrency = 3\n")
    lock, now, most = threading.Lock(), [0], [0]

    @tool(name="look", risk="safe", effects={Effect.READ})
    def busy(tag: Annotated[str, "Which."]) -> str:
        """Count how many run at once."""
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return tag

    @tool(risk="safe", effects={Effect.READ}, composed_of=["look"])
    def crowd(ctx: ToolContext) -> str:
        """Let another tool work many times at once."""
        threads = [
            threading.Thread(target=ctx.call, args=("look", {"tag": str(n)})) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "done"

    turns = [[("crowd", {}), ("crowd", {})], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools(busy, crowd)})
    assert [one.output for one in played.results] == ["done", "done"]
    assert 1 < most[0] <= 3


@pytest.mark.finding("C1")
@pytest.mark.parametrize("spelling", ["./a", "link", "d/../a", "{root}/a", "d/deep/../../a"])
def test_two_names_of_one_file_have_one_writer_at_a_time(tmp_path, spelling):
    (tmp_path / "a").write_text("")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "d").symlink_to("sub")
    session = SessionInfo("s", tmp_path)
    admission = Admission(8)
    first = admission.slot(change, {"path": "a"}, is_step=False, session=session)
    other = {"path": spelling.format(root=tmp_path)}
    second = admission.slot(change, other, is_step=False, session=session)
    assert (first.runs, second.runs) == (True, False)


@pytest.mark.finding("C1")
def test_one_name_in_two_workspaces_is_two_files(tmp_path):
    admission = Admission(8)
    slots = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        session = SessionInfo("s", tmp_path / name)
        slots.append(admission.slot(change, {"path": "a"}, is_step=False, session=session))
    assert [slot.runs for slot in slots] == [True, True]
