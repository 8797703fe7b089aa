"""The parts of a transcript, and what each source of a request takes."""

import pytest
from nanocoder import Attachment, Message, ToolCall, ToolResult, hookimpl, tool
from nanocoder_kit_sessions.context import first_kept, latest_request, sources_of, typed_requests
from nanocoder_testing import Scripted, opened

CALL = Message("assistant", calls=(ToolCall("a", "look", {}),))
RESULT = Message("tool", results=(ToolResult("word " * 500, call_id="a"),))


@pytest.mark.parametrize(("tokens", "expected"), [(1, 2), (700, 0), (10_000, 0)])
def test_the_last_messages_stay_and_a_call_keeps_its_result(tokens, expected):
    messages = [Message("user", "go " * 50), CALL, RESULT, Message("assistant", "Done.")]
    assert first_kept(messages, tokens) == (1 if expected == 2 else expected)


def test_the_latest_request_is_what_a_person_typed():
    messages = [Message("user", "one"), Message("user", "two"), Message("user", "note", typed="")]
    assert latest_request(messages) == 1
    assert latest_request(messages[2:]) == 0


def test_what_was_typed_is_kept_alone_and_in_order():
    picture = (Attachment("image/png", b"png"),)
    messages = [
        Message("user", "the file\n\nfirst", typed="first", attachments=picture),
        Message("assistant", "Done."),
        Message("user", "note", typed=""),
        Message("user", "second"),
        Message("user", "latest", attachments=picture),
    ]
    kept = typed_requests(messages, 10_000)
    assert [(each.text, len(each.attachments)) for each in kept] == [
        ("first", 0),
        ("second", 0),
        ("latest", 1),
    ]
    assert kept[1] is messages[3], "what a provider has encoded stays"


def test_the_latest_request_and_the_first_are_kept_before_those_between():
    messages = [Message("user", f"{number} " + "word " * 100) for number in range(20)]
    kept = typed_requests(messages, 500)
    assert [each.text.split()[0] for each in kept] == ["0", "17", "18", "19"]
    (latest,) = typed_requests([*messages, Message("user", "word " * 9_000)], 10)
    assert "characters left out" in latest.text


@pytest.mark.contract("H9")
def test_every_source_of_a_request_is_counted_under_its_name(tmp_path):
    class Plugin:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

        @hookimpl
        def nanocoder_prompt(self):
            return "Look before you leap. " * 10

    turns = [[("look", {})], "There is a stone."]
    with opened(tmp_path, turns, plugins={"looking": Plugin()}) as (session, _):
        list(session.run("go"))
        sources = sources_of(session)
    assert [(source.kind, source.name) for source in sources] == [
        ("prompt", "nanocoder"),
        ("prompt", "looking"),
        ("tools", "looking"),
        ("history", "typed"),
        ("history", "answers and calls"),
        ("results", "look"),
    ]
    assert all(source.tokens > 0 for source in sources)


@pytest.mark.contract("H9")
def test_what_a_provider_sends_in_place_of_definitions_is_counted(tmp_path):
    class Plugin:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    class Acting(Scripted):
        def tool_texts(self, tools):
            return [f"{tools[0].name}(): Look.", "Reply with one action. " * 10]

    def of_tools(model):
        with opened(tmp_path, model=model, plugins={"looking": Plugin()}) as (session, _):
            sources = sources_of(session)
        return {source.name: source.tokens for source in sources if source.kind == "tools"}

    definitions, texts = of_tools(Scripted([])), of_tools(Acting([]))
    assert definitions.keys() == {"looking"}
    assert texts["looking"] < definitions["looking"]
    assert texts["nanocoder"] > texts["looking"]


@tool(risk="safe")
def look() -> str:
    """Look around."""
    return "a stone " * 30
