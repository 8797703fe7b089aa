"""How a transcript is kept within the model's window: by whom, and how it comes back."""

import pytest
from attrs import evolve
from nanocoder import (
    Finished,
    Message,
    Plugins,
    ProviderError,
    Resource,
    Usage,
    UsageError,
    count_tokens,
    hookimpl,
    open_session,
    tool,
)
from nanocoder_kit_sessions import SessionStore, testing
from nanocoder_kit_sessions.context import ROOM, Room, restore
from nanocoder_testing import Scripted, Tools, opened

WORDS = "word " * 1_200


@tool(risk="safe")
def look() -> str:
    """Look around."""
    return "a stone " * 30


TOOLS = Tools(look)


class Compactor:
    """Shortens a transcript as `shorter` does, once there is no room left."""

    @hookimpl
    def nanocoder_resources(self):
        return [Resource(ROOM, lambda _session, _settings: Room())]

    @hookimpl
    def nanocoder_compact(self, window, reason, focus, ask_model, session, resource):
        limit = resource(ROOM).limit_tokens(window, reason, session.model)
        return self.shorter(window.request.messages, focus, ask_model) if limit else None


class LastOnly(Compactor):
    """Keeps the last message alone, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def shorter(self, messages, focus, _ask_model):
        self.asked.append((len(messages), focus))
        return messages[-1:]


def overflow():
    return ProviderError("too long", kind="context_overflow", status=400)


def compactions(events):
    return [event.data for event in events if event.kind == "transcript.compacted"]


@pytest.mark.contract("G6")
def test_a_person_sets_the_window_of_a_model_that_declares_none(tmp_path):
    plugins, model = {"last": LastOnly()}, Scripted(["a", "b"])
    environment = {"HOME": "/nonexistent", "NANOCODER_CONTEXT": "1000"}
    with opened(tmp_path, plugins=plugins, model=model, environment=environment) as (session, _):
        list(session.run(WORDS))
        (compacted,) = compactions(session.run("short"))
    assert compacted["limit_tokens"] == 1_000
    assert compacted["plugin"] == "last"
    assert compacted["reason"] == "nearly_full"
    assert compacted["after_tokens"] < compacted["before_tokens"] // 100


@pytest.mark.contract("G6")
def test_an_unknown_window_is_assumed_and_that_is_said_once_it_matters(tmp_path):
    plugins = {"last": LastOnly()}
    with opened(tmp_path, ["a", "b", "c"], plugins=plugins) as (session, _):
        quiet = [event for event in session.run("short") if event.kind == "notice"]
        events = [*session.run(WORDS * 30), *session.run(WORDS * 30)]
    assert len(compactions(events)) == 2
    assert quiet == []
    message = compactions(events)[0]["message"]
    assert "the model's window is unknown; set `context` in the configuration" in message


@pytest.mark.contract("G5")
def test_a_request_that_the_model_refuses_as_too_long_is_shortened_and_sent_once_more(tmp_path):
    plugins, model = {"last": LastOnly()}, Scripted(["a", overflow(), "Done."])
    with opened(tmp_path, plugins=plugins, model=model) as (session, _):
        list(session.run(WORDS))
        (compacted,) = compactions(session.run("short"))
        assert session.report.text == "Done."
        assert len(model.requests[-1].messages) == 1
        list(session.run("word " * 600))
        (again,) = compactions(session.run("word " * 800))
    assert compacted["reason"] == "overflow"
    assert again["reason"] == "nearly_full", "the refused request shows how small the window is"


def test_a_second_refusal_ends_the_run(tmp_path):
    plugins, model = {"last": LastOnly()}, Scripted(["a", overflow(), overflow(), "never"])
    with opened(tmp_path, plugins=plugins, model=model) as (session, _):
        list(session.run(WORDS))
        list(session.run("short"))
        assert session.report.error["kind"] == "context_overflow"
    assert len(model.requests) == 3


def test_a_refusal_that_no_plugin_can_help_ends_the_run(tmp_path):
    with opened(tmp_path, [overflow(), "never"]) as (session, model):
        list(session.run("short"))
        assert session.report.error["kind"] == "context_overflow"
        assert len(model.requests) == 1


@pytest.mark.parametrize("answer", [["nonsense"], [None], []])
def test_what_is_no_transcript_is_refused_and_the_run_goes_on(tmp_path, answer):
    class Nonsense(Compactor):
        def shorter(self, _messages, _focus, _ask_model):
            return answer

    model = Scripted(["Done.", "Again."], context=200)
    with opened(tmp_path, plugins={"nonsense": Nonsense()}, model=model) as (session, _):
        events = [*session.run(WORDS), *session.run("again")]
        assert any("no messages, or a call lost" in str(each) for each in session.plugins.reports)
        assert session.report.text == "Again."
    assert compactions(events) == []


@pytest.mark.contract("G5")
def test_a_compaction_that_tears_a_call_from_its_result_is_refused(tmp_path):
    class Tears(Compactor):
        def shorter(self, messages, _focus, _ask_model):
            return [message for message in messages if not message.results]

    class Whole(Compactor):
        def shorter(self, _messages, _focus, _ask_model):
            return [Message("user", "go")]

    plugins = {"tears": Tears(), "whole": Whole(), "tools": TOOLS}
    model = Scripted([[("look", {})], "Done.", "Again."], context=200)
    with opened(tmp_path, plugins=plugins, model=model) as (session, _):
        events = [*session.run("go"), *session.run("again")]
        (report,) = {str(each) for each in session.plugins.reports}
    assert "a call lost its result" in report
    assert {each["plugin"] for each in compactions(events)} == {"whole"}


@pytest.mark.contract("G5")
def test_what_was_compacted_comes_back_with_all_that_was_said_since(tmp_path):
    plugins, model = {"last": LastOnly()}, Scripted(["first", "second", "third"], context=9_000)
    with opened(tmp_path, plugins=plugins, model=model) as (session, _):
        list(session.run("one"))
        list(session.run("two"))
        before = session.messages
        list(session.compact())
        assert session.messages == before[-1:]
        list(session.run("three"))
        (restored,) = compactions(restore(session))
        assert [message.text for message in session.messages] == [
            *("one", "first", "two", "second"),
            *("three", "third"),
        ]
        assert restored["reason"] == "restored"
        with pytest.raises(UsageError, match="nothing to restore"):
            list(restore(session))


@pytest.mark.contract("G5")
def test_a_preview_changes_nothing_and_can_be_taken(tmp_path):
    last = LastOnly()
    model = Scripted(["first", "second"], context=9_000)
    with opened(tmp_path, plugins={"last": last}, model=model) as (session, _):
        list(session.run("one"))
        preview = session.propose("the names")
        assert len(session.messages) == 2
        (compacted,) = compactions(session.replace(preview))
        assert len(session.messages) == 1
    assert last.asked[0][1] == "the names"
    assert len(last.asked) == 1
    assert compacted["reason"] == "asked"


def test_a_plugin_asks_the_model_at_the_runs_expense(tmp_path):
    class Summary(Compactor):
        def shorter(self, messages, _focus, ask_model):
            return [Message("user", ask_model("Sum up.", messages), typed="")]

    summed = Finished("a sum", usage=Usage(input_tokens=7))
    model = Scripted([summed, "Done."], context=1_000)
    with opened(tmp_path, plugins={"sum": Summary()}, model=model) as (session, _):
        list(session.run(WORDS))
        assert session.report.usage.input_tokens == 7
        assert [message.text for message in session.messages] == ["a sum", "Done."]
    assert model.requests[0].system == "Sum up."
    assert model.requests[0].tools == ()


@pytest.mark.contract("G5")
def test_a_compacted_session_resumes_as_it_was_and_its_journal_keeps_the_original(tmp_path):
    environment = {"HOME": str(tmp_path)}
    plugins = Plugins()
    plugins.add(LastOnly(), "last")
    plugins.add(testing, "files")
    plugins.add(Scripted(["first answer", "second answer"], context=9_000), "script")
    options = {"plugins": plugins, "environment": environment, "model": "script"}
    with open_session(tmp_path, **options) as session:
        list(session.run("one"))
        list(session.compact())
        left = [message.text for message in session.messages]
    with open_session(tmp_path, resume=session.id, **options) as again:
        assert [message.text for message in again.messages] == left == ["first answer"]
    records = SessionStore.of_user(environment).records(session.id)
    assert [record.data["text"] for record in records if record.kind == "message"] == [
        "one",
        "first answer",
    ]


@pytest.mark.contract("G5")
def test_a_resumed_session_restores_each_compaction_that_nobody_restored(tmp_path):
    plugins = Plugins()
    plugins.add(LastOnly(), "last")
    plugins.add(testing, "files")
    plugins.add(Scripted(["first", "second", "third"], context=9_000), "script")
    options = {"plugins": plugins, "environment": {"HOME": str(tmp_path)}, "model": "script"}
    with open_session(tmp_path, **options) as session:
        for prompt in ("one", "two"):
            list(session.run(prompt))
            list(session.compact())
        list(restore(session))
        list(session.compact())
    with open_session(tmp_path, resume=session.id, **options) as again:
        list(again.run("three"))
        left = [
            [message.text for message in again.messages] for _ in range(2) if list(restore(again))
        ]
        with pytest.raises(UsageError, match="nothing to restore"):
            list(restore(again))
    assert left == [
        ["first", "two", "second", "three", "third"],
        ["one", "first", "two", "second", "three", "third"],
    ]
    with open_session(tmp_path, resume=session.id, **options) as last:
        assert [message.text for message in last.messages] == left[-1]


def test_what_a_plugin_leaves_out_of_requests_does_not_count_as_used(tmp_path):
    class Fewer:
        @hookimpl
        def nanocoder_before_request(self, request):
            return evolve(request, tools=())

    class Counter:
        def __init__(self):
            self.sizes = []

        @hookimpl
        def nanocoder_compact(self, window):
            tools = sum(count_tokens(tool.description) for tool in window.request.tools)
            self.sizes.append(count_tokens(window.request.system) + tools)

    counter = Counter()
    plugins = {"counter": counter, "fewer": Fewer(), "tools": TOOLS}
    with opened(tmp_path, ["a", "b", "c"], plugins=plugins) as (session, model):
        list(session.run("go"))
        list(session.run("go"))
        session.set_mode("plan")
        list(session.run("go"))
    assert counter.sizes == [count_tokens(request.system) for request in model.requests]
