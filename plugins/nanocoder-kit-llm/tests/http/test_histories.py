"""Histories that every vendor takes."""

import re

import pytest
from nanocoder import Attachment, Message, ToolCall, ToolResult
from nanocoder_kit_llm.http import EncodedMessages, History, HistoryRules, encode_json

STRICT = HistoryRules(speaks_before_user=True, has_text_results=True)
PICTURE = Attachment("image/png", b"png", "a.png")


def user(text="hi", **fields):
    return Message("user", text, **fields)


def calls(*names, text=""):
    made = tuple(ToolCall(f"id-{name}", name) for name in names)
    return Message("assistant", text, made)


def results(*names, output="ok", **fields):
    return Message(
        "tool",
        results=tuple(ToolResult(output, call_id=f"id-{name}", **fields) for name in names),
    )


def valid(*messages, rules=None):
    return History(rules or HistoryRules()).valid(messages)


def shape(messages):
    return [(message.role, message.text) for message in messages]


def test_a_history_that_is_valid_stays_the_same_objects():
    messages = [user(), calls("a", "b"), results("a", "b"), Message("assistant", "Done."), user()]
    assert all(one is other for one, other in zip(valid(*messages), messages, strict=True))


def test_messages_of_a_person_in_a_row_become_one_with_their_files():
    first, second = user("one", attachments=(PICTURE,)), user("two", attachments=(PICTURE,))
    (joined,) = valid(first, Message("assistant", "  \n"), second)
    assert (joined.text, len(joined.attachments)) == ("one\n\ntwo", 2)


def test_a_message_without_anything_is_left_out():
    messages = [user(""), user("a"), Message("assistant"), user(" "), Message("assistant", "b")]
    assert shape(valid(*messages)) == [("user", "a"), ("assistant", "b")]


def test_a_person_speaks_first_and_between_two_answers():
    history = valid(Message("assistant", "one"), Message("assistant", "two"))
    assert [message.role for message in history] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("after", [user("go on"), Message("assistant", "Done.")])
def test_a_call_without_a_result_gets_one(after):
    _, _, missing, *_ = valid(user(), calls("a", "b"), after)
    assert [result.call_id for result in missing.results] == ["id-a", "id-b"]
    assert all(result.is_error and "interrupted" in result.output for result in missing.results)
    _, _, partly = valid(user(), calls("a", "b"), results("b"))
    assert [result.output[:3] for result in partly.results] == ["(no", "ok"]


def test_a_result_without_a_call_is_told_as_text():
    assert shape(valid(user("q"), results("a", output="found"))) == [
        ("user", "q\n\n[results of earlier calls]\n\nfound")
    ]
    (last,) = valid(user(), calls("a"), results("stranger", "a"))[-1].results
    assert last.call_id == "id-a"


def test_an_empty_result_says_so():
    assert valid(user(), calls("a"), results("a", output=" "))[-1].results[0].output == (
        "(no output)"
    )


def test_where_it_has_to_the_model_speaks_between_results_and_a_person():
    history = valid(user(), calls("a"), results("a"), user("go on"), rules=STRICT)
    assert [message.role for message in history][-3:] == ["tool", "assistant", "user"]
    plain = valid(user(), calls("a"), results("a"), user("go on"))
    assert [message.role for message in plain][-2:] == ["tool", "user"]


def test_pictures_stand_apart_where_a_result_is_text():
    messages = [user(), calls("a"), results("a", attachments=(PICTURE,)), user("and?")]
    history = valid(*messages, rules=STRICT)
    assert history[2].results[0].attachments == ()
    assert [message.role for message in history[2:]] == ["tool", "assistant", "user"]
    assert history[-1].attachments == (PICTURE,)
    assert history[-1].text.endswith("and?")


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("functions.bash", "functions_bash"),
        ("bash<|channel|>commentary", "bash_channel_commentary"),
        ("x" * 90, "x" * 64),
        ("ls\n", "ls"),
        ("mcp:bash", "mcp_bash"),
        ("默认", "unknown_tool"),
        ("", "unknown_tool"),
        ("mcp__server__tool-1", "mcp__server__tool-1"),
    ],
)
def test_names_that_a_model_made_up_are_in_the_alphabet_of_all_vendors(name, sent):
    history = valid(user(), calls(name), results(name))
    assert history[1].calls[0].name == sent


@pytest.mark.parametrize(
    ("rules", "shape_of_id"),
    [
        (HistoryRules(), r"[\x21-\x7e]{1,64}"),
        (HistoryRules(call_ids="[a-zA-Z0-9_-]{1,64}"), r"[\w-]{1,64}"),
        (HistoryRules(call_ids="[a-zA-Z0-9]{9}", id_prefix="", id_chars=9), r"[a-z0-9]{9}"),
    ],
)
@pytest.mark.parametrize(
    "call_id", ["functions.bash:0", "call|fc", "a b", "é", "x" * 200, "c\ud800"]
)
def test_ids_are_in_the_vendors_alphabet_and_results_keep_theirs(rules, shape_of_id, call_id):
    made = Message("assistant", calls=(ToolCall(call_id, "bash"),))
    answered = Message("tool", results=(ToolResult("ok", call_id=call_id),))
    _, call, result = valid(user(), made, answered, rules=rules)
    assert re.fullmatch(shape_of_id, call.calls[0].id)
    assert result.results[0].call_id == call.calls[0].id


def test_what_was_sent_stays_byte_for_byte_while_a_history_grows():
    messages = [
        user("one"),
        calls("functions.bash", "b"),
        results("functions.bash", "b", attachments=(PICTURE,)),
        user("two"),
        Message("assistant", "Done."),
        user("three"),
        calls("c"),
        results("c"),
    ]
    history = History(HistoryRules(call_ids="[a-z]{9}", id_prefix="", id_chars=9))
    encoded = EncodedMessages(lambda message: encode_json([message.role, message.text]))
    sent = b""
    for count in range(1, len(messages) + 1):
        if messages[count - 1].role != "assistant":
            bytes_now = encoded.join(history.valid(messages[:count]))
            assert bytes_now.startswith(sent[:-2])
            sent = bytes_now
    again = History(HistoryRules(call_ids="[a-z]{9}", id_prefix="", id_chars=9)).valid(messages)
    assert shape(again) == shape(history.valid(messages))


def test_a_shortened_history_is_made_valid_anew():
    history = History(HistoryRules())
    messages = [user("one"), calls("a"), results("a"), Message("assistant", "Done."), user("two")]
    history.valid(messages)
    assert shape(history.valid([messages[0], messages[-1]])) == [("user", "one\n\ntwo")]
    assert history.valid(messages)[1] is messages[1]
