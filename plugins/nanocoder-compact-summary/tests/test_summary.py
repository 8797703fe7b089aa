"""What the model is asked to sum up, what stays as it was, and what happens without a summary."""

import nanocoder_compact_summary as plugin
import pytest
from nanocoder import Message, ProviderError, ToolCall, ToolResult, spoken
from nanocoder_compact_summary.script import script_of
from nanocoder_testing import Scripted, opened

LONG = "word " * 300


def conversation(session, count):
    for number in range(count):
        list(session.run(f"request {number}: {LONG}"))


def compactions(events):
    return [event.data for event in events if event.kind == "transcript.compacted"]


@pytest.mark.contract("G5")
def test_the_older_part_becomes_a_summary_and_the_latest_request_stays(tmp_path):
    model = Scripted(["a", "b", "c", "Goal: words.", "d"], context=1_600)
    with opened(tmp_path, plugins={"compact-summary": plugin}, model=model) as (session, _):
        conversation(session, 4)
        (asked,) = [request for request in model.requests if request.system.startswith("You sum")]
        first, *_ = session.messages
        assert "Goal: words." in first.text
        typed = [spoken(message)[0] for message in session.messages if message.role == "user"]
        assert [text[:9] for text in typed if text] == ["request 3"]
        assert session.messages[-1].text == "d"
        (script,) = asked.messages
        assert "User: request 0" in script.text
        assert "Decisions:" in script.text


def test_a_wish_of_the_person_reaches_the_model(tmp_path):
    settings = plugin.Settings(recent=0.0)
    model = Scripted(["a", "b", "c", "Sum."], context=9_000)
    options = {"plugins": {"compact-summary": plugin}, "settings": {"compact-summary": settings}}
    with opened(tmp_path, model=model, **options) as (session, _):
        conversation(session, 3)
        (compacted,) = compactions(session.compact("the port"))
    assert compacted["plugin"] == "compact-summary"
    assert model.requests[-1].messages[0].text.endswith("to be kept: the port")


@pytest.mark.contract("G5")
@pytest.mark.parametrize("failure", [ProviderError("broken", kind="overloaded"), " \n"])
@pytest.mark.contract("G6")
def test_without_a_summary_the_next_plugin_is_asked(tmp_path, failure):
    model = Scripted(["a", "b", "c", failure], context=9_000)
    options = {
        "plugins": {"compact-summary": plugin},
        "settings": {"compact-summary": plugin.Settings(recent=0.0)},
    }
    with opened(tmp_path, model=model, **options) as (session, _):
        conversation(session, 3)
        before = session.messages
        assert compactions(session.compact()) == []
        assert session.messages == before


def test_a_conversation_of_two_messages_is_not_summed_up():
    def never(_system, _messages):
        raise AssertionError

    messages = [Message("user", LONG), Message("assistant", "a")]
    assert plugin.summarize(messages, 100, never, focus="", recent=0.2) is None


def test_in_the_middle_of_a_run_the_request_stays_before_its_latest_steps():
    steps = [
        message
        for number in range(10)
        for message in (
            Message("assistant", calls=(ToolCall(f"c{number}", "look", {}),)),
            Message("tool", results=(ToolResult(LONG, call_id=f"c{number}"),)),
        )
    ]
    messages = [Message("user", "build it"), *steps]
    first, *rest = plugin.summarize(messages, 4_000, lambda *_: "Sum.", focus="", recent=0.2)
    assert spoken(first)[0] == "build it"
    assert "Sum." in first.text
    assert rest == steps[-len(rest) :]
    assert rest[0].calls


def test_a_script_is_no_longer_than_the_window_holds():
    messages = [Message("user", LONG * 20), *([Message("assistant", LONG)] * 50)]
    assert len(script_of(messages, 2_000)) < 2_000 * 3
