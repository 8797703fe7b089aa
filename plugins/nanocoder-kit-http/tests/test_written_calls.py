"""Calls that a model writes as text."""

from types import SimpleNamespace

import pytest
from nanocoder import Finished, ToolDefinition, hookimpl, tool
from nanocoder_kit_http import WrittenCalls
from nanocoder_kit_http.text_calls import GarbledCallError, calls_in
from nanocoder_testing import Scripted, play


@tool(effects={"read"}, risk="safe")
def look(at: str = "") -> str:
    """Look."""
    return f"looked at {at!r}"


TOOLS = {"tools": SimpleNamespace(nanocoder_tools=hookimpl(lambda: [look]))}


def definition(name, *properties, required=()):
    fields = {key: {"type": "string"} for key in properties}
    return ToolDefinition(name, "", {"properties": fields, "required": list(required)})


LOOK = definition("look", "at")
COUNT = ToolDefinition("count", "", {"properties": {"n": {"type": "integer"}}, "required": ["n"]})
EDIT = definition("change", "path", "old_string", "new_string", required=["path"])
OFFERED = [LOOK, COUNT, EDIT]

WRITTEN = [
    '<tool_call>{"name": "look", "arguments": {"at": "a"}}</tool_call>',
    'I look at it.\n<tool_call>\n{"name": "look", "arguments": {"at": "a"}}\n</tool_call>',
    '<tool_call>{"name": "look", "arguments": {"at": "a"}}',
    '```json\n{"tool": "look", "parameters": {"at": "a"}}\n```',
    'I look at it.\n```json\n{"tool": "look", "parameters": {"at": "a"}}\n```',
    '{"name": "look", "arguments": {"at": "a"}}',
    '[{"type": "function", "function": {"name": "look", "arguments": "{\\"at\\": \\"a\\"}"}}]',
    '[TOOL_CALLS][{"name": "look", "arguments": {"at": "a"}}]',
    '<|python_tag|>{"name": "look", "parameters": {"at": "a"}}<|eom_id|>',
    "<function=look>\n<parameter=at>\na\n</parameter>\n</function>",
    '<tool_use><invoke name="look"><parameter name="at">a</parameter></invoke></tool_use>',
    "<look>\n<at>a</at>\n</look>",
]
REPAIRED = [
    "{'name': 'look', 'arguments': {'at': 'a'}}",
    '{"name": "look", "arguments": {"at": "a",}}',
    '<tool_call>{"name": "look", "arguments": {"at": "a"}</tool_call>',
    '```json\n{name: "look", arguments: {at: "a"}}\n```',
]
GARBLED = [
    '<tool_call>{"name": "look", "arguments": {"at": "a</tool_call>',
    '<tool_call>{"name": "look", "arguments": {"at": "a"}} and {"b": 1}}</tool_call>',
    '{"name": "look", "arguments": {"elsewhere": \'a\'}}',
    "{'name': 'count', 'arguments': {}}",
]
ANSWERS = [
    '{"name": "acme", "version": 1}',
    '{"name": "look"}',
    'Use {"name": "look", "arguments": {}} to look.',
    '```json\n{"name": "other", "arguments": {}}\n```',
    "A tool call is written <tool_call>like this</tool_call>.",
    'It says <tool_call>{"name": "look", "arguments": {}}</tool_call> in line 3.',
    "Write <look><at>a</at></look> into the file.",
]
BLOCK = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"


class Written(Scripted):
    """Replies as they come from `read_reply`."""

    def __init__(self, turns):
        super().__init__(turns)
        self.written = WrittenCalls()

    def stream(self, request, cancel):
        for piece in super().stream(request, cancel):
            if isinstance(piece, Finished):
                yield from self.written.take(piece, request)
            else:
                yield piece


def notices(played):
    return [event.data["text"] for event in played.events if event.kind == "notice"]


@pytest.mark.contract("F10")
@pytest.mark.finding("B11")
@pytest.mark.parametrize("text", WRITTEN)
def test_a_call_that_comes_as_text_runs_and_is_told_once(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text, text, "Done."]))
    assert (played.report["stop_reason"], played.text) == ("done", "Done.")
    assert [result.output for result in played.results][:1] == ["looked at 'a'"]
    told = "the model writes its tool calls as text; nanocoder reads them from there"
    assert notices(played) == [told]


@pytest.mark.contract("F10")
@pytest.mark.parametrize("text", REPAIRED)
def test_damaged_json_is_repaired_where_it_can_only_be_meant_in_one_way(text):
    (call,) = calls_in(text, OFFERED)
    assert (call.name, call.arguments, call.is_repaired) == ("look", {"at": "a"}, True)


@pytest.mark.contract("F10")
@pytest.mark.parametrize("text", GARBLED)
def test_a_call_that_would_have_to_be_guessed_is_refused(text):
    with pytest.raises(GarbledCallError):
        calls_in(text, OFFERED)


@pytest.mark.contract("F10")
def test_a_refused_call_is_told_to_the_model_once_and_then_the_run_fails(tmp_path):
    model = Written([GARBLED[0], [("look", {})], "Done."])
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert (played.report["stop_reason"], played.text) == ("done", "Done.")
    (told,) = model.requests[1].messages[-1].results
    assert told.is_error
    assert "you wrote a call of look as text" in told.output
    played = play(tmp_path, [], plugins=TOOLS, model=Written([GARBLED[0], GARBLED[0]]))
    assert (played.report["stop_reason"], played.report["turns"]) == ("provider_error", 2)
    assert "Take another model" in played.report["error"]["message"]


@pytest.mark.finding("B11")
@pytest.mark.parametrize("text", ANSWERS)
def test_text_that_only_shows_a_call_is_an_answer(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text]))
    assert (played.report["stop_reason"], played.text) == ("done", text)


@pytest.mark.contract("F10")
def test_several_calls_in_tags_keep_their_order_and_types():
    text = (
        '<tool_call>{"name": "look", "arguments": {"at": "</b>"}}</tool_call>\n'
        "<tool_call>\n"
        '{"name": "count", "arguments": {"n": 3}}\n</tool_call>'
    )
    assert [(call.name, call.arguments) for call in calls_in(text, OFFERED)] == [
        ("look", {"at": "</b>"}),
        ("count", {"n": 3}),
    ]
    xml = "<function=count><parameter=n>3</parameter></function>"
    assert calls_in(xml, OFFERED)[0].arguments == {"n": 3}


@pytest.mark.contract("F10")
@pytest.mark.parametrize(
    "text",
    [
        f"I change it.\n\na.py\n{BLOCK}\nDone.",
        f"a.py\n```python\n{BLOCK}\n```",
        f"```python\na.py\n{BLOCK}\n```",
        f"**`a.py`**\n{BLOCK}",
    ],
)
def test_a_search_replace_block_is_an_edit(text):
    (call,) = calls_in(text, OFFERED)
    assert call.name == "change"
    assert call.arguments == {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}


@pytest.mark.contract("F10")
def test_blocks_follow_the_path_before_them_and_need_a_tool_that_edits():
    removal = "<<<<<<< SEARCH\nx = 1\n=======\n>>>>>>> REPLACE"
    calls = calls_in(f"a.py\n{BLOCK}\n\n{removal}\n\nb.py\n{BLOCK}", OFFERED)
    assert [call.arguments["path"] for call in calls] == ["a.py", "a.py", "b.py"]
    assert (calls[1].arguments["old_string"], calls[1].arguments["new_string"]) == ("x = 1\n", "")
    assert calls_in(f"a.py\n{BLOCK}", [LOOK]) == []
    with pytest.raises(GarbledCallError):
        calls_in(f"Change this:\n{BLOCK}", OFFERED)


def test_a_call_that_the_token_limit_cut_is_refused():
    cut = Finished('{"name": "look", "arguments": {}}', truncated=True)
    request = SimpleNamespace(tools=OFFERED, messages=())
    (end,) = WrittenCalls().take(cut, request)
    assert end.calls[0].error


def test_the_person_reads_of_repairs(tmp_path):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([REPAIRED[0], "Done."]))
    (told,) = notices(played)
    assert "repairs their JSON" in told


@pytest.mark.contract("F11")
def test_a_model_that_turns_out_to_be_small_gets_the_small_prompt_from_then_on(tmp_path):
    class Learning(Written):
        def stream(self, request, cancel):
            yield from super().stream(request, cancel)
            if self.written.is_told:
                self.profile = "small"

    model = Learning([WRITTEN[0], [("look", {})], "Done."])
    assert play(tmp_path, [], plugins=TOOLS, model=model).text == "Done."
    first, second, third = (request.system for request in model.requests)
    assert first != second == third
    assert len(second) < len(first)
