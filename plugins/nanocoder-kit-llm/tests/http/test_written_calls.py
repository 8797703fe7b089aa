"""Calls that a model writes as text."""

import json
import re
from types import SimpleNamespace

import pytest
from attrs import evolve
from nanocoder import Finished, Message, ToolDefinition, ToolResult, hookimpl, tool
from nanocoder_kit_llm.http import WrittenCalls
from nanocoder_kit_llm.http.text_calls import GarbledCallError, calls_in
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

BAR = "\uff5c"


def deepseek(text):
    """Return *text* with DeepSeek's own signs in its tags."""
    return text.replace("<|", f"<{BAR}").replace("|>", f"{BAR}>").replace("_", "\u2581")


def dsml(text):
    """Return XML with DeepSeek's prefix in its tags."""
    return re.sub(r"<(/?)(\w)", rf"<\1{BAR}DSML{BAR}\2", text)


FAMILIES = {
    "Qwen": '<tool_call>\n{"name": "look", "arguments": {"at": "a"}}\n</tool_call>',
    "Qwen coder": (
        "<tool_call>\n<function=look>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call>"
    ),
    "GLM": ("<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"),
    "GLM in a line": "<tool_call>look<arg_key>at</arg_key><arg_value>a</arg_value></tool_call>",
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="look">\n<parameter name="at">a</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    ),
    "MiniMax M1": '<tool_calls>\n{"name": "look", "arguments": {"at": "a"}}\n</tool_calls>',
    "DeepSeek": deepseek(
        '<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>look\n```json\n{"at": "a"}\n```'
        "<|tool_call_end|><|tool_calls_end|>"
    ),
    "DeepSeek 3.1": deepseek(
        '<|tool_calls_begin|><|tool_call_begin|>look<|tool_sep|>{"at": "a"}<|tool_call_end|>'
        "<|tool_calls_end|><|end_of_sentence|>"
    ),
    "DSML": dsml(
        '<function_calls>\n<invoke name="look">\n<parameter name="at" string="true">a</parameter>\n'
        "</invoke>\n</function_calls>"
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0"
        '<|tool_call_argument_begin|>{"at": "a"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "harmony": (
        '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at": "a"}<|call|>'
    ),
    "harmony, the other way": (
        "<|start|>assistant to=functions.look<|channel|>commentary json<|message|>"
        '{"at": "a"}<|call|>'
    ),
    "Mistral": '[TOOL_CALLS][{"name": "look", "arguments": {"at": "a"}, "id": "abcdefghi"}]',
    "Mistral from 11 on": '[TOOL_CALLS]look[ARGS]{"at": "a"}',
    "Mistral with ids": '[TOOL_CALLS]look[CALL_ID]abcdefghi[ARGS]{"at": "a"}',
    "Mistral without": '[TOOL_CALLS]look{"at": "a"}',
    "Llama": '<|python_tag|>{"name": "look", "parameters": {"at": "a"}}<|eom_id|>',
    "Llama, pythonic": '[look(at="a")]',
    "Llama 4": "<|python_start|>[look(at='a')]<|python_end|>",
    "Llama 3.1": '<function=look>{"at": "a"}</function>',
    "Gemma": "```tool_code\nlook(at='a')\n```",
    "Gemma, printed": "```tool_code\nprint(default_api.look(at='a'))\n```",
    "Gemma 4": '<|tool_call>call:look{at:<|"|>a<|"|>}<tool_call|>',
    "FunctionGemma": ("<start_function_call>call:look{at:<escape>a<escape>}<end_function_call>"),
    "Anthropic": (
        '<function_calls>\n<invoke name="look">\n<parameter name="at">a</parameter>\n</invoke>\n'
        "</function_calls>"
    ),
    "Seed": (
        "<seed:tool_call><function=look><parameter=at>a</parameter></function></seed:tool_call>"
    ),
    "Nemotron": '<TOOLCALL>[{"name": "look", "arguments": {"at": "a"}}]</TOOLCALL>',
    "Granite": '<|tool_call|>[{"name": "look", "arguments": {"at": "a"}}]',
    "LFM": '<|tool_call_start|>[look(at="a")]<|tool_call_end|>',
    "Command": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": {"at": "a"}}]'
        "<|END_ACTION|>"
    ),
    "InternLM": (
        '<|action_start|><|plugin|>{"name": "look", "parameters": {"at": "a"}}<|action_end|>'
    ),
    "own tags": "<look>\n<at>a</at>\n</look>",
}

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

CALL = '{"name": "look", "arguments": {"at": "a"}}'
# Calls within or before text, which no model means.
QUOTED = [
    f"The file evil.md has [TOOL_CALLS][{CALL}]",
    f"The file says <tool_call>{CALL}",
    f"The file says:\n<tool_call>{CALL}",
    f"It contains <tool_call>{CALL}</tool_call> and also\n<tool_call>{CALL}</tool_call>",
    f"It contains\n<tool_call>{CALL}</tool_call>\nand also\n<tool_call>{CALL}</tool_call>",
    f"<tool_call>{CALL}</tool_call>\nThis is only a quotation.",
    f"It says <tool_call>x and\n```json\n{CALL}\n```",
    f"```\nThe file has\n```json\n{CALL}\n```",
    "The file says <look><at>a</at></look>",
    "<look><at>a</at></look> is in the file, and\n<look><at>b</at></look>",
    "<look><at>a</look>",
    f"a.py\n{BLOCK}\nThis is only a quotation.",
    f"a.py\n{BLOCK}\nThis is only a quotation, and so is\nb.py\n{BLOCK}",
    f"a.py\n{BLOCK}\n<<<<<<< SEARCH\nx\n=======\n",
]
# Calls after prose, which a small model means and another one may quote.
AFTER_PROSE = [
    f"I will not do this. The file has this text, do not run it:\n```json\n{CALL}\n```",
    f"I will not do this:\n<tool_call>{CALL}</tool_call>",
    f"I will not do this:\n[TOOL_CALLS][{CALL}]",
    "I will not do this:\n<look><at>a</at></look>",
]


class Written(Scripted):
    """Replies as they come from `read_reply`, of a small model unless *name* says otherwise."""

    def __init__(self, turns, name="tiny-1.5b"):
        super().__init__(turns)
        self.name = name
        self.written = WrittenCalls()

    def stream(self, request, cancel):
        for piece in super().stream(request, cancel):
            if isinstance(piece, Finished):
                yield from self.written.take(piece, evolve(request, model=self.name))
            else:
                yield piece


def notices(played):
    return [event.data["text"] for event in played.events if event.kind == "notice"]


@pytest.mark.contract("F10")
@pytest.mark.parametrize("text", WRITTEN)
def test_a_call_that_comes_as_text_runs_and_is_told_once(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text, text, "Done."]))
    assert (played.report["stop_reason"], played.text) == ("done", "Done.")
    assert [result.output for result in played.results][:1] == ["looked at 'a'"]
    told = "the model writes its tool calls as text; nanocoder reads them from there"
    assert notices(played) == [told]


@pytest.mark.contract("F10")
@pytest.mark.parametrize("text", FAMILIES.values(), ids=FAMILIES)
def test_a_call_in_the_form_of_any_family_is_read(text):
    for written in (text, f"{text}\n"):
        (call,) = calls_in(written, OFFERED, prose="announced")
        assert (call.name, call.arguments) == ("look", {"at": "a"})
    first = calls_in(f"I look.\n\n{text}", OFFERED, prose="any")
    assert [call.name for call in first] in (["look"], []), "some forms have no mark"


TWICE = [name for name in FAMILIES if "ythonic" not in name and not name.startswith("Gemma,")]


@pytest.mark.parametrize("name", TWICE)
def test_several_calls_of_any_family_are_read_in_order(name):
    text = FAMILIES[name]
    if text.startswith("```"):
        text = "```tool_code\nlook(at='a')\nlook(at='b')\n```"
    else:
        text = f"{text}\n{text}"
    assert [call.name for call in calls_in(text, OFFERED)] == ["look", "look"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fenced_example_of_any_family_is_no_call(name):
    text = FAMILIES[name]
    if not text.startswith("```"):
        fence = f"Calls are written so:\n\n```text\n{text}\n```"
        assert calls_in(fence, OFFERED) == []
        assert calls_in(f"{fence}\n\nThat is all.", OFFERED) == []
        assert calls_in(f"It says `{text}` there.", OFFERED) == []
        assert calls_in(f"{text}\n\nThat was an example.", OFFERED) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_a_call_of_any_family_that_the_model_has_read_is_a_quotation(name):
    message = Message("tool", results=(ToolResult(f"1\t{FAMILIES[name]}", call_id="c"),))
    request = SimpleNamespace(tools=OFFERED, messages=[message], model="large-70b")
    *_, end = WrittenCalls().take(Finished(FAMILIES[name]), request)
    assert end.calls == ()


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("<tool_call>count<arg_key>n</arg_key><arg_value>3</arg_value></tool_call>", 3),
        ("[count(n=3)]", 3),
        ("<|tool_call>call:count{n:3}<tool_call|>", 3),
        ('[TOOL_CALLS]count[ARGS]{"n": 3}', 3),
        ('<invoke name="count"><parameter name="n">3</parameter></invoke>', 3),
    ],
)
def test_values_have_the_types_that_the_tool_wants(form, value):
    assert calls_in(form, OFFERED)[0].arguments == {"n": value}


def test_a_value_keeps_whatever_it_has():
    odd = 'x < y && "q" {z}\n<b>\u00e9</b>\n```\nend'
    xml = f"<function=look><parameter=at>\n{odd}\n</parameter></function>"
    pairs = f"<tool_call>look<arg_key>at</arg_key><arg_value>{odd}</arg_value></tool_call>"
    marked = f'<|tool_call>call:look{{at:<|"|>{odd}<|"|>}}<tool_call|>'
    tagged = f"<tool_call>{json.dumps({'name': 'look', 'arguments': {'at': odd}})}</tool_call>"
    within = json.dumps({"name": "look", "arguments": {"at": "<tool_call>{}</tool_call>"}})
    for text in (xml, pairs, marked, tagged):
        assert calls_in(text, OFFERED)[0].arguments == {"at": odd}
    (call,) = calls_in(f"<tool_call>{within}</tool_call>", OFFERED)
    assert call.arguments == {"at": "<tool_call>{}</tool_call>"}


@pytest.mark.parametrize("name", ["Kimi", "DeepSeek", "MiniMax", "Qwen coder", "GLM", "harmony"])
def test_a_model_that_never_made_a_call_properly_may_speak_before_one(tmp_path, name):
    text = f"I look at it now.\n\n{FAMILIES[name]}"
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text, "Done."], "large-70b"))
    assert [result.output for result in played.results] == ["looked at 'a'"]
    announced = f"A call is written so:\n{FAMILIES[name]}"
    played = play(tmp_path, [], plugins=TOOLS, model=Written([announced], "large-70b"))
    assert list(played.results) == []


ANNOUNCEMENTS = [
    "I will now look at it:\n",
    "The test fails in a.py. Let me look at it first.\n\n",
    "Okay, I'll look at `a`:\n\n",
    "First, I need to see what it has. ",
]


@pytest.mark.parametrize("prose", ANNOUNCEMENTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_an_announced_call_of_any_family_runs_for_any_model(tmp_path, name, prose):
    text = FAMILIES[name]
    if prose.endswith(" ") and text.startswith(("[look", "```")):
        prose = f"{prose}\n"
    model = Written([[("look", {"at": "b"})], f"{prose}{text}", "Done."], "large-70b")
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert [result.output for result in played.results] == ["looked at 'b'", "looked at 'a'"]
    assert played.messages[-3].text == prose.strip()


@pytest.mark.parametrize("prose", ANNOUNCEMENTS[:2])
@pytest.mark.parametrize("text", [CALL, f"```json\n{CALL}\n```", f"```\n[{CALL}, {CALL}]\n```"])
def test_an_announced_call_in_json_runs_for_any_model(tmp_path, text, prose):
    model = Written([f"{prose}{text}", "Done."], "large-70b")
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert {result.output for result in played.results} == {"looked at 'a'"}


# Answers that show a call, or JSON and code that look like one.
SHOWN = [
    f"A call is written so:\n```json\n{CALL}\n```",
    f"I'll show you what a call looks like:\n```json\n{CALL}\n```",
    f"I would send this JSON:\n```json\n{CALL}\n```",
    f"Let me give an example:\n```json\n{CALL}\n```",
    f"I will not do this:\n```json\n{CALL}\n```",
    f"I won't run it:\n<tool_call>{CALL}</tool_call>",
    f"If you agree, I will look at it:\n```json\n{CALL}\n```",
    f"I will look at it:\n```json\n{CALL}\n```\nThat is what I sent.",
    f"The log of the run has this line:\n{CALL}",
    f"Your server has to answer with:\n\n{CALL}",
    'I will use this as package.json:\n```json\n{"name": "look", "version": "1.0.0"}\n```',
    'I will add this to the settings:\n```json\n{"name": "look", "arguments": ["-v"]}\n```',
    'I will add this task:\n```json\n{"name": "look", "args": {"elsewhere": 1}}\n```',
    "I will change the function:\n```python\nlook(at='a')\n```",
    "I will add this element to the page:\n```html\n<look><at>a</at></look>\n```",
    "I will leave the list as it is:\n[look, at, this]",
    f"I will fix the test below:\n```python\ndef test():\n    assert parse(\n{CALL}\n) == 1\n```",
]


@pytest.mark.parametrize("text", SHOWN)
def test_an_answer_that_shows_a_call_or_what_looks_like_one_runs_nothing(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text], "large-70b"))
    assert (list(played.results), played.text) == ([], text)


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


@pytest.mark.parametrize("text", ANSWERS)
def test_text_that_only_shows_a_call_is_an_answer(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text]))
    assert (played.report["stop_reason"], played.text) == ("done", text)


@pytest.mark.parametrize("text", QUOTED)
def test_a_call_within_or_before_text_is_a_quotation(text):
    assert calls_in(text, OFFERED) == []


@pytest.mark.parametrize("text", AFTER_PROSE)
def test_a_call_after_prose_runs_for_small_models_only(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text, "Done."]))
    assert [result.output for result in played.results] == ["looked at 'a'"]
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text], "large-70b"))
    assert (list(played.results), played.text) == ([], text)
    assert notices(played) == ["the answer contains a call as text, which was not run"]


def test_an_edit_after_prose_is_not_made_for_a_large_model():
    request = SimpleNamespace(tools=OFFERED, messages=(), model="large-70b")
    written = WrittenCalls()
    for prose in ("Do not apply this:\n\na.py", "Do not apply this:"):
        *_, end = written.take(Finished(f"{prose}\n{BLOCK}"), request)
        assert not end.calls
    assert len(written.take(Finished(AFTER_PROSE[0]), request)) == 1, "the person was told"


@pytest.mark.parametrize("text", AFTER_PROSE)
def test_a_small_model_that_has_called_a_tool_itself_only_quotes_calls(tmp_path, text):
    model = Written([[("look", {"at": "evil.md"})], text])
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert ([result.output for result in played.results], played.text) == (
        ["looked at 'evil.md'"],
        text,
    )


FILE_WITH_CALL = [
    CALL,
    f"<tool_call>{CALL}</tool_call>",
    '{\n  "name": "look",\n  "arguments": {\n    "at": "a"\n  }\n}',
    "<look>\n<at>a</at>\n</look>",
    "<function=look>\n<parameter=at>a</parameter>\n</function>",
]


@pytest.mark.parametrize("prose", ["", "The file has this:\n"])
@pytest.mark.parametrize("content", FILE_WITH_CALL)
@pytest.mark.parametrize("is_numbered", [False, True])
def test_a_call_that_the_model_has_read_is_a_quotation(tmp_path, prose, content, is_numbered):
    lines = content.splitlines()
    shown = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1)) if is_numbered else content
    text = f"{prose}{content}"
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text]), prompt=f"Explain:\n{shown}")
    assert (list(played.results), played.text) == ([], text)
    if not prose:
        assert notices(played) == ["the answer contains a call as text, which was not run"]


def test_an_edit_that_the_model_has_read_is_a_quotation_and_another_one_is_none():
    message = Message("user", f"Explain:\na.py\n{BLOCK}")
    request = SimpleNamespace(tools=OFFERED, messages=[message], model="tiny-1.5b")
    *_, quoted = WrittenCalls().take(Finished(f"a.py\n{BLOCK}"), request)
    *_, meant = WrittenCalls().take(Finished(f"a.py\n{BLOCK.replace('x', 'other')}"), request)
    assert (quoted.calls, len(meant.calls)) == ((), 1)


LIMIT = 99_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<<<<<<< SEARCH\nX\n=======\nY\n" * (LIMIT // 27), id="blocks"),
        pytest.param("a.py\n" + "<<<<<<< SEARCH\n" * (LIMIT // 15), id="searches"),
        pytest.param("<look>X" * (LIMIT // 7), id="own tags"),
        pytest.param("<look>" + "<at>X" * (LIMIT // 5) + "</look>", id="own parameters"),
        pytest.param("<function=look>" * (LIMIT // 15), id="functions"),
        pytest.param(
            "<function=look>" + "<parameter=at>" * (LIMIT // 14) + "</function>", id="parameters"
        ),
        pytest.param("<tool_call>" * (LIMIT // 11), id="tags"),
        pytest.param("<tool_call>\n" * (LIMIT // 12) + "X", id="tags on lines"),
        pytest.param("<tool_call></tool_call> " * (LIMIT // 24) + "X", id="empty tags"),
        pytest.param("</tool_call>\n" * (LIMIT // 13) + "X", id="closing tags"),
        pytest.param("```\n" * (LIMIT // 4) + "```", id="fences"),
        pytest.param("```" + " " * LIMIT + "x```", id="spaces"),
        pytest.param("[TOOL_CALLS]" * (LIMIT // 12), id="markers"),
        pytest.param("[" * LIMIT, id="brackets"),
        pytest.param("<count><n>" + "[" * LIMIT, id="brackets in an open parameter"),
    ],
)
def test_a_long_text_without_ends_is_an_answer_in_linear_time(text):
    assert calls_in(text, OFFERED) == []


def test_many_calls_in_a_long_text_are_read():
    count = LIMIT // len(f"<tool_call>{CALL}</tool_call>")
    assert len(calls_in(f"<tool_call>{CALL}</tool_call>" * count, OFFERED)) == count
    assert len(calls_in(f"<tool_call>{CALL}" * count, OFFERED)) == count
    assert len(calls_in("<look><at>a</at></look>" * 4_000, OFFERED)) == 4_000
    assert len(calls_in("a.py\n" + f"{BLOCK}\n" * 2_000, OFFERED)) == 2_000
    deep = "<count><n>" + "[" * 40_000 + "</n></count>"
    assert calls_in(deep, OFFERED)[0].arguments == {"n": "[" * 40_000}


@pytest.mark.parametrize("opening", ["[", '{"a":', '"a', "{{", "("])
@pytest.mark.parametrize("count", [3_000, 40_000])
@pytest.mark.parametrize("end", ["", "}"])
def test_json_that_no_parser_reads_is_refused_not_raised(opening, count, end):
    text = '{"name":"look","arguments":' + opening * count + end
    with pytest.raises(GarbledCallError):
        calls_in(text, OFFERED)


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


@pytest.mark.contract("A12")
@pytest.mark.contract("F10")
@pytest.mark.parametrize(
    "text",
    [
        f"I change it.\n\na.py\n{BLOCK}",
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
    request = SimpleNamespace(tools=OFFERED, messages=(), model="m")
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
