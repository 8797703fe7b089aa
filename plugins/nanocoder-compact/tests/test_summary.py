"""What the model is asked to sum up, what stays as it was, and what happens without a summary."""

import nanocoder_compact_summary as plugin
import pytest
from nanocoder import Message, ProviderError, SessionInfo, ToolCall, ToolResult, spoken
from nanocoder_compact_summary.summing import script_of, summarize
from nanocoder_kit_sessions.context import Earlier, NoteWriter
from nanocoder_testing import Scripted, opened

LONG = "word " * 300


def conversation(session, count):
    for number in range(count):
        list(session.run(f"request {number}: {LONG}"))


def compactions(events):
    return [event.data for event in events if event.kind == "transcript.compacted"]


def notes(messages, limit_tokens, tmp_path):
    return NoteWriter(messages, limit_tokens, {}, SessionInfo("s", tmp_path))


def steps(count):
    return [
        message
        for number in range(count)
        for message in (
            Message("assistant", calls=(ToolCall(f"c{number}", "look", {}),)),
            Message("tool", results=(ToolResult(LONG, call_id=f"c{number}"),)),
        )
    ]


@pytest.mark.contract("G5")
def test_the_older_part_becomes_a_summary_and_the_words_of_the_user_stay(tmp_path):
    model = Scripted(["a", "b", "c", "Task: words.", "d"], context=1_600)
    with opened(tmp_path, plugins={"compact-summary": plugin}, model=model) as (session, _):
        conversation(session, 4)
        (asked,) = [request for request in model.requests if request.system.startswith("You sum")]
        first, note, *_ = session.messages
        assert "Task: words." in note.text
        assert spoken(note) == ("", note.text), "it is a message of its own"
        typed = [spoken(message)[0] for message in session.messages if message.role == "user"]
        assert [text[:9] for text in typed if text] == ["request 2", "request 3"]
        assert first.text.startswith("request 2")
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


def never(_system, _messages):
    raise AssertionError


def test_a_conversation_of_two_messages_is_not_summed_up(tmp_path):
    messages = [Message("user", LONG), Message("assistant", "a")]
    assert summarize(notes(messages, 100, tmp_path), never, focus="", recent=0.2) is None


def test_what_was_summed_up_just_now_is_not_summed_up_again(tmp_path):
    messages = [Message("user", "build it"), *steps(10)]
    first = summarize(notes(messages, 4_000, tmp_path), lambda *_: "S.", focus="", recent=0.2)
    again = summarize(notes(first, 4_000, tmp_path), never, focus="", recent=0.2)
    assert again is None


def test_no_model_is_asked_where_the_latest_results_alone_fill_the_room(tmp_path):
    huge = Message("tool", results=(ToolResult(LONG * 20, call_id="c"),))
    call = Message("assistant", calls=(ToolCall("c", "look", {}),))
    messages = [Message("user", "build it"), *steps(4), call, huge]
    assert summarize(notes(messages, 4_000, tmp_path), never, focus="", recent=0.2) is None


def test_in_the_middle_of_a_run_the_request_stays_before_its_latest_steps(tmp_path):
    messages = [Message("user", "build it"), *steps(10)]
    request, note, *rest = summarize(
        notes(messages, 4_000, tmp_path), lambda *_: "Sum.", focus="", recent=0.2
    )
    assert request is messages[0]
    assert "Sum." in note.text
    assert rest == messages[-len(rest) :]
    assert rest[0].calls


def test_an_earlier_summary_is_summed_up_whole_and_replaced(tmp_path):
    asked = []

    def ask(_system, messages):
        asked.append(messages[0].text)
        return f"summary {len(asked)} " + "told " * 60

    messages = [Message("user", "build it"), *steps(10)]
    for _ in range(3):
        writer = notes(messages, 4_000, tmp_path)
        messages = [*summarize(writer, ask, focus="", recent=0.2), *steps(10)]
    assert asked[2].startswith("<earlier-summary>\nsummary 2 " + ("told " * 60).strip())
    texts = [message.text for message in messages if message.role == "user"]
    assert [("summary 3" in text, "summary 2" in text) for text in texts] == [
        (False, False),
        (True, False),
    ]


def test_a_summary_without_end_does_not_fill_the_room(tmp_path):
    messages = [Message("user", "build it"), *steps(10)]
    writer = notes(messages, 4_000, tmp_path)
    _, note, *_ = summarize(
        writer, lambda *_: " ".join(map(str, range(9_000))), focus="", recent=0.2
    )
    assert len(note.text) < 4_000 * 3


def test_a_summary_that_repeats_itself_is_none(tmp_path):
    messages = [Message("user", "build it"), *steps(10)]
    said = "The user is asked to read the file again. " * 40
    writer = notes(messages, 4_000, tmp_path)
    assert summarize(writer, lambda *_: said, focus="", recent=0.2) is None


def test_a_small_model_is_not_asked_and_keeps_what_was_typed(tmp_path):
    model = Scripted(["a", "b", "c"], context=9_000, profile="small")
    settings = plugin.Settings(recent=0.0)
    options = {"plugins": {"compact-summary": plugin}, "settings": {"compact-summary": settings}}
    with opened(tmp_path, model=model, **options) as (session, _):
        conversation(session, 3)
        (compacted,) = compactions(session.compact("the port"))
        first, note, *_ = session.messages
    assert compacted["plugin"] == "compact-summary"
    assert len(model.requests) == 3
    assert first.text.startswith("request 1")
    assert "wants this to be kept in mind: the port" in note.text


def test_short_requests_stay_through_several_compactions_by_hand(tmp_path):
    messages = []
    for part in range(4):
        for number in range(3):
            typed = f"Remember that fact {part}.{number} counts, {'whatever else you read. ' * 4}"
            messages += [Message("user", typed), *steps(1), Message("assistant", "Noted.")]
        messages = summarize(notes(messages, 7_000, tmp_path), None, focus="", recent=0.2)
    typed = [message.text for message in messages if message.role == "user"]
    facts = [f"fact {part}.{number} " for part in range(4) for number in range(3)]
    assert [fact for fact in facts if not any(fact in text for text in typed)] == []


def test_a_script_is_no_longer_than_the_window_holds():
    messages = [Message("user", LONG * 20), *([Message("assistant", LONG)] * 50)]
    assert len(script_of(messages, Earlier(), 2_000)) < 2_000 * 3
