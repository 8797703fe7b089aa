"""What the real model does: slow, and skipped where the weights are not installed."""

import re
import threading
import time

import pytest
from nanocoder import (
    Cancel,
    Cancelled,
    Finished,
    Message,
    Notice,
    ProviderError,
    Request,
    TextDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from nanocoder_provider_local.provider import open_local
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings

# Tests with the same tools stand together: the engine keeps what it has read of the last prompt.
pytestmark = [
    pytest.mark.full,
    pytest.mark.model,
    pytest.mark.xdist_group("model"),
    pytest.mark.timeout(600),
]

SYSTEM = (
    "You are a coding agent working in the current directory. Do what the user asks with the tools "
    "below, one action at a time, then answer in one or two sentences."
)
STRING = {"type": "string", "description": "A text."}
NUMBER = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None}


def tool(name, description, required, **properties):
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolDefinition(name, description, {**schema, "additionalProperties": False})


TOOLS = [
    tool("read_file", "Read a text file.", ["path"], path=STRING, offset=NUMBER, limit=NUMBER),
    tool(
        "write_file", "Create or replace a file.", ["path", "content"], path=STRING, content=STRING
    ),
    tool(
        "edit_file",
        "Replace old_string, which must occur exactly once in the file, by new_string.",
        ["path", "old_string", "new_string"],
        path=STRING,
        old_string=STRING,
        new_string=STRING,
    ),
    tool("bash", "Run a shell command.", ["command"], command=STRING),
    tool("list_files", "List the files below a folder.", [], path=STRING),
    tool("grep", "Search files for a pattern.", ["pattern"], pattern=STRING, path=STRING),
]


def test_an_answer_streams_and_the_end_has_the_whole(model):
    messages = [Message("user", "What is 17 * 23? Just answer.")]

    *pieces, end = model.stream(Request("m", SYSTEM, messages, TOOLS), Cancel())

    assert isinstance(end, Finished)
    deltas = [piece for piece in pieces if not isinstance(piece, Notice)]
    assert all(isinstance(piece, TextDelta) for piece in deltas)
    assert all(piece.is_passing for piece in pieces if isinstance(piece, Notice))
    assert "".join(delta.text for delta in deltas) == end.text
    assert "391" in end.text
    assert end.usage.output_tokens > 0


def test_a_reply_that_is_cut_makes_no_call(model):
    messages = [Message("user", "Create a file called greet.py with a greet(name) function")]

    *_, end = model.stream(Request("m", SYSTEM, messages, TOOLS, max_tokens=16), Cancel())

    assert end.truncated
    assert end.calls == ()


def test_a_reply_is_an_action_for_every_kind_of_schema(model):
    odd = tool(
        "remember",
        "Keep a note.",
        ["note", "kind", "tags"],
        note={"type": "string", "format": "made-up", "pattern": "(?<=x)y", "minLength": 1},
        kind={"enum": ["fact", "task"]},
        tags={
            "type": "array",
            "items": {"$ref": "#/$defs/Tag"},
            "uniqueItems": True,
            "contains": {},
        },
        extra={"oneOf": [{"type": "string"}, {"type": "integer", "multipleOf": 7}]},
        free={"type": "object", "propertyNames": {"pattern": "^x"}},
        anything={},
    )
    definitions = {"Tag": {"type": "string", "contentEncoding": "base64"}}
    odd = ToolDefinition(odd.name, odd.description, {**odd.parameters, "$defs": definitions})
    messages = [Message("user", "Remember the fact: milk is white. Tag it food.")]

    *_, end = model.stream(Request("m", SYSTEM, messages, [odd]), Cancel())

    assert [call.name for call in end.calls] == ["remember"]
    assert end.calls[0].arguments["kind"] == "fact"
    assert isinstance(end.calls[0].arguments["tags"], list)


PLAY = tool(
    "play",
    "Play songs.",
    ["artist", "minutes"],
    artist=STRING,
    minutes={"type": "integer", "description": "For how long the songs of the artist are played."},
)


def test_several_things_alike_are_several_calls_of_one_reply(model):
    question = "Play songs from the artists Blur for 20 minutes and Oasis for 15 minutes."

    *_, end = model.stream(Request("m", SYSTEM, [Message("user", question)], [PLAY]), Cancel())

    assert [call.arguments for call in end.calls] == [
        {"artist": "Blur", "minutes": 20},
        {"artist": "Oasis", "minutes": 15},
    ]


def test_one_thing_is_one_call(model):
    messages = [Message("user", "Play songs from Blur for 20 minutes.")]

    *_, end = model.stream(Request("m", SYSTEM, messages, [PLAY]), Cancel())

    assert [call.arguments for call in end.calls] == [{"artist": "Blur", "minutes": 20}]


def test_without_tools_the_reply_is_plain_text(model):
    messages = [Message("user", "Say hello in one word.")]

    *deltas, end = model.stream(Request("m", "You are terse.", messages), Cancel())

    assert end.text == "".join(delta.text for delta in deltas)
    assert not end.text.startswith("{")


def test_the_reading_of_a_long_prompt_is_told_as_it_goes_and_can_be_stopped_in_its_middle(model):
    first, second = (" ".join(f"{word}{n}" for n in range(150)) for word in ("word", "name"))
    request = Request("m", SYSTEM, [Message("user", first)], max_tokens=4)
    other = Request("m", SYSTEM, [Message("user", second)], max_tokens=4)
    cancel = Cancel()
    stream = model.stream(request, cancel)
    notices = [next(stream).text for _ in range(3)]  # to the middle of the prompt
    stopped = time.monotonic()
    cancel.set()
    with pytest.raises(Cancelled):
        next(stream)
    assert time.monotonic() - stopped < 1
    assert all(re.fullmatch(r"reading the prompt, \d+ %", text) for text in notices)

    # Another prompt: the engine may have read more of the first one, and does not read that again.
    pieces = list(model.stream(other, Cancel()))
    passing = [piece for piece in pieces if isinstance(piece, Notice)]
    assert all(notice.is_passing for notice in passing)
    *reading, writing = [notice.text for notice in passing]
    percents = [int(text.split()[-2]) for text in reading]
    assert percents == sorted(set(percents))
    assert percents[0] < 50 < percents[-1] < 100
    assert writing == "writing"


def test_a_short_prompt_is_read_without_a_word(model):
    request = Request("m", SYSTEM, [Message("user", "Say hello.")], max_tokens=4)
    assert not any(isinstance(piece, Notice) for piece in model.stream(request, Cancel()))


@pytest.mark.parametrize("prompt", ["word " * 2_000, "Write a very long story."])
def test_cancelling_returns_before_the_prompt_is_read_or_answered(model, prompt):
    list(model.stream(Request("m", SYSTEM, [Message("user", "Hi")], max_tokens=1), Cancel()))
    cancel = Cancel()
    timer = threading.Timer(0.5, lambda: (at.append(time.monotonic()), cancel.set()))
    at = []
    timer.start()

    with pytest.raises(Cancelled):
        for _ in model.stream(Request("m", SYSTEM, [Message("user", prompt)]), cancel):
            pass

    assert time.monotonic() - at[0] < 1


def test_a_request_is_refused_by_the_engines_own_count_and_a_result_is_cut_by_it():
    small = open_local(DEFAULT_MODEL, Settings(context=1_024, max_tokens=32))
    digits = Message("user", "Which word is last? " + "7" * 1_500 + " banana")
    call = ToolCall("c1", "read_file", {"path": "a.txt"})
    result = Message("tool", results=(ToolResult("7" * 2_500 + " banana", call_id="c1"),))
    read = [Message("user", "Which word is last?"), Message("assistant", calls=(call,)), result]

    with pytest.raises(ProviderError, match=r"has 1,[5-9]\d\d tokens, and 992 fit"):
        list(small.stream(Request("m", SYSTEM, [digits], TOOLS), Cancel()))
    *pieces, end = small.stream(Request("m", SYSTEM, read, TOOLS), Cancel())
    small.close()

    assert isinstance(end, Finished)
    assert end.usage.input_tokens < 1_024
    notices = [piece.text for piece in pieces if isinstance(piece, Notice) and not piece.is_passing]
    assert "characters of the last result" in notices[-1]
