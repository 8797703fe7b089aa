"""Responses: items that come and go back, and the ends of a reply."""

import pytest
from nanocoder import (
    Attachment,
    Finished,
    Message,
    ProviderError,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from nanocoder_provider_openai import nanocoder_settings, open_provider
from nanocoder_testing.asking import reply
from nanocoder_testing.server import Answer, data, events, refusal

READ = ToolDefinition(
    "read_file",
    "Read a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "default": 0}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look first."}],
    "encrypted_content": "gAAAA",
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read_file",
    "arguments": '{"path":"a"}',
    "status": "completed",
}
OTHER = {**CALL, "id": "fc_2", "call_id": "call_2", "arguments": '{"path":"b"}'}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 15,
}


def event(kind, **fields):
    return {"type": f"response.{kind}", **fields}


def item(index, body, *pieces):
    start = {**body, **({"arguments": ""} if "arguments" in body else {"content": []})}
    return [
        event("output_item.added", output_index=index, item=start),
        *pieces,
        event("output_item.done", output_index=index, item=body),
    ]


def text(index, *pieces):
    return item(
        index,
        MESSAGE,
        *(event("output_text.delta", output_index=index, delta=piece) for piece in pieces),
    )


def end(status="completed", **fields):
    return event(
        status, response={"object": "response", "status": status, "usage": USAGE, **fields}
    )


OK = events(event("created", response={}), *text(0, "Hel", "lo"), end())


@pytest.fixture
def play(monkeypatch, open_at):
    """Start a server with the given answers and open a provider on it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return open_at(open_provider, nanocoder_settings(), api="responses")


def finished(play, *values):
    provider, _ = play(events(*values))
    return reply(provider)[-1]


@pytest.mark.contract("F1")
def test_text_is_streamed_and_the_cache_is_counted(play):
    provider, server = play(OK)
    assert reply(provider) == [
        TextDelta("Hello"),
        Finished(
            "Hello",
            usage=Usage(6, 5, 4),
            native={"openai-items": [MESSAGE], "host": f"127.0.0.1:{server.port}"},
        ),
    ]
    sent = server.seen[0]
    assert sent.path == "/responses"
    assert sent.json == {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "be brief",
        "input": [{"role": "user", "content": "hi"}],
    }


def test_encrypted_reasoning_goes_back_unchanged_with_the_calls_that_followed_it(play):
    thought = event("reasoning_summary_text.delta", output_index=0, delta="Look first.")
    pieces = [
        event("function_call_arguments.delta", output_index=1, delta=piece)
        for piece in ('{"pa', 'th":"a"}')
    ]
    turn = events(*item(0, REASONING, thought), *item(1, CALL, *pieces), *item(2, OTHER), end())
    provider, server = play(turn)
    question = Message("user", "hi")
    first = reply(provider, question, tools=[READ])
    assert first[0] == ThinkingDelta("Look first.")
    assert first[-1].calls == (
        ToolCall("call_1", "read_file", {"path": "a"}),
        ToolCall("call_2", "read_file", {"path": "b"}),
    )
    results = (ToolResult("A", call_id="call_1"), ToolResult("no", is_error=True, call_id="call_2"))
    spoken = Message("assistant", calls=first[-1].calls, native=first[-1].native)
    reply(provider, question, spoken, Message("tool", results=results), tools=[READ])
    assert server.seen[1].json["input"] == [
        {"role": "user", "content": "hi"},
        REASONING,
        CALL,
        OTHER,
        {"type": "function_call_output", "call_id": "call_1", "output": "A"},
        {"type": "function_call_output", "call_id": "call_2", "output": "Error: no"},
    ]
    assert server.seen[1].body.startswith(server.seen[0].body.removesuffix(b"]}"))


def test_a_message_of_another_provider_is_told_in_items(play):
    provider, server = play(OK)
    spoken = Message(
        "assistant", "I look.", (ToolCall("c", "bash", {"command": "ls"}),), native={"x": 1}
    )
    reply(provider, Message("user", "hi"), spoken)
    assert server.seen[0].json["input"][1:] == [
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"command":"ls"}'},
    ]


def test_images_and_pdf_files_are_parts_of_messages_and_of_results(play):
    provider, server = play(OK)
    image, pdf = Attachment("image/png", b"png"), Attachment("application/pdf", b"pdf", "a.pdf")
    sound = Attachment("audio/wav", b"wav", "a.wav")
    result = ToolResult("seen", call_id="c", attachments=(image,))
    reply(
        provider,
        Message("user", "look", attachments=(pdf, sound)),
        Message("assistant", "", (ToolCall("c", "see"),)),
        Message("tool", results=(result,)),
    )
    picture = {"type": "input_image", "image_url": "data:image/png;base64,cG5n", "detail": "auto"}
    document = {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64,cGRm",
    }
    absent = {"type": "input_text", "text": "[a.wav (audio/wav) cannot be shown here]"}
    user, _, output = server.seen[0].json["input"]
    assert user["content"] == [{"type": "input_text", "text": "look"}, document, absent]
    assert output["output"] == [{"type": "input_text", "text": "seen"}, picture]


def test_options_change_what_is_sent(play):
    provider, server = play(
        OK, reasoning_effort="high", reasoning_summary="auto", strict_tools=True
    )
    reply(provider, tools=[READ], max_tokens=9, temperature=0.5, session_id="s")
    sent = server.seen[0].json
    assert sent["reasoning"] == {"effort": "high", "summary": "auto"}
    assert (sent["max_output_tokens"], sent["temperature"]) == (9, 0.5)
    assert sent["prompt_cache_key"] == "s"
    (tool,) = sent["tools"]
    assert (tool["strict"], tool["parameters"]["required"]) == (True, ["path", "offset"])
    assert tool["parameters"]["properties"]["offset"] == {"type": ["integer", "null"]}


def test_a_null_of_the_strict_form_does_not_reach_the_tool(play):
    call = {**CALL, "arguments": '{"path":"a","offset":null,"more":null}'}
    provider, _ = play(events(*item(0, call), end()), strict_tools=True)
    (made,) = reply(provider, tools=[READ])[-1].calls
    assert made.arguments == {"path": "a", "more": None}


def test_a_schema_with_free_keys_is_sent_as_it_is(play):
    free = ToolDefinition(
        "put", "Put.", {"type": "object", "properties": {"any": {"type": "object"}}}
    )
    provider, server = play(OK, strict_tools=True)
    reply(provider, tools=[free])
    (tool,) = server.seen[0].json["tools"]
    assert (tool["strict"], tool["parameters"]) == (False, free.parameters)


def test_a_call_that_the_token_limit_cut_does_not_look_whole(play):
    piece = event("function_call_arguments.delta", output_index=0, delta='{"path":"a')
    start = event("output_item.added", output_index=0, item={**CALL, "arguments": ""})
    cut = end("incomplete", incomplete_details={"reason": "max_output_tokens"})
    last = finished(play, start, piece, cut)
    assert last.truncated
    assert last.calls[0].error == "the call was cut before its end"
    assert last.native["openai-items"][0]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([end("incomplete", incomplete_details={"reason": "content_filter"})], "content filter"),
        (
            [event("refusal.delta", output_index=0, delta="No."), end()],
            "refused to answer",
        ),
    ],
)
def test_a_refusal_says_so(play, values, words):
    assert words in finished(play, *values).refusal


def test_a_whole_body_from_a_server_that_does_not_stream_is_one_reply(play):
    body = {"object": "response", "status": "completed", "output": [MESSAGE, CALL], "usage": USAGE}
    provider, server = play(refusal(200, body))
    last = reply(provider)[-1]
    assert (last.text, [call.id for call in last.calls]) == ("Hello", ["call_1"])
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        events(*text(0, "Hel")),
        Answer([data(text(0, "Hel")[0]), b'data: {"type":"response.output_te'], framing="close"),
    ],
)
def test_a_reply_without_its_end_is_an_error(play, answer):
    provider, _ = play(answer)
    with pytest.raises(ProviderError) as caught:
        reply(provider)
    assert caught.value.kind == "protocol"


@pytest.mark.parametrize(
    "failure",
    [
        event(
            "failed",
            response={
                "status": "failed",
                "error": {"code": "rate_limit_exceeded", "message": "slow"},
            },
        ),
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
    ],
)
def test_an_error_event_is_a_failure_of_its_kind(play, failure):
    provider, _ = play(events(failure))
    with pytest.raises(ProviderError, match="slow") as caught:
        reply(provider)
    assert caught.value.kind == "rate_limit"


def test_what_follows_the_end_and_events_of_the_future_change_nothing(play):
    future = event("future.thing", output_index=5, delta="x")
    assert finished(play, future, *text(0, "Hello"), end(), *item(1, CALL)).calls == ()


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.contract("J4")
def test_a_schema_for_the_answer_is_sent_beside_tools(play):
    provider, server = play(OK)
    reply(provider, tools=[READ], answer_schema=SCHEMA)
    form = {"type": "json_schema", "name": "answer", "schema": SCHEMA}
    assert server.seen[0].json["text"] == {"format": form}
