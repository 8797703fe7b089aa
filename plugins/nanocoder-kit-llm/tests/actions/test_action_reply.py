"""A server's reply as an action."""

import pytest
from nanocoder import Finished, ProviderError, TextDelta, ThinkingDelta, ToolDefinition
from nanocoder_kit_llm.actions import ActionReply, Actions

ACTIONS = Actions.of([ToolDefinition("look", "Look.", {"properties": {"at": {"type": "string"}}})])


class Played:
    """A decoder whose events are the deltas themselves."""

    def __init__(self, **end):
        self.is_complete = True
        self.begun = True
        self.text = ""
        self.end = end

    def feed(self, events):
        self.text += "".join(event.text for event in events if isinstance(event, TextDelta))
        return list(events)

    def finished(self):
        return Finished(self.text, **self.end)


def decoded(*pieces, **end):
    """Return what is shown of a reply in *pieces*, and its end."""
    reply = ActionReply(Played(**end), ACTIONS)
    shown = [delta for piece in pieces for delta in reply.feed([TextDelta(piece)])]
    return "".join(delta.text for delta in shown), reply.finished()


def test_an_action_is_a_call_and_nothing_of_it_is_shown():
    shown, end = decoded('{"action": "lo', 'ok", "at": "a"}')
    assert (shown, end.text) == ("", "")
    assert [(call.name, call.arguments) for call in end.calls] == [("look", {"at": "a"})]


def test_an_answer_is_shown_as_it_comes():
    shown, end = decoded('{"action": "answer", "text": "Hel', 'lo"}')
    assert (shown, end.text, end.calls) == ("Hello", "Hello", ())


def test_an_action_that_the_limit_cut_is_no_call():
    shown, end = decoded('{"action": "look", "at": "', truncated=True)
    assert (shown, end.text, end.calls, end.truncated) == ("", "", (), True)


def test_text_of_a_server_that_ignores_the_schema_is_passed_on():
    shown, end = decoded("Hel", "lo {x}")
    assert (shown, end.text, end.calls) == ("Hello {x}", "Hello {x}", ())


def test_json_that_is_no_action_is_an_error():
    with pytest.raises(ProviderError, match="is not an action"):
        decoded('{"other": 1}')


def test_thinking_is_shown():
    reply = ActionReply(Played(), ACTIONS)
    assert reply.feed([ThinkingDelta("hm")]) == [ThinkingDelta("hm")]
    assert (reply.is_complete, reply.begun, reply.partial) == (True, True, "")
