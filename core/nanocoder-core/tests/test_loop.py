"""The loop: ask the model, run its calls, repeat; and everything that ends it."""

import threading
import time
from typing import Annotated

import pytest
from nanocoder import (
    BadArguments,
    Decision,
    Effect,
    Finished,
    Notice,
    Plugins,
    ProviderError,
    StopRun,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
    UsageError,
    Verdict,
    hookimpl,
    message_tokens,
    open_session,
    tool,
)
from nanocoder.session.model_view import named_files
from nanocoder_testing import Scripted, Tools, opened, play


@tool(risk="safe", effects={Effect.READ})
def look(at: Annotated[str, "Where."] = "here") -> str:
    """Look somewhere, always seeing the same."""
    return "nothing"


@tool(risk="safe", effects={Effect.READ}, repeatable=True)
def poll() -> str:
    """Look whether it is ready."""
    return "not yet"


@tool(risk="medium", effects={Effect.WRITE})
def put(ctx, path: Annotated[str, "The file."]) -> str:
    """Put a file there."""
    ctx.workspace.write_text(path, "x")
    return "put"


TOOLS = {"tools": Tools(look, poll, put)}


@pytest.mark.contract("NT-72")
@pytest.mark.contract("NT-46")
def test_a_scripted_run_goes_the_whole_way(tmp_path):
    turns = [[("look", {"at": "a"})], "There is nothing at a."]
    played = play(tmp_path, turns, plugins=TOOLS, prompt="What is at a?")
    assert played.text == "There is nothing at a."
    roles = [message.role for message in played.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert played.report["stop_reason"] == "done"
    assert played.report["turns"] == 2
    kinds = played.kinds()
    assert kinds[:2] == ["session.started", "session.changed"]
    assert kinds[-1] == "run.finished"


class Noting(Scripted):
    """A provider that has something to say about each request."""

    def stream(self, request, cancel):
        yield Notice("An old result was left out.")
        yield from super().stream(request, cancel)


def test_what_a_provider_tells_the_person_is_an_event_and_never_reaches_the_model(tmp_path):
    model = Noting([[("look", {})], "Done."])
    with opened(tmp_path, plugins=TOOLS, model=model) as (session, _):
        events = list(session.run("Look."))
    kinds = [event.kind for event in events if event.kind in {"request.started", "notice", "text"}]
    assert kinds == ["request.started", "notice", "request.started", "notice", "text"]
    assert "left out" not in repr(model.requests[-1])


@pytest.mark.contract("LC-12")
@pytest.mark.contract("LC-15")
def test_a_request_carries_the_transcript_the_tools_and_the_system_prompt(tmp_path):
    turns = [[("look", {}), ("look", {"at": "b"})], "Done."]
    first, second = play(tmp_path, turns, plugins=TOOLS, prompt="Look.").model.requests
    assert [one.name for one in first.tools] == ["look", "poll", "put"]
    assert str(tmp_path) in first.system
    assert first.tools is second.tools
    assert first.system == second.system
    last = second.messages[-1]
    assert [one.call_id for one in last.results] == ["c1.1", "c1.2"]


@pytest.mark.contract("LC-13")
def test_what_the_provider_wants_back_comes_back_unchanged(tmp_path):
    native = {"signature": object()}
    calls = (ToolCall("x", "look", {}),)
    turns = [Finished("thinking", calls, native=native), "Done."]
    played = play(tmp_path, turns, plugins=TOOLS)
    assert played.model.requests[1].messages[1].native is native


@pytest.mark.contract("LC-14")
def test_the_loop_ends_with_a_reply_without_calls(tmp_path):
    played = play(tmp_path, ["Hello.", "never asked for"], plugins=TOOLS)
    assert len(played.model.requests) == 1
    assert played.text == "Hello."


def test_a_call_whose_arguments_could_not_be_parsed_is_answered(tmp_path):
    broken = ToolCall("x", "look", error="the arguments are not JSON: '{at'")
    played = play(tmp_path, [[broken], "Sorry."], plugins=TOOLS)
    assert played.results[0].error_class == "invalid_arguments"
    assert "not JSON" in played.results[0].output
    assert played.text == "Sorry."


def test_a_word_of_three_million_letters_is_no_path_and_takes_no_time(tmp_path):
    (tmp_path / "a.txt").write_text("A")
    for word in ("x" * 3_000_000, "a." * 1_500_000, "a.b/" * 700_000):
        assert list(named_files(f"{word} read a.txt")) == ["a.txt"]


# Limits


@pytest.mark.parametrize(("reason", "ends"), [("budget", "budget"), ("nonsense", "failed")])
def test_a_plugin_ends_the_run_instead_of_asking_the_model(tmp_path, reason, ends):
    class Stops:
        @hookimpl
        def nanocoder_before_request(self, request):
            if len(request.messages) > 1:
                raise StopRun("stops", "that is enough", reason)

    plugins = {**TOOLS, "stops": Stops()}
    played = play(tmp_path, [[("look", {})], "never asked for"], plugins=plugins)
    assert played.report["error"] == {"class": ends, "message": "that is enough"}
    assert (played.report["stop_reason"], played.report["turns"]) == (ends, 1)
    assert len(played.model.requests) == 1
    assert played.messages[-1].results[0].output == "nothing"


def test_at_the_turn_limit_the_model_still_answers(tmp_path):
    turns = [[("look", {"at": "a"})], [("look", {"at": "b"})], "What I have so far."]
    played = play(tmp_path, turns, plugins=TOOLS, max_turns=2)
    assert played.report["stop_reason"] == "turn_limit"
    assert played.text == "What I have so far."
    assert "limit of 2 turns" in played.model.requests[2].messages[-1].text


def test_an_answer_that_the_output_limit_cut_goes_on(tmp_path):
    parts = [Finished("One, ", truncated=True), Finished("two, ", truncated=True), "three."]
    played = play(tmp_path, parts, plugins=TOOLS)
    assert (played.report["text"], played.report["stop_reason"]) == ("One, two, three.", "done")
    assert not played.report["truncated"]
    assert "go on exactly" in played.model.requests[1].messages[-1].text


def test_three_replies_in_a_row_that_are_cut_end_the_run(tmp_path):
    played = play(tmp_path, [Finished("and ", truncated=True)] * 9, plugins=TOOLS)
    assert (played.report["stop_reason"], played.report["turns"]) == ("loop", 3)
    assert played.report["text"] == "and and and "
    call = ToolCall("a", "look", {}, error="invalid JSON")
    played = play(tmp_path, [Finished("", (call,), truncated=True)] * 9, plugins=TOOLS)
    assert (played.report["stop_reason"], played.report["turns"]) == ("loop", 3)
    assert "write less at once" in played.results[0].output


def test_an_empty_reply_after_calls_is_asked_for_once_more(tmp_path):
    played = play(tmp_path, [[("look", {})], "", "Nothing there."], plugins=TOOLS)
    assert (played.text, played.report["stop_reason"]) == ("Nothing there.", "done")
    assert "no answer" in played.model.requests[2].messages[-1].text
    again = [[("look", {})], "", [("look", {"at": "b"})], "\u200b", "Nothing there, either."]
    played = play(tmp_path, again, plugins=TOOLS)
    assert (played.text, played.report["stop_reason"]) == ("Nothing there, either.", "done")


@pytest.mark.parametrize("silence", ["", " ", "\u200b", "\u00a0\u2060"])
def test_a_model_that_stays_silent_after_calls_fails(tmp_path, silence):
    played = play(tmp_path, [[("look", {})], silence, silence], plugins=TOOLS)
    assert (len(played.model.requests), played.report["stop_reason"]) == (3, "provider_error")
    assert played.report["error"]["kind"] == "empty_response"


def test_the_model_is_told_with_ten_and_with_three_turns_left(tmp_path):
    turns = [[("look", {"at": str(number)})] for number in range(12)]
    played = play(tmp_path, [*turns, "Late."], plugins=TOOLS, max_turns=12)
    texts = [message.text for message in played.messages if message.role == "user"]
    assert [text for text in texts if "turns are left" in text] == [
        "[10 turns are left: come to an end]",
        "[3 turns are left: come to an end]",
    ]
    assert played.report["stop_reason"] == "turn_limit"


@pytest.mark.parametrize(("interactive", "most"), [(True, 0), (False, 250)])
def test_a_person_has_no_limit_of_turns_and_nobody_has_250(tmp_path, interactive, most):
    turns = [*([("look", {"at": str(number)})] for number in range(251)), "At last."]
    played = play(tmp_path, turns, plugins=TOOLS, interactive=interactive)
    assert played.report["turns"] == (most or 252)
    assert played.report["stop_reason"] == ("turn_limit" if most else "done")


def test_calls_after_the_limit_are_not_run_but_answered(tmp_path):
    turns = [[("look", {"at": "a"})], [("put", {"path": "late.txt"})]]
    played = play(tmp_path, turns, plugins=TOOLS, max_turns=1)
    assert played.report["stop_reason"] == "turn_limit"
    assert played.results[-1].error_class == "not_run"
    assert list(tmp_path.iterdir()) == []


def test_a_budget_of_tokens_ends_the_run_after_the_turn_that_spends_it(tmp_path, home):
    config = home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max_tokens = 100\n")
    turns = [
        Finished("", (ToolCall("a", "look", {}),), Usage(90, 20)),
        "never",
    ]
    environment = {"HOME": str(home)}
    played = play(tmp_path, turns, plugins=TOOLS, environment=environment)
    assert played.report["stop_reason"] == "budget"
    assert len(played.results) == 1


def test_an_answer_that_passes_the_limit_is_a_success_with_a_notice(tmp_path, home):
    config = home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max_tokens = 150\n")
    turns = [
        Finished("", (ToolCall("a", "look", {}),), Usage(90, 10)),
        Finished("Done.", (), Usage(90, 10)),
    ]
    played = play(tmp_path, turns, plugins=TOOLS, environment={"HOME": str(home)})
    assert (played.report["stop_reason"], played.report["error"]) == ("done", None)
    notices = [event.data["text"] for event in played.events if event.kind == "notice"]
    assert any("the answer is complete" in text and "150 tokens" in text for text in notices)


def test_usage_and_cost_add_up_and_an_unknown_price_stays_out(tmp_path):
    turns = [
        Finished("", (ToolCall("a", "look", {}),), Usage(10, 2, cost=0.5)),
        Finished("Done.", (), Usage(20, 3)),
    ]
    report = play(tmp_path, turns, plugins=TOOLS).report
    assert report["usage"]["input_tokens"] == 30
    assert report["usage"]["output_tokens"] == 5
    assert report["cost"] == 0.5


# The provider's failures


def test_a_provider_error_ends_the_run_with_its_kind(tmp_path):
    turns = [ProviderError("too many requests", kind="rate_limit", status=429)]
    report = play(tmp_path, turns, plugins=TOOLS).report
    assert report["stop_reason"] == "provider_error"
    assert report["error"] == {
        "class": "provider",
        "kind": "rate_limit",
        "message": "too many requests",
    }


def test_a_stream_that_was_cut_runs_no_call(tmp_path):
    class Cut(Scripted):
        def stream(self, request, cancel):
            yield from list(super().stream(request, cancel))[:-1]

    cut = Cut([Finished("half", (ToolCall("a", "put", {"path": "x"}),))] * 3)
    played = play(tmp_path, [], plugins=TOOLS, model=cut)
    assert played.report["stop_reason"] == "provider_error"
    assert "without finishing" in played.report["error"]["message"]
    assert played.results == []


@pytest.mark.parametrize("error", [ValueError("boom"), AttributeError("x"), KeyError("y")])
def test_a_provider_that_breaks_ends_the_run_and_not_the_program(tmp_path, error):
    report = play(tmp_path, [error], plugins=TOOLS).report
    assert report["stop_reason"] == "provider_error"
    assert type(error).__name__ in report["error"]["message"]


def test_after_a_failed_run_the_session_goes_on(tmp_path):
    turns = [ProviderError("overloaded"), "Here I am."]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, _):
        list(session.run("one"))
        list(session.run("two"))
        assert session.report.text == "Here I am."
        assert session.report.stop_reason == "done"


# Interrupts


def test_an_interrupt_while_the_model_thinks_ends_the_run_within_a_second(tmp_path):
    class Thinking(Scripted):
        def stream(self, request, cancel):
            cancel.wait(40)
            cancel.check()
            yield Finished("never")

    with opened(tmp_path, plugins=TOOLS, model=Thinking([])) as (session, _):
        threading.Timer(0.1, session.interrupt).start()
        started = time.monotonic()
        events = list(session.run("go"))
        assert time.monotonic() - started < 1
    assert events[-1].data["stop_reason"] == "interrupted"


def test_an_interrupted_session_can_be_prompted_again(tmp_path):
    turns = [[("look", {})], "never asked", "Again."]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, model):
        for event in session.run("one"):
            if event.kind == "call.started":
                session.interrupt()
        assert session.report.stop_reason == "interrupted"
        answered = {one.call_id for message in session.messages for one in message.results}
        wanted = {call.id for message in session.messages for call in message.calls}
        assert answered == wanted
        list(session.run("two"))
        assert session.report.stop_reason == "done"
        assert len(model.requests) == 2


def test_a_run_that_its_listener_leaves_owes_no_result_to_the_next(tmp_path):
    turns = [[("look", {}), ("look", {"at": "b"})], "Again."]
    with opened(tmp_path, turns, plugins=TOOLS) as (session, model):
        for event in session.run("one"):
            if event.kind == "call.started":
                break
        list(session.run("two"))
        assert session.report.text == "Again."
    roles = [message.role for message in model.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "user"]
    results = model.requests[-1].messages[2].results
    assert [one.call_id for one in results] == ["c1.1", "c1.2"]


# Modes, models, plugins


def test_in_plan_mode_the_model_is_offered_nothing_that_changes_anything(tmp_path):
    turns = [[("put", {"path": "x"})], "A plan."]
    played = play(tmp_path, turns, plugins=TOOLS, mode="plan")
    assert [one.name for one in played.model.requests[0].tools] == ["look", "poll"]
    assert "Plan mode" in played.model.requests[0].system
    assert played.results[0].is_error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("NA-19")
def test_tools_come_and_go_while_a_session_runs(tmp_path):
    turns = ["one", "two", "three"]
    with opened(tmp_path, turns, plugins={}) as (session, model):
        list(session.run("a"))
        session.plugins.add(Tools(look, poll, put), "tools")
        list(session.run("b"))
        session.plugins.remove("tools")
        list(session.run("c"))
    assert [len(request.tools) for request in model.requests] == [0, 3, 0]


@pytest.mark.contract("NA-24")
def test_two_sets_of_plugins_do_not_know_each_other(tmp_path):
    mine, yours = Plugins(), Plugins()
    mine.add(Tools(look, poll, put), "tools")
    assert set(mine.tools()) == {"look", "poll", "put"}
    assert yours.tools() == {}


@pytest.mark.contract("NA-03")
@pytest.mark.contract("NA-18")
@pytest.mark.contract("NA-20")
def test_a_tool_added_by_hand_is_found_listed_and_run(tmp_path):
    plugins = Plugins()
    plugins.add(Tools(look, poll, put), "tools")
    assert list(plugins.tools()) == ["look", "poll", "put"]
    assert plugins.tool("look").real()("there") == "nothing"
    assert plugins.tool("look").plugin == "tools"


def test_an_unknown_model_says_what_there_is(tmp_path):
    with (
        open_session(tmp_path, plugins=Plugins(), model="gpt/x", persist=False) as session,
        pytest.raises(UsageError, match="no provider 'gpt'"),
    ):
        list(session.run("go"))


@pytest.mark.contract("NT-70")
def test_without_any_plugin_a_run_says_what_is_missing(tmp_path, home):
    with (
        open_session(tmp_path, plugins=Plugins(), persist=False) as session,
        pytest.raises(ProviderError, match="No model is configured"),
    ):
        list(session.run("go"))


def test_another_model_is_talked_to_from_the_next_turn_on(tmp_path):
    class Other(Scripted):
        @hookimpl
        def nanocoder_providers(self):
            from attrs import evolve

            return [evolve(super().nanocoder_providers()[0], name="other")]

    other = Other(["From the other."])
    with opened(tmp_path, ["From the first."], plugins={**TOOLS, "other": other}) as (session, _):
        list(session.run("one"))
        with pytest.raises(UsageError):
            session.set_model("gone/x")
        assert session.info.model == "script/play"
        session.set_model("other/play")
        list(session.run("two"))
        assert session.report.text == "From the other."
    assert len(other.requests[0].messages) == 3


# Hooks around the request


def test_a_plugin_may_replace_the_request(tmp_path):
    from attrs import evolve

    class Cool:
        @hookimpl
        def nanocoder_before_request(self, request):
            return evolve(request, temperature=0.0)

    played = play(tmp_path, ["Hello."], plugins={**TOOLS, "cool": Cool()})
    assert played.model.requests[0].temperature == 0.0


@pytest.mark.parametrize("answer", ["raises", "garbage"])
def test_a_request_that_a_plugin_breaks_is_not_sent(tmp_path, answer):
    class Broken:
        @hookimpl
        def nanocoder_before_request(self, request):
            if answer == "raises":
                raise ValueError("boom")
            return "request"

    played = play(tmp_path, ["never"], plugins={**TOOLS, "redact": Broken()})
    assert played.report["stop_reason"] == "failed"
    assert "'redact'" in played.report["error"]["message"]
    assert played.model.requests == []


def test_additions_to_the_prompt_come_in_the_order_of_names(tmp_path):
    class Adds:
        def __init__(self, text):
            self.text = text

        @hookimpl
        def nanocoder_prompt(self):
            if self.text == "broken":
                raise ValueError("boom")
            return self.text

    plugins = {"b": Adds("second"), "c": Adds("broken"), "a": Adds("first")}
    system = play(tmp_path, ["x"], plugins=plugins).model.requests[0].system
    assert system.endswith("first\n\nsecond")


@pytest.mark.parametrize("odd", [["a list"], b"bytes", 31_415, {"text": "x"}])
def test_an_addition_to_the_prompt_that_is_no_text_is_reported_and_left_out(tmp_path, odd):
    class Adds:
        @hookimpl
        def nanocoder_prompt(self):
            return odd

    with opened(tmp_path, ["x"], plugins={"adds": Adds()}) as (session, model):
        list(session.run("go"))
        (report,) = map(str, session.plugins.reports)
        assert "'adds': nanocoder_prompt failed: returned" in report
        assert "expected str" in report
        assert str(odd) not in model.requests[0].system


def test_a_listener_that_breaks_changes_nothing(tmp_path):
    class Deaf:
        @hookimpl
        def nanocoder_event(self, event):
            raise ValueError("boom")

    with opened(tmp_path, ["Hello."], plugins={"deaf": Deaf()}) as (session, _):
        list(session.run("go"))
        assert session.report.text == "Hello."
        assert "deaf" in str(session.plugins.reports[0])
        assert len(session.plugins.reports) == 1


def test_a_listener_hears_of_the_kinds_of_events_that_it_names(tmp_path):
    class Ear:
        def __init__(self):
            self.heard = []

        @hookimpl(events=["run.started", "session.finished"])
        def nanocoder_event(self, event):
            self.heard.append(event.kind)

    ear = Ear()
    with opened(tmp_path, ["Hello."], plugins={"ear": ear}) as (session, _):
        list(session.run("go"))
    assert ear.heard == ["run.started", "session.finished"]


def test_a_listener_hears_of_the_calls_whose_tools_have_the_effect_that_it_names(tmp_path):
    class Plugin:
        def __init__(self):
            self.heard = []

        @hookimpl(events=["call.started:execute", "call.returned:execute", "call.returned:write"])
        def nanocoder_event(self, event):
            self.heard.append((event.kind, event.call_id))

        @hookimpl
        def nanocoder_before_execute(self):
            return Verdict(Decision.ALLOW)

        @hookimpl
        def nanocoder_tools(self):
            @tool(risk="safe", effects={"read", "execute"})
            def run() -> str:
                """Run."""
                return "ran"

            @tool(risk="safe", effects={"read"})
            def look() -> str:
                """Look."""
                return "seen"

            return [run, look]

    plugin = Plugin()
    # The model uses an id twice; the second call of that id never comes to a tool that runs.
    turns = [
        [ToolCall("1", "run", {}), ToolCall("2", "look", {})],
        [ToolCall("3", "run", {"wrong": 1}), ToolCall("1", "look", {})],
        "Done.",
    ]
    with opened(tmp_path, turns, plugins={"plugin": plugin}) as (session, _):
        list(session.run("go"))
        statuses = [call["status"] for call in session.report.tool_calls]
    assert statuses == ["ok", "ok", "error", "ok"]
    assert plugin.heard == [("call.started", "1"), ("call.returned", "1")]


def test_listeners_hear_the_pieces_of_a_reply_joined_and_in_order(tmp_path):
    heard = []

    class Ear:
        @hookimpl
        def nanocoder_event(self, event):
            heard.append((event.kind, event.data.get("text")))

    class Talks(Scripted):
        def stream(self, request, cancel):
            self.requests.append(request)
            for number in range(1_000):
                yield TextDelta(f"{number} ")
            yield ThinkingDelta("hm ")
            yield ThinkingDelta("hm")
            yield TextDelta("end")
            yield Finished("done")

    model = Talks(["unused"])
    with opened(tmp_path, plugins={"ear": Ear()}, model=model) as (session, _):
        shown = list(session.run("go"))
    kinds = [kind for kind, _ in heard]
    texts = [text for kind, text in heard if kind == "text"]
    pieces = [event for event in shown if event.kind == "text"]
    assert len(pieces) == 1_001
    assert len(texts) < 100
    assert "".join(texts) == "".join(event.data["text"] for event in pieces)
    assert [text for kind, text in heard if kind == "thinking"] == ["hm hm"]
    assert kinds.index("thinking") > kinds.index("text")
    assert kinds.index("request.finished") > len(kinds) - 1 - kinds[::-1].index("text")


def test_a_transcript_that_outgrows_the_context_is_compacted_once_it_may_be(tmp_path):
    class Compactor:
        @hookimpl
        def nanocoder_compact(self, window):
            is_full = sum(map(message_tokens, window.request.messages)) > 0.8 * window.tokens
            return window.request.messages[-1:] if is_full else None

    model = Scripted(["a", "b"], context=1000)
    with opened(tmp_path, plugins={"compact": Compactor()}, model=model) as (session, _):
        list(session.run("word " * 1200))
        list(session.run("short"))
    assert [len(request.messages) for request in model.requests][-1] == 1


def test_bad_arguments_of_a_dialect_are_answered(tmp_path):
    class Foreign:
        name = "foreign"

        def offer(self, tools):
            return [{"name": "Look", "description": "Look.", "parameters": {}} for _ in tools[:1]]

        def canonical(self, call):
            if call.name != "Look":
                raise BadArguments(["no such tool in this dialect"])
            return ToolCall(call.id, "look", {})

        def render(self, call, result):
            return f"<{result.output}>"

    class Offers:
        @hookimpl
        def nanocoder_dialects(self):
            return [Foreign()]

    turns = [[("Look", {}), ("look", {})], "Done."]
    plugins = {**TOOLS, "dialect": Offers()}
    played = play(tmp_path, turns, plugins=plugins, dialect="foreign")
    assert [one.name for one in played.model.requests[0].tools] == ["Look"]
    assert [one.output for one in played.results] == ["<nothing>", "<no such tool in this dialect>"]


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u2060", "\U000e0041"])
def test_a_reply_without_a_word_is_a_failure_not_an_answer(tmp_path, text):
    played = play(tmp_path, [text])
    assert played.report["stop_reason"] == "provider_error"
    assert played.report["error"]["kind"] == "empty_response"
    assert "gave an empty answer" in played.report["error"]["message"]


def test_an_interrupt_before_the_first_run_stops_it_as_it_begins(tmp_path):
    with opened(tmp_path, ["not heard", "heard"]) as (session, _):
        session.interrupt()
        assert session_end(session) == "interrupted"
        assert session_end(session) == "done"


def session_end(session):
    list(session.run("go"))
    return session.report.stop_reason


R, W, X = Effect.READ, Effect.WRITE, Effect.EXECUTE


@pytest.mark.parametrize(
    ("effects", "untracked"),
    [
        ({R, Effect.NETWORK}, False),
        ({W, Effect.REVERSIBLE}, False),
        ({W}, True),
        ({R, X}, True),
        (set(), True),
    ],
)
def test_the_report_says_whether_a_call_may_have_changed_more_than_it_lists(
    tmp_path, effects, untracked
):
    @tool(risk="safe", effects=effects)
    def work() -> str:
        """Work."""
        return "worked"

    calls = [("work", {}), ("no_such_tool", {})]
    played = play(tmp_path, [calls, "Done."], plugins={"t": Tools(work)}, mode="auto")
    assert played.report["untracked"] == untracked
    assert not play(tmp_path, ["Done."], plugins={"t": Tools(work)}).report["untracked"]
