import sys

import pytest
from nanocoder import Message, ToolResult
from nanocoder_kit_llm.http import EncodedMessages, result_text


class Counted:
    def __init__(self):
        self.calls = 0
        self.bytes = 0

    def __call__(self, message):
        self.calls += 1
        data = message.text.encode()
        self.bytes += len(data)
        return data


def test_each_message_is_encoded_once_over_two_hundred_turns():
    encode = Counted()
    encoded = EncodedMessages(encode)
    messages = []
    for turn in range(200):
        messages += [Message("assistant", f"a{turn}"), Message("tool", f"t{turn}")]
        body = encoded.join(messages)
        assert encode.calls == 2 * (turn + 1)
    assert body.decode().split(",") == [message.text for message in messages]
    assert encode.bytes == sum(len(message.text) for message in messages)


def test_equal_messages_are_two_messages():
    encode = Counted()
    EncodedMessages(encode).join([Message("user", "x"), Message("user", "x")])
    assert encode.calls == 2


def test_a_compacted_history_keeps_the_bytes_of_what_stayed():
    encode = Counted()
    encoded = EncodedMessages(encode)
    messages = [Message("user", str(number)) for number in range(10)]
    encoded.join(messages)
    kept = [Message("user", "summary"), *messages[8:]]
    assert encoded.join(kept) == b"summary,8,9"
    assert encode.calls == 11


def test_a_message_that_takes_the_place_of_another_is_encoded_and_the_others_stay():
    encode = Counted()
    encoded = EncodedMessages(encode)
    messages = [Message("user", str(number)) for number in range(4)]
    encoded.join(messages)
    changed = [messages[0], Message("user", "new"), *messages[2:]]
    assert encoded.join(changed) == b"0,new,2,3"
    assert encoded.join([*changed, Message("user", "more")]) == b"0,new,2,3,more"
    assert encode.calls == 6


def test_a_message_that_cannot_be_encoded_leaves_what_is_known():
    def encode(message):
        return {"a": b"a", "c": b"c"}[message.text]

    encoded = EncodedMessages(encode)
    first = Message("user", "a")
    with pytest.raises(KeyError):
        encoded.join([first, Message("user", "b")])
    assert encoded.join([first, Message("user", "c")]) == b"a,c"


def test_more_messages_take_no_look_at_those_before():
    encoded = EncodedMessages(lambda message: message.text.encode())
    messages = [Message("user", str(number)) for number in range(500)]
    encoded.join(messages)
    calls = []
    sys.setprofile(lambda _frame, event, _argument: calls.append(event))
    try:
        encoded.join([*messages, Message("user", "last")])
    finally:
        sys.setprofile(None)
    assert len(calls) < 50


def test_a_message_without_bytes_leaves_no_comma():
    assert (
        EncodedMessages(lambda m: m.text.encode()).join(
            [Message("user", "a"), Message("assistant", ""), Message("user", "b")]
        )
        == b"a,b"
    )


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("no such file", is_error=True), "Error: no such file"),
        (ToolResult("Error: broken", is_error=True), "Error: broken"),
        (ToolResult("fine"), "fine"),
        (
            ToolResult("2 passed\n[exit code 1]", is_error=True, metadata={"exit_code": 1}),
            "2 passed\n[exit code 1]",
        ),
    ],
)
def test_the_output_of_a_command_that_failed_is_not_taken_for_its_error(result, text):
    assert result_text(result) == text
