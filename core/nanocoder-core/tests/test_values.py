"""Values are compared, hashed and shown by their fields; a message is itself alone."""

import attrs
import pytest
from nanocoder import Event, Message, TextDelta, ThinkingDelta, ToolCall, Usage


def test_values_with_the_same_fields_are_equal_and_those_of_other_classes_are_not():
    assert ToolCall("1", "read_file", {"path": "a"}) == ToolCall("1", "read_file", {"path": "a"})
    assert ToolCall("1", "read_file") != ToolCall("2", "read_file")
    assert TextDelta("a") != ThinkingDelta("a")
    assert len({Usage(1), Usage(1), Usage(2)}) == 2


def test_a_message_is_equal_to_itself_alone():
    message = Message("user", "hi")
    assert message == next(iter([message]))
    assert message != Message("user", "hi")


def test_a_value_shows_its_fields():
    assert repr(TextDelta("a")) == "TextDelta(text='a')"
    assert repr(Message("user", "hi")).startswith("Message(role='user', text='hi', calls=()")


def test_a_value_does_not_change():
    event = Event("text", {"text": "a"})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.kind = "other"
