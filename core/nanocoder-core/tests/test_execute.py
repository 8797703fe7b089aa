"""The one path of a call: its events, its order, its failures."""

import shutil
import threading
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from nanocoder import (
    Cancel,
    Cancelled,
    Decision,
    Effect,
    Param,
    Resource,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    Understood,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_kit_sessions import testing
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import called

PATH = [
    "call.received",
    "call.normalised",
    "call.validated",
    "call.decided",
    "call.started",
    "call.finished",
    "call.returned",
]


class Judge:
    """A policy that says one thing of every call, or raises it."""

    def __init__(self, said: object) -> None:
        self.said = said
        self.heard: list[ToolCall] = []

    @hookimpl
    def nanocoder_before_execute(self, call):
        self.heard.append(call)
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def allowing() -> Judge:
    return Judge(Verdict(Decision.ALLOW, "tests may"))


@tool(risk="safe", effects={Effect.READ})
def echo(text: Annotated[str, "What to say."], times: Annotated[int, "How often."] = 1) -> str:
    """Say something as often as wanted."""
    return text * times


@tool(risk="medium", effects={Effect.WRITE})
def scribble(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
    """Write a word into a file."""
    ctx.workspace.write_text(path, "word\n")
    return "written"


def one(cwd: Path, name: str, arguments: Mapping[str, Any], **plugins: object):
    """Take one call down the path; returns its result and events."""
    with opened(cwd, plugins=plugins) as (session, _):
        return called(session, name, arguments)


@pytest.mark.contract("NT-52")
@pytest.mark.contract("NA-26")
def test_the_events_of_a_call_come_in_the_order_of_the_path(tmp_path):
    _, events = one(tmp_path, "echo", {"text": "a"}, tools=Tools(echo))
    assert [event.kind for event in events] == PATH
    assert {event.call_id for event in events} == {"call-1"}


@pytest.mark.contract("MA-119")
@pytest.mark.contract("NA-05")
def test_a_result_carries_its_call_its_duration_and_a_title(tmp_path):
    result, _ = one(tmp_path, "echo", {"text": "ab", "times": 2}, tools=Tools(echo))
    assert (result.output, result.title, result.call_id) == ("abab", "echo", "call-1")
    assert result.duration_ms > 0
    assert not result.is_error


@pytest.mark.contract("NT-07")
@pytest.mark.contract("LC-16")
@pytest.mark.contract("NA-22")
def test_an_unknown_tool_is_a_result_that_names_the_nearest(tmp_path):
    result, events = one(tmp_path, "ecco", {}, tools=Tools(echo))
    assert result.error_class == "unknown_tool"
    assert result.output.startswith("Unknown tool: ecco; did you mean 'echo'?")
    assert [event.kind for event in events] == ["call.received", "call.failed", "call.returned"]


def test_of_very_many_tools_an_unknown_one_names_the_nearest(tmp_path):
    def numbered(number):
        def work() -> str:
            """Work."""

        return tool(risk="safe", name=f"work_{number}")(work)

    tools = Tools(*map(numbered, range(100, 300)), echo)
    result, _ = one(tmp_path, "ecoh", {}, tools=tools)
    listed = result.output.partition(" Tools: ")[2].split(", ")
    assert (listed[0], listed[-1], len(listed)) == ("echo", "…", 21)


def test_wrong_arguments_never_reach_a_policy_or_the_handler(tmp_path):
    judge = allowing()
    result, _ = one(
        tmp_path, "echo", {"text": ["a", "b"], "tims": 2}, tools=Tools(echo), judge=judge
    )
    assert result.error_class == "invalid_arguments"
    assert "text" in result.output
    assert "tims" in result.output
    assert judge.heard == []


class Reads:
    """Understands every call as one of `echo`."""

    @hookimpl
    def nanocoder_understand(self, call):
        return Understood("echo", {"text": call.arguments["say"]}, ("say as text",))


def test_the_call_that_a_plugin_understands_is_judged_and_runs(tmp_path):
    judge = allowing()
    options = {"tools": Tools(echo), "judge": judge, "reads": Reads()}
    result, events = one(tmp_path, "Echo", {"say": "hello"}, **options)
    assert result.output == "hello\n[understood: say as text]"
    assert [(call.name, call.arguments) for call in judge.heard] == [("echo", {"text": "hello"})]
    received = next(event for event in events if event.kind == "call.received")
    assert received.data["tool"] == "Echo", "the journal keeps what the model wrote"
    result, _ = one(tmp_path, "Echo", {}, **options)
    assert result.error_class == "unknown_tool", "who breaks has no answer"


@pytest.mark.contract("NA-16")
@pytest.mark.parametrize(
    "error", [ValueError("boom"), SystemExit(3), MemoryError(), RecursionError("deep")]
)
def test_whatever_a_handler_raises_is_a_result(tmp_path, error):
    @tool(risk="safe", effects={Effect.READ})
    def burst() -> str:
        """Burst, for tests."""
        raise error

    result, events = one(tmp_path, "burst", {}, tools=Tools(burst))
    assert result.error_class == "tool_broken"
    assert result.title == "Error: burst"
    assert result.output.startswith("Error: burst of tools broke:")
    line = burst.handler.__code__.co_firstlineno + 3
    assert result.output.endswith(f" (tests/test_execute.py:{line})")
    assert result.metadata["error"] is True
    assert "Traceback" not in result.output
    assert events[-1].kind == "call.returned"


def test_a_tool_error_keeps_its_class_and_data(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def picky() -> str:
        """Refuse, for tests."""
        raise ToolError("not today", error_class="too_early", data={"wait": 3})

    result, _ = one(tmp_path, "picky", {}, tools=Tools(picky))
    assert (result.output, result.error_class, result.data) == (
        "not today",
        "too_early",
        {"wait": 3},
    )


@pytest.mark.parametrize(("value", "output"), [(None, ""), ({"b": 1}, '{"b":1}'), ([1], "[1]")])
def test_a_handler_may_return_json_or_nothing(tmp_path, value, output):
    @tool(risk="safe", effects={Effect.READ})
    def give() -> Any:
        """Give a value, for tests."""
        return value

    result, _ = one(tmp_path, "give", {}, tools=Tools(give))
    assert (result.output, result.data) == (output, value)


def test_an_async_handler_is_waited_for_and_cancelled(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, timeout_s=0.2)
    async def nap(seconds: Annotated[float, "How long."]) -> str:
        """Sleep for some seconds."""
        import asyncio

        await asyncio.sleep(seconds)
        return "rested"

    assert one(tmp_path, "nap", {"seconds": 0.01}, tools=Tools(nap))[0].output == "rested"
    result, _ = one(tmp_path, "nap", {"seconds": 9}, tools=Tools(nap))
    assert result.error_class == "timeout"


def test_a_handler_that_outstays_its_limit_is_left_behind_with_a_timeout(tmp_path):
    released = threading.Event()

    @tool(risk="safe", effects={Effect.READ}, timeout_s=0.1)
    def stuck() -> str:
        """Wait for ever, for tests."""
        released.wait(40)
        return "late"

    with opened(tmp_path, plugins={"tools": Tools(stuck)}) as (session, _):
        started = time.monotonic()
        result, events = called(session, "stuck", {})
        assert time.monotonic() - started < 2
        released.set()
    assert (result.error_class, result.is_error) == ("timeout", True)
    assert "longer than 0.1 s" in result.output
    assert events[-2].kind == "call.failed"


def test_what_a_handler_that_was_left_behind_says_is_not_kept(tmp_path):
    released, said, over = threading.Event(), threading.Event(), threading.Event()

    @tool(risk="safe", effects={Effect.READ}, timeout_s=0.1)
    def talker(ctx: ToolContext) -> str:
        """Speak long after the time is up, for tests."""
        released.wait(40)
        for number in range(200):
            ctx.progress(f"{number} {'x' * 100_000}")
        said.set()
        over.wait(40)
        return "late"

    with opened(tmp_path, plugins={"tools": Tools(talker)}) as (session, _):
        assert called(session, "talker", {})[0].error_class == "timeout"
        tracemalloc.start()
        try:
            released.set()
            assert said.wait(20)
            kept_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        over.set()
    assert kept_bytes < 2_000_000


def test_a_handler_that_stops_when_told_may_still_say_what_it_has(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, timeout_s=0.1)
    def polite(ctx: ToolContext) -> str:
        """Wait until told to stop, for tests."""
        ctx.cancelled.wait(40)
        return f"stopped: {ctx.cancelled.reason}"

    assert one(tmp_path, "polite", {}, tools=Tools(polite))[0].output == "stopped: timeout"


def test_a_handler_that_only_gives_up_timed_out(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, timeout_s=0.1)
    def patient(ctx: ToolContext) -> str:
        """Wait until told to stop, for tests."""
        ctx.cancelled.wait(40)
        ctx.cancelled.check()
        return "never"

    result, _ = one(tmp_path, "patient", {}, tools=Tools(patient))
    assert result.error_class == "timeout"
    assert "longer than 0.1 s" in result.output


# Cancelling at each step


@pytest.mark.contract("NA-04")
@pytest.mark.parametrize("step", PATH[:-1])
def test_a_cancel_at_any_step_ends_the_call_at_once(tmp_path, step):
    @tool(risk="safe", effects={Effect.READ})
    def patient(ctx: ToolContext) -> str:
        """Wait until told to stop, for tests."""
        ctx.cancelled.wait(40)
        ctx.cancelled.check()
        return "never"

    quick = step == "call.finished"
    cancel = Cancel()
    started = time.monotonic()
    with opened(tmp_path, plugins={"tools": Tools(patient, echo)}) as (session, _):
        call = ToolCall("c", "echo" if quick else "patient", {"text": "a"} if quick else {})
        steps = session.executor.turn([call], cancel)
        kinds = []
        result = None
        while result is None:
            try:
                event = next(steps)
            except StopIteration as end:
                [result] = end.value
                break
            kinds.append(event.kind)
            if event.kind == step:
                cancel.set()
    assert time.monotonic() - started < 1.5
    assert kinds[-1] == "call.returned"
    assert result.error_class == ("" if quick else "cancelled")


def test_a_cancel_does_not_wait_for_a_deaf_handler(tmp_path):
    released = threading.Event()

    @tool(risk="safe", effects={Effect.READ})
    def deaf() -> str:
        """Wait and hear nothing, for tests."""
        released.wait(40)
        return "late"

    cancel = Cancel()
    threading.Timer(0.1, cancel.set).start()
    with opened(tmp_path, plugins={"tools": Tools(deaf)}) as (session, _):
        started = time.monotonic()
        result, _ = called(session, "deaf", {}, cancel=cancel)
        assert time.monotonic() - started < 1.5
        released.set()
    assert result.error_class == "cancelled"


# Turns


def waiter(name: str, effects: set[Effect], barrier: threading.Barrier, log: list[str]):
    @tool(name=name, risk="safe" if effects == {Effect.READ} else "medium", effects=effects)
    def wait(tag: Annotated[str, "Which call."]) -> str:
        """Meet the other calls, or wait in vain."""
        log.append(f"+{tag}")
        try:
            barrier.wait(0.3)
            met = "met"
        except threading.BrokenBarrierError:
            met = "alone"
        log.append(f"-{tag}")
        return f"{tag} {met}"

    return wait


@pytest.mark.contract("CO-25")
def test_reading_calls_of_a_turn_overlap_and_answer_in_the_models_order(tmp_path):
    reader = waiter("look", {Effect.READ}, threading.Barrier(3), [])
    turns = [[("look", {"tag": tag}) for tag in "abc"], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools(reader)})
    assert [result.output for result in played.results] == ["a met", "b met", "c met"]


def test_results_keep_the_models_order_however_long_each_takes(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def nap(seconds: Annotated[float, "How long."]) -> str:
        """Sleep for some seconds."""
        time.sleep(seconds)
        return str(seconds)

    delays = [0.2, 0.0, 0.1]
    turns = [[("nap", {"seconds": delay}) for delay in delays], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools(nap)})
    assert [float(result.output) for result in played.results] == delays
    assert [one.call_id for one in played.results] == ["c1.1", "c1.2", "c1.3"]


@pytest.mark.contract("CO-25")
def test_one_writing_call_makes_its_turn_sequential(tmp_path):
    log: list[str] = []
    barrier = threading.Barrier(2)
    look = waiter("look", {Effect.READ}, barrier, log)
    change = waiter("change", {Effect.WRITE}, barrier, log)
    turns = [[("look", {"tag": "a"}), ("change", {"tag": "b"}), ("look", {"tag": "c"})], "Done."]
    plugins = {"tools": Tools(look, change), "policy-yes": allowing()}
    play(tmp_path, turns, plugins=plugins)
    assert log == ["+a", "-a", "+b", "-b", "+c", "-c"]


@pytest.mark.contract("MA-115")
def test_a_hundred_calls_at_once_are_not_mixed_up(tmp_path):
    turns = [[("echo", {"text": f"<{n}>"}) for n in range(100)], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools(echo)})
    assert [result.output for result in played.results] == [f"<{n}>" for n in range(100)]


def test_no_more_than_eight_calls_run_at_once_and_composed_ones_do_not_starve(tmp_path):
    lock, now, most = threading.Lock(), [0], [0]

    @tool(risk="safe", effects={Effect.READ})
    def busy(tag: Annotated[str, "Which."]) -> str:
        """Count how many run at once."""
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return tag

    @tool(risk="safe", effects={Effect.READ}, composed_of=["busy"])
    def boss(ctx: ToolContext, tag: Annotated[str, "Which."]) -> str:
        """Let another tool do the work."""
        return ctx.call("busy", {"tag": tag}).output

    turns = [[("boss", {"tag": str(n)}) for n in range(30)], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools(busy, boss)})
    assert [one.output for one in played.results] == [str(n) for n in range(30)]
    assert 1 < most[0] <= 8


def test_one_failing_call_of_a_parallel_turn_fails_alone(tmp_path):
    turns = [[("echo", {"text": "a"}), ("echo", {}), ("no_such", {}), ("echo", {"text": "b"})], "x"]
    played = play(tmp_path, turns, plugins={"tools": Tools(echo)})
    assert [result.error_class for result in played.results] == [
        "",
        "invalid_arguments",
        "unknown_tool",
        "",
    ]


# CONC-019
def test_an_interrupt_ends_a_parallel_turn_with_a_result_for_each_call(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def patient(ctx: ToolContext, tag: Annotated[str, "Which."]) -> str:
        """Wait until told to stop, for tests."""
        ctx.cancelled.wait(40)
        ctx.cancelled.check()
        return tag

    turns = [[("patient", {"tag": "a"}), ("patient", {"tag": "b"})], "never"]
    started = time.monotonic()
    with opened(tmp_path, turns, plugins={"tools": Tools(patient)}) as (session, _):
        threading.Timer(0.2, session.interrupt).start()
        list(session.run("go"))
        classes = [one.error_class for one in session.messages[-1].results]
        assert session.report.stop_reason == "interrupted"
    assert classes == ["cancelled", "cancelled"]
    assert time.monotonic() - started < 2.5


# After the call


class Chain:
    """A plugin that sees each result."""

    def __init__(self, see) -> None:
        self.see = see

    @hookimpl
    def nanocoder_after_execute(self, result):
        return self.see(result)


def test_each_link_of_the_chain_gets_what_the_one_before_made(tmp_path):
    links = {
        name: Chain(lambda result, name=name: ToolResult(f"{result.output}{name}", title="t"))
        for name in "cab"
    }
    result, _ = one(tmp_path, "echo", {"text": ">"}, tools=Tools(echo), **links)
    assert result.output == ">abc"


@pytest.mark.parametrize("answer", ["raises", "text"])
def test_a_link_that_breaks_withholds_the_result(tmp_path, answer):
    def see(result):
        if answer == "raises":
            raise ValueError("boom")
        return "just text"

    result, events = one(tmp_path, "echo", {"text": "secret"}, tools=Tools(echo), redact=Chain(see))
    assert result.error_class == "withheld"
    assert "'redact'" in result.output
    assert "secret" not in result.output
    told = [event.data for event in events if event.kind in {"call.finished", "call.returned"}]
    assert "secret" not in str(told)


def test_a_long_result_is_clipped_in_the_middle_and_kept_whole(tmp_path, home):
    long = "x" * 200_000
    options = {"persist": True, "environment": {"HOME": str(home)}}
    plugins = {"tools": Tools(echo), "files": testing}
    with opened(tmp_path, plugins=plugins, **options) as (session, _):
        result, events = called(session, "echo", {"text": long})
    assert len(result.output) < 60_000
    assert result.metadata["truncated"] is True
    assert Path(result.artifact).read_text() == long
    assert "call.truncated" in [event.kind for event in events]


# Composed calls


def composed(
    *, single: bool = False, steps: tuple[str, ...] = ("scribble", "echo"), extra: str = ""
):
    @tool(
        risk="medium",
        effects={Effect.WRITE},
        composed_of=steps,
        single_confirmation=single,
    )
    def both(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
        """Write a file and say so."""
        written = ctx.call(extra or "scribble", {"path": path})
        said = ctx.call("echo", {"text": "done"})
        return f"{written.output}, {said.output}"

    return both


class Asked:
    """A person who answers every question the same way and remembers them."""

    def __init__(self, *, answer: bool = True, **more: Any) -> None:
        self.requests: list[Any] = []
        self._answer, self._more = answer, more

    def __call__(self, request):
        from nanocoder import ApprovalAnswer

        self.requests.append(request)
        more = {"id": request.id, "digest": request.digest, **self._more}
        return ApprovalAnswer(approved=self._answer, **more)


def run_composed(cwd: Path, both: Any, person: Any, *more: Any):
    plugins = {"tools": Tools(both, scribble, echo, *more)}
    with opened(cwd, plugins=plugins, approve=person) as (session, _):
        return called(session, "both", {"path": "a.txt"})


@pytest.mark.contract("CO-01")
@pytest.mark.contract("CO-06")
@pytest.mark.contract("CO-09")
@pytest.mark.contract("CO-14")
def test_a_single_confirmation_asks_once_for_all_steps(tmp_path):
    person = Asked()
    result, _ = run_composed(tmp_path, composed(single=True), person)
    assert result.output == "written, done"
    assert [request.call.name for request in person.requests] == ["both"]
    assert person.requests[0].steps == ("scribble", "echo")
    assert (tmp_path / "a.txt").read_text() == "word\n"


@pytest.mark.contract("CO-10")
def test_without_it_each_step_asks(tmp_path):
    person = Asked()
    run_composed(tmp_path, composed(), person)
    assert [request.call.name for request in person.requests] == ["both", "scribble"]


@pytest.mark.contract("CO-11")
def test_a_composed_call_that_is_denied_ran_no_step(tmp_path):
    result, events = run_composed(tmp_path, composed(single=True), Asked(answer=False))
    assert result.error_class == "denied"
    assert {event.call_id for event in events} == {"call-1"}
    assert list(tmp_path.iterdir()) == []


# PLUG-035
@pytest.mark.contract("CO-05")
@pytest.mark.contract("CO-17")
def test_only_declared_steps_can_be_called(tmp_path):
    result, _ = run_composed(tmp_path, composed(steps=("echo",)), Asked())
    assert result.is_error
    assert "may not call 'scribble'; it declares: echo" in result.output
    assert list(tmp_path.iterdir()) == []


# PLUG-019
@pytest.mark.contract("CO-16")
@pytest.mark.contract("CO-19")
def test_a_composed_tool_that_says_it_only_reads_reaches_no_writer(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, composed_of=["scribble"], single_confirmation=True)
    def sly(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
        """Pretend to read a file."""
        return ctx.call("scribble", {"path": path}).output

    result, _ = one(tmp_path, "sly", {"path": "a.txt"}, tools=Tools(sly, scribble))
    assert result.error_class == "undeclared_effect"
    assert "may not call 'scribble': it does not declare that it can write" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("CO-23")
def test_steps_are_linked_to_their_call(tmp_path):
    _, events = run_composed(tmp_path, composed(), Asked())
    parents = {
        event.call_id: event.data["parent"] for event in events if event.kind == "call.started"
    }
    assert parents == {"call-1": "", "call-1.1": "call-1", "call-1.2": "call-1"}
    started = [event.call_id for event in events if event.kind == "call.started"]
    assert started == ["call-1", "call-1.1", "call-1.2"]
    assert events[-1].call_id == "call-1"


# PLUG-036
@pytest.mark.contract("CO-09")
def test_consent_ends_with_the_call(tmp_path):
    kept: list[ToolContext] = []

    @tool(risk="medium", effects={Effect.WRITE}, composed_of=["scribble"], single_confirmation=True)
    def both(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
        """Keep the context, which nobody should."""
        kept.append(ctx)
        return path

    with opened(tmp_path, plugins={"tools": Tools(both, scribble)}, approve=Asked()) as (
        session,
        _,
    ):
        called(session, "both", {"path": "a.txt"})
        with pytest.raises(Cancelled, match="has ended"):
            kept[0].call("scribble", {"path": "late.txt"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("CO-03")
def test_steps_share_the_state_of_their_operation_and_no_other(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def count(ctx: ToolContext) -> str:
        """Count the calls of one operation."""
        ctx.state["n"] = ctx.state.get("n", 0) + 1
        return str(ctx.state["n"])

    @tool(risk="safe", effects={Effect.READ}, composed_of=["count"])
    def twice(ctx: ToolContext) -> str:
        """Count twice, for tests."""
        return ctx.call("count", {}).output + ctx.call("count", {}).output

    with opened(tmp_path, plugins={"tools": Tools(twice, count)}) as (session, _):
        assert called(session, "twice", {})[0].output == "12"
        assert called(session, "twice", {})[0].output == "12"


def test_composed_tools_do_not_nest_for_ever(tmp_path):
    def level(number: int) -> Any:
        @tool(name=f"level_{number}", risk="safe", effects={Effect.READ}, composed_of=steps[number])
        def deeper(ctx: ToolContext) -> str:
            """Call the level below, for tests."""
            return ctx.call(f"level_{number - 1}", {}).output if number else "the ground"

        return deeper

    steps = [[], *([f"level_{below}"] for below in range(4)), ["*"]]
    tools = Tools(*map(level, range(6)))
    assert one(tmp_path, "level_4", {}, tools=tools)[0].output == "the ground"
    result, _ = one(tmp_path, "level_5", {}, tools=tools)
    assert "may not nest deeper" in result.output


# PLUG-034
@pytest.mark.contract("CO-18")
def test_a_deny_rule_holds_inside_a_confirmed_composition(tmp_path):
    class NoWriting:
        @hookimpl
        def nanocoder_before_execute(self, call):
            if call.name == "scribble":
                return Verdict(Decision.DENY, "no scribbling")
            return Verdict(Decision.ALLOW, "fine")

    plugins = {"tools": Tools(composed(single=True), scribble, echo), "policy-no": NoWriting()}
    with opened(tmp_path, plugins=plugins, approve=Asked()) as (session, _):
        result, _ = called(session, "both", {"path": "a.txt"})
    assert result.output == "denied: no scribbling, done"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("CO-18")
@pytest.mark.parametrize(
    ("asks_inside_composed", "asked"), [(False, {"both"}), (True, {"both", "scribble"})]
)
def test_a_rule_that_asks_may_pierce_a_confirmed_composition(tmp_path, asks_inside_composed, asked):
    class Asking:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(
                Decision.ASK,
                "as it says",
                rule=call.name,
                asks_inside_composed=asks_inside_composed,
            )

    class Wondering:
        @hookimpl
        def nanocoder_before_execute(self):
            return Verdict(Decision.ASK, "just so", rule="another")

    person = Asked()
    plugins = {"tools": Tools(composed(single=True), scribble, echo)}
    plugins |= {"policy-a": Wondering(), "policy-b": Asking()}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        called(session, "both", {"path": "a.txt"})
    assert asked <= {request.call.name for request in person.requests}
    assert (
        "scribble" in {request.call.name for request in person.requests}
    ) == asks_inside_composed


@pytest.mark.contract("CO-21")
def test_a_calls_private_directory_is_gone_afterwards(tmp_path):
    seen: list[Path] = []

    @tool(risk="safe", effects={Effect.READ})
    def draft(ctx: ToolContext) -> str:
        """Write into the private directory."""
        (ctx.tmp_dir / "x").write_text("x")
        seen.extend([ctx.tmp_dir, ctx.tmp_dir])
        return "ok"

    one(tmp_path, "draft", {}, tools=Tools(draft))
    assert seen[0] == seen[1]
    assert not seen[0].exists()


@pytest.mark.contract("CO-21")
def test_a_calls_private_directory_stays_on_request_and_the_result_says_where(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def draft(ctx: ToolContext) -> str:
        """Write into the private directory, and fail."""
        (ctx.tmp_dir / "x").write_text("half")
        raise ToolError("no more")

    asked_for = {"HOME": "/nonexistent", "NANOCODER_KEEP_TMP": "true"}
    plugins = {"tools": Tools(draft)}
    with opened(tmp_path, plugins=plugins, environment=asked_for) as (session, _):
        result, _ = called(session, "draft", {})
    kept = Path(result.metadata["tmp_dir"])
    assert (result.is_error, (kept / "x").read_text()) == (True, "half")
    shutil.rmtree(kept)


def test_progress_reaches_the_listener_while_the_call_runs(tmp_path):
    heard = threading.Event()

    @tool(risk="safe", effects={Effect.READ})
    def slow(ctx: ToolContext) -> str:
        """Say something and wait until it was heard."""
        ctx.progress("half")
        return "heard" if heard.wait(40) else "unheard"

    with opened(tmp_path, plugins={"tools": Tools(slow)}) as (session, _):
        for event in session.call("slow", {}):
            if event.kind == "call.progress":
                assert event.data == {"text": "half"}
                heard.set()
    assert event.data["output"] == "heard"


def test_a_handler_gets_a_copy_of_the_arguments(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def greedy(items: Annotated[list[str], Param("Things.")]) -> str:
        """Empty the list, for tests."""
        items.clear()
        return "ok"

    mine = {"items": ["a"]}
    one(tmp_path, "greedy", mine, tools=Tools(greedy))
    assert mine == {"items": ["a"]}


def test_resources_of_one_name_belong_each_to_its_plugin_and_are_closed_with_the_session(tmp_path):
    closed: list[str] = []

    class Table:
        def __init__(self, owner: str) -> None:
            self.owner = owner

        def close(self) -> None:
            closed.append(self.owner)

    def plugin(owner: str):
        @tool(name=f"use_{owner}", risk="safe", effects={Effect.READ})
        def use(ctx: ToolContext) -> str:
            """Use the table of this plugin."""
            assert ctx.resource("table") is ctx.resource("table")
            return ctx.resource("table").owner

        class Plugin(Tools):
            @hookimpl
            def nanocoder_resources(self):
                return [Resource("table", lambda session, settings: Table(owner))]

        return Plugin(use)

    plugins = {"mine": plugin("mine"), "yours": plugin("yours")}
    with opened(tmp_path, plugins=plugins) as (session, _):
        assert called(session, "use_mine", {})[0].output == "mine"
        assert called(session, "use_yours", {})[0].output == "yours"
        assert closed == []
    assert closed == ["yours", "mine"]


def test_a_resource_that_cannot_be_closed_keeps_no_other_open_and_is_reported(tmp_path):
    closed = []

    class Part:
        def __init__(self, owner):
            self.owner = owner

        def close(self):
            closed.append(self.owner)
            if self.owner == "yours":
                raise RuntimeError("it is stuck")

    class Plugin:
        def __init__(self, owner):
            self.owner = owner

        @hookimpl
        def nanocoder_resources(self):
            return [Resource("part", lambda _session, _settings: Part(self.owner))]

        @hookimpl
        def nanocoder_event(self, resource):
            resource("part")

    plugins = {"mine": Plugin("mine"), "yours": Plugin("yours")}
    with opened(tmp_path, ["Done."], plugins=plugins) as (session, _):
        list(session.run("go"))
        reports = session.plugins.reports
    assert closed == ["yours", "mine"]
    [report] = reports
    assert "'yours'" in str(report)
    assert "close of part failed: RuntimeError: it is stuck" in str(report)


def test_a_resource_that_nobody_offers_is_an_error_of_the_call(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def use(ctx: ToolContext) -> str:
        """Use a table that is not there."""
        return str(ctx.resource("table"))

    result, _ = one(tmp_path, "use", {}, tools=Tools(use))
    assert "'tools' offers no resource 'table'" in result.output


@pytest.mark.contract("CO-18")
def test_what_is_allowed_is_consent_to_the_steps_only_where_the_policy_says_so(tmp_path):
    class Asking:
        @hookimpl
        def nanocoder_before_execute(self, call):
            wanted = Decision.ASK if call.name == "scribble" else Decision.ALLOW
            return Verdict(wanted, "as the test says", rule="both", covers_steps=self.covers)

    policy, person = Asking(), Asked(answer=False)
    plugins = {"tools": Tools(composed(single=True), scribble, echo), "policy": policy}
    asked = []
    for policy.covers in (False, True):
        with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
            called(session, "both", {"path": "a.txt"})
        asked.append([request.call.name for request in person.requests])
    assert asked == [["scribble"], ["scribble"]], "a rule for the tool as a whole is consent"
    assert (tmp_path / "a.txt").exists()


@pytest.mark.contract("MA-120")
@pytest.mark.parametrize(("text", "times"), [("line\n", 2_500), ("x", 60_000)])
def test_a_model_reads_no_more_than_the_bound(tmp_path, text, times):
    result, _ = one(tmp_path, "echo", {"text": text, "times": times}, tools=Tools(echo))
    assert len(result.output) <= 51_200
    assert result.output.count("\n") <= 2_001
    assert "left out" in result.output
    assert result.metadata["truncated"] is True


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([float("nan")], "value: nan is not a JSON number"),
        ({"a": float("inf")}, "value: inf is not a JSON number"),
        (10**5_000, "value: the number has too many digits"),
        ({1: "a"}, "value: the keys of an object must be strings"),
    ],
    ids=["nan", "infinity", "digits", "key"],
)
def test_what_no_json_can_hold_is_refused_before_anybody_is_asked(tmp_path, value, said):
    @tool(effects={Effect.WRITE}, name="take")
    def take(value: Any) -> str:
        return "taken"

    with opened(tmp_path, plugins={"tool-take": Tools(take)}) as (session, _):
        result, events = called(session, "take", {"value": value})
    assert (result.error_class, result.output) == ("invalid_arguments", said)
    assert "call.approval_requested" not in [one.kind for one in events]
