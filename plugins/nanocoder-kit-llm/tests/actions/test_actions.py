import json
import re

import pytest
from nanocoder import ToolCall, ToolDefinition
from nanocoder_kit_llm.actions import blocks
from nanocoder_kit_llm.actions.actions import Actions


def tool(name, required, **properties):
    return ToolDefinition(
        name,
        f"Do {name}.",
        {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    )


def only_call(actions, reply):
    """Return the call of a reply that makes one."""
    [call] = actions.read(reply)
    assert isinstance(call, ToolCall)
    return call


STRING = {"type": "string"}
WRITE = tool("write_file", ["path", "content"], path=STRING, content=STRING)
LIST = tool("list_files", [], path=STRING)
TODO = tool("todo", ["action"], action=STRING, text=STRING)


def test_each_tool_is_one_short_line_and_the_endings_are_the_last():
    assert Actions.of([WRITE, LIST]).lines().splitlines()[:2] == [
        "write_file(path, content): Do write_file.",
        "list_files(path?): Do list_files.",
    ]
    assert [line.split(":")[0] for line in Actions.of([WRITE, LIST]).lines().splitlines()[2:]] == [
        "answer(text)",
        "chat(text)",
    ]


def test_the_path_comes_before_the_content_in_the_schema():
    [write, answer] = Actions.of([WRITE]).schema(bare=False)["anyOf"]

    assert list(write["properties"]) == ["action", "path", "content"]
    assert write["required"] == ["action", "path", "content"]
    assert answer["properties"]["action"] == {"const": "answer"}


def test_a_request_with_nothing_to_answer_from_can_only_be_talked_about():
    [_, ending] = Actions.of([WRITE]).schema(bare=True)["anyOf"]

    assert ending["properties"]["action"] == {"const": "chat"}
    assert Actions.of([WRITE]).read('{"action": "chat", "text": "Hello."}') == "Hello."


def test_a_number_has_an_end_where_the_engine_can_hold_it():
    add = tool(
        "add", ["a"], a={"type": "number"}, many={"type": "array", "items": {"type": "number"}}
    )
    [call, _] = Actions.of([add]).schema(bare=False)["anyOf"]
    [plain, _] = Actions.of([add]).schema(bare=False, has_separators=False)["anyOf"]

    assert (
        call["properties"]["a"]["multipleOf"] == call["properties"]["many"]["items"]["multipleOf"]
    )
    assert plain["properties"]["a"] == {"type": "number"}


def test_a_description_that_says_more_than_the_name_has_a_line():
    units = {"type": "string", "description": "The units of the radius (defaults to 'meters')."}
    area = tool("area", ["radius"], radius={"type": "number", "description": "A radius."}, u=units)

    assert Actions.of([area]).lines().splitlines()[:2] == [
        "area(radius, u?): Do area.",
        "  u: The units of the radius (defaults to 'meters').",
    ]


@pytest.mark.parametrize("separator", ["\n", ", ", "\n\n", " "])
def test_a_reply_may_make_several_calls(separator):
    first, second = '{"action": "list_files", "path": "a"}', '{"action": "list_files"}'
    calls = Actions.of([LIST], is_free=True).read(f"{first}{separator}{second}\n")

    assert [(call.name, call.arguments) for call in calls] == [
        ("list_files", {"path": "a"}),
        ("list_files", {}),
    ]


def test_several_calls_are_for_engines_with_a_grammar_and_no_code_to_write():
    assert Actions.of([LIST], is_free=True).has_several
    assert "{0,7}" in Actions.of([LIST], is_free=True).schema(bare=True)["x-grammar"]
    assert not Actions.of([LIST]).has_several
    assert not Actions.of([LIST, WRITE], is_free=True).has_several


def test_a_request_that_no_tool_serves_has_an_action_where_no_tool_writes_code():
    free = Actions.of([LIST], is_free=True)
    assert "none(text): Say so, when no tool above does" in free.lines()
    assert free.read('{"action": "none", "text": "no"}') == "no"
    assert Actions.of([LIST, WRITE], is_free=True).chat == "chat"
    assert Actions.of([LIST]).chat == "chat"
    assert "{0,7}" not in Actions.of([LIST, WRITE], is_free=True).schema(bare=True)["x-grammar"]


def test_a_reply_ends_at_a_call_that_it_has_made_before():
    actions = Actions.of([LIST], is_free=True)
    first, second = '{"action": "list_files", "path": "a"}', '{"action": "list_files"}'
    again = f"{first}\n{second}\n{first}"

    assert [call.arguments for call in actions.read(f"{again},")] == [{"path": "a"}, {}]
    assert actions.repeats(f"{again},")
    assert not actions.repeats(again[:-1])


def test_an_answer_behind_a_call_does_not_count():
    reply = '{"action": "list_files"}\n{"action": "answer", "text": "Done."}'
    assert only_call(Actions.of([LIST]), reply).name == "list_files"


def test_optional_parameters_may_be_absent():
    [listing, _] = Actions.of([LIST]).schema(bare=False)["anyOf"]

    assert listing["required"] == ["action"]


def test_a_reply_becomes_a_call_with_an_id_of_its_own():
    actions = Actions.of([LIST])
    first = only_call(actions, '{"action": "list_files", "path": "src"}')
    second = only_call(actions, '{"action": "list_files"}')

    assert (first.name, first.arguments, second.arguments) == ("list_files", {"path": "src"}, {})
    assert first.id != second.id


def test_an_answer_is_its_text():
    assert Actions.of([LIST]).read('{"action": "answer", "text": "Done."}') == "Done."


def test_a_parameter_called_action_is_no_clash():
    actions = Actions.of([TODO, LIST])
    reply = actions.write("todo", {"action": "add", "text": "milk"})
    call = only_call(actions, reply)

    assert json.loads(reply) == {"action": "todo", "arguments": {"action": "add", "text": "milk"}}
    assert call.arguments == {"action": "add", "text": "milk"}
    assert actions.schema(bare=False)["anyOf"][0]["required"] == ["action", "arguments"]


def test_a_tool_called_answer_or_chat_is_no_clash():
    actions = Actions.of([tool("answer", []), tool("chat", [])])

    assert only_call(actions, '{"action": "answer"}').name == "answer"
    assert only_call(actions, '{"action": "chat"}').name == "chat"
    assert actions.read('{"action": "final_answer", "text": "x"}') == "x"
    assert actions.read('{"action": "just_chat", "text": "x"}') == "x"


@pytest.mark.parametrize(
    "reply", ["", "{", '{"action": "answer", "text": "cut', "[]", '{"x": 1}', '{"action": 3}']
)
def test_what_is_no_action_is_an_error(reply):
    with pytest.raises(ValueError, match=r"."):
        Actions.of([LIST]).read(reply)


def test_a_call_is_written_as_the_model_writes_it():
    actions = Actions.of([WRITE])
    reply = '{"action": "write_file", "path": "ä.py", "content": "a\\n\\"b\\"\\\\n"}'
    call = only_call(actions, reply)

    assert actions.write(call.name, call.arguments) == reply


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", 'def f():\n    """Say "x"."""\n    return "\\n"\n'),
        ("src/ä.ts", " `x\n\n"),
        ("README.md", "# A\n```console\n$ a\n```\n"),
        ("a.py", "`x`\n"),
        ("a.py", "no line end"),
        ("a.py", ""),
        ("Makefile", "all:\n\techo\n"),
        ("py", "x\n"),
    ],
)
def test_code_stands_in_a_block_behind_its_action_where_one_can_hold_it(path, content):
    actions = Actions.of([WRITE, LIST], is_free=True)
    reply = actions.write("write_file", {"path": path, "content": content})
    call = only_call(actions, reply)

    assert call.arguments == {"path": path, "content": content}
    assert ("\n```" in reply) == (
        path in {"a.py", "src/ä.ts"} and content not in {"`x`\n", "no line end", ""}
    )


def test_without_blocks_and_for_other_tools_code_stands_in_the_object():
    arguments = {"path": "a.py", "content": "x\n"}
    move = tool("move", ["path"], path=STRING, content=STRING)

    assert "```" not in Actions.of([WRITE]).write("write_file", arguments)
    assert "```" not in Actions.of([move], is_free=True).write("move", arguments)
    assert "BLOCK" not in Actions.of([move], is_free=True).schema(bare=True)["x-grammar"]


def test_only_paths_of_code_come_with_a_block():
    kinds = [".py", ".pyi", ".c", ".tsx", "/b.sh", ".x.js", ".html"]
    others = [
        "",
        "a",
        ".pyc",
        ".p",
        ".md",
        ".txt",
        ".htm",
        ".py.txt",
        ".json",
        ".",
        ".py/x",
        ".tsxx",
    ]

    for path in (f"a{end}" for end in kinds):
        assert re.search(blocks.code_pattern(), path)
        assert not re.search(blocks.other_pattern(), path)
    for path in (f"a{end}" for end in others):
        assert not re.search(blocks.code_pattern(), path)
        assert re.search(blocks.other_pattern(), path)


def test_no_line_of_a_block_begins_like_its_end():
    pattern = re.compile(blocks.BLOCK)

    assert pattern.fullmatch("\n```python\nx = '```'\n\n```")
    assert pattern.fullmatch("\n```python\n```")
    assert not pattern.fullmatch("\n```python\nx\n```\ny\n```")
    assert not pattern.fullmatch("\n```python\n``}\n```")


@pytest.mark.parametrize(
    ("path", "content", "is_refused"),
    [
        ("notes.md", '{"action": "write_file", "path": "notes.md", "content": "x"}', True),
        ("a.py", ' {"action": "answer", "text": "Done."}\n', True),
        ("a.py", '{"action": "unknown"}', False),
        ("a.py", '{"a": 1}', False),
        ("a.txt", 'See {"action": "answer", "text": "x"}', False),
        ("a.txt", '{"action": "answer", "text": "x"} and more', False),
        ("a.txt", "{" * 5_000, False),
        ("a.txt", '{"a":' * 5_000, False),
        ("actions.json", '{"action": "write_file", "path": "a", "content": "x"}', False),
    ],
)
def test_a_file_that_would_hold_an_action_is_an_error_for_the_model(path, content, is_refused):
    reply = json.dumps({"action": "write_file", "path": path, "content": content})
    call = only_call(Actions.of([WRITE, LIST]), reply)
    assert call.arguments["content"] == content
    assert call.error.startswith("the content is the action ") == is_refused
    assert bool(call.error) == is_refused
