"""Who runs at once, who waits, and who is told to come back."""

import itertools
import threading
import time
from pathlib import Path
from typing import Annotated

import pytest
from nanocoder import (
    CallLimit,
    Cancel,
    Cancelled,
    Effect,
    SessionInfo,
    ToolContext,
    ToolError,
    tool,
)
from nanocoder.tools.queue import Admission
from nanocoder_testing import Tools, opened, play

HERE = SessionInfo("", Path.cwd())


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


def admission_of(most: int, **options) -> Admission:
    return Admission(CallLimit(most), **options)


# The limit


@pytest.mark.contract("NT-91")
def test_the_limit_of_a_session_is_what_it_admits():
    limit = CallLimit(4)
    admission = Admission(limit)
    first = [admission.slot(look, {}, is_step=False, session=HERE) for _ in range(4)]
    limit.lower_to(2)
    for slot in first:
        admission.leave(slot)
    slots = [admission.slot(look, {}, is_step=False, session=HERE) for _ in range(4)]
    assert [slot.runs for slot in slots] == [True, True, False, False]


def test_the_limit_stays_between_one_call_and_what_is_configured():
    limit = CallLimit(4)
    limits = []
    for current in (9, 3, 0, -5, 4):
        limit.lower_to(current)
        limits.append(limit.current)
    assert limits == [4, 3, 1, 1, 4]


def test_a_slot_knows_how_many_calls_worked_beside_it_and_a_composed_call_works_not():
    admission = admission_of(3)
    slots = [
        admission.slot(look, {}, is_step=False, session=HERE),
        admission.slot(boss, {}, is_step=False, session=HERE),
        admission.slot(look, {}, is_step=True, session=HERE),
    ]
    assert [admission.running_beside(slot) for slot in slots] == [2, 0, 2]


# The queue


@pytest.mark.contract("NT-92")
def test_a_call_beyond_the_bound_is_told_how_many_wait():
    admission = admission_of(1, waiting=2)
    slots = [admission.slot(look, {}, is_step=False, session=HERE) for _ in range(3)]
    assert [slot.position for slot in slots] == [0, 1, 2]
    with pytest.raises(ToolError, match="busy: 2 calls are waiting; send fewer at once") as caught:
        admission.slot(look, {}, is_step=False, session=HERE)
    assert caught.value.error_class == "busy"
    admission.leave(slots[0])
    assert [slot.runs for slot in slots] == [False, True, False]
    assert admission.slot(look, {}, is_step=False, session=HERE).position == 2


@pytest.mark.contract("NT-92")
def test_a_waiting_call_ends_with_its_cancel_and_leaves_no_gap():
    admission = admission_of(1)
    first, second, third = (admission.slot(look, {}, is_step=False, session=HERE) for _ in range(3))
    cancel = Cancel()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(Cancelled), second:
        second.wait(cancel)
    admission.leave(first)
    assert third.runs
    assert third.wait(Cancel()) >= 0.0


def test_who_came_first_goes_first():
    admission = admission_of(1)
    slots = [admission.slot(look, {}, is_step=False, session=HERE) for _ in range(4)]
    for before, after in itertools.pairwise(slots):
        admission.leave(before)
        assert [slot.runs for slot in slots].index(True) == slots.index(after)


# CONC-011
def test_writers_of_one_path_go_one_after_the_other_and_hold_nobody_else_back():
    admission = admission_of(8)
    first = admission.slot(change, {"path": "a"}, is_step=False, session=HERE)
    second = admission.slot(change, {"path": "./a"}, is_step=True, session=HERE)
    other = admission.slot(change, {"path": "b"}, is_step=False, session=HERE)
    assert [first.runs, second.runs, other.runs] == [True, False, True]
    admission.leave(first)
    assert second.runs


def test_composed_calls_wait_for_their_like_alone_so_that_their_steps_never_wait_for_them():
    admission = admission_of(1)
    outer = [admission.slot(boss, {}, is_step=False, session=HERE) for _ in range(2)]
    step, nested = (
        admission.slot(look, {}, is_step=True, session=HERE),
        admission.slot(boss, {}, is_step=True, session=HERE),
    )
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
        ctx.cancelled.wait(40)
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


@pytest.mark.parametrize("spelling", ["./a", "link", "d/../a", "{root}/a", "d/deep/../../a"])
def test_two_names_of_one_file_have_one_writer_at_a_time(tmp_path, spelling):
    (tmp_path / "a").write_text("")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "d").symlink_to("sub")
    session = SessionInfo("s", tmp_path)
    admission = admission_of(8)
    first = admission.slot(change, {"path": "a"}, is_step=False, session=session)
    other = {"path": spelling.format(root=tmp_path)}
    second = admission.slot(change, other, is_step=False, session=session)
    assert (first.runs, second.runs) == (True, False)


def test_one_name_in_two_workspaces_is_two_files(tmp_path):
    admission = admission_of(8)
    slots = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        session = SessionInfo("s", tmp_path / name)
        slots.append(admission.slot(change, {"path": "a"}, is_step=False, session=session))
    assert [slot.runs for slot in slots] == [True, True]
