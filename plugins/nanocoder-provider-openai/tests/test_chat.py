import json
import re
import subprocess
import sys
import threading
import time

import pytest
from nanocoder import (
    Attachment,
    Cancel,
    Cancelled,
    ConfigError,
    Finished,
    Message,
    ModelInfo,
    ProviderError,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from nanocoder_provider_openai import nanocoder_providers, nanocoder_settings, open_provider
from nanocoder_testing.asking import failure, reply
from nanocoder_testing.server import FOREVER, Answer, data, events, refusal

DONE = b"[DONE]"
READ = ToolDefinition(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": False},
)


def chunk(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments=None, **fields):
    """Return one piece of a call: name, index and id go where the wire has them."""
    function = {"arguments": arguments} if arguments is not None else {}
    if "name" in fields:
        function["name"] = fields.pop("name")
    return {**fields, "function": function}


@pytest.fixture
def play(monkeypatch, open_at):
    """Start a server with the given answers and open a provider on it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return open_at(open_provider, nanocoder_settings())


def finished(play, *values):
    provider, _ = play(events(*values, DONE))
    return reply(provider)[-1]


@pytest.mark.contract("F10")
@pytest.mark.contract("F11")
def test_a_call_that_the_model_writes_as_text_runs_and_the_small_profile_follows(play):
    written = '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>'
    answer = events(chunk(content=written), chunk("stop"), DONE)
    provider, _ = play(answer, model="m")
    assert provider.profile == "full"
    _, notice, end = reply(provider, tools=[READ])
    assert "writes its tool calls as text" in notice.text
    assert [(call.name, dict(call.arguments)) for call in end.calls] == [
        ("read_file", {"path": "a"})
    ]
    assert provider.profile == "small"
    assert len(reply(provider, tools=[READ])) == 2, "the person was told"


@pytest.mark.contract("F11")
def test_the_profile_that_a_person_chose_stays(play):
    written = '{"name": "read_file", "arguments": {"path": "a"}}'
    answer = events(chunk(content=written), chunk("stop"), DONE)
    provider, _ = play(answer, model="qwen-1.5b", profile="full")
    assert reply(provider, tools=[READ])[-1].calls
    assert provider.profile == "full"
    assert play(answer, model="qwen-1.5b")[0].profile == "small"
    assert play(answer, profile="small")[0].profile == "small"


def test_text_is_streamed_and_the_whole_reply_comes_last(play):
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    provider, server = play(
        events(
            chunk(role="assistant", content=""),
            chunk(content="Hel"),
            chunk(content="lo"),
            chunk("stop"),
            {"choices": [], "usage": usage},
            DONE,
        )
    )
    assert reply(provider) == [
        TextDelta("Hello"),
        Finished("Hello", usage=Usage(6, 2, 4)),
    ]
    assert server.seen[0].path == "/chat/completions"
    assert server.seen[0].json == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
    }


def test_deltas_of_one_read_are_one_delta(play):
    stream = b"".join(map(data, [chunk(content=str(n)) for n in range(10)] + [chunk("stop")]))
    provider, _ = play(Answer([stream]))
    assert reply(provider) == [TextDelta("0123456789"), Finished("0123456789")]


def test_line_separators_surrogates_and_bad_utf8_in_text(play):
    text = "a\u2028b\u0085c\x0b\x1cd\ud83d"
    raw = '{"choices":[{"delta":{"content":"a\u2028b\u0085c"}}]}'.encode()
    provider, _ = play(
        events(raw, chunk(content="\x0b\x1cd"), chunk("stop", content="\ud83d"), DONE)
    )
    assert reply(provider)[-1].text == text[:-1] + "\ufffd"
    provider, _ = play(events(b'{"choices":[{"delta":{"content":"x\xff"}}]}', chunk("stop")))
    assert reply(provider)[-1].text == "x\ufffd"


def test_a_character_that_is_split_over_two_deltas_is_whole_in_the_reply(play):
    assert finished(play, chunk(content="\ud83d"), chunk("stop", content="\ude00")).text == (
        "\U0001f600"
    )


CALL = {"tool_calls": [piece("{}", id="c1", index=0, name="look")]}


def spoken_again(play, *values, models=("m", "m")):
    """Return the assistant's message as it is sent with the second request."""
    provider, server = play(events(*values, DONE))
    question = Message("user", "x")
    *_, end = provider.stream(Request(models[0], "", [question]), Cancel())
    spoken = Message("assistant", end.text, end.calls, native=json.loads(json.dumps(end.native)))
    results = tuple(ToolResult("ok", call_id=call.id) for call in end.calls)
    history = [question, spoken, Message("tool", results=results)]
    list(provider.stream(Request(models[1], "", history), Cancel()))
    return server.seen[1].json["messages"][1]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_beside_calls_goes_back_where_it_came_from(play, field):
    values = [chunk(**{field: "h"}), chunk(**{field: "m"}), chunk(**CALL), chunk("tool_calls")]
    sent = spoken_again(play, *values)
    assert {name: sent.get(name) for name in ("reasoning_content", "reasoning")} == {
        "reasoning_content": None,
        "reasoning": None,
        field: "hm",
    }
    other = spoken_again(play, *values, models=("m", "another"))
    assert not other.keys() & {"reasoning_content", "reasoning"}


def test_reasoning_of_an_answer_without_calls_stays_here(play):
    values = [chunk(reasoning_content="hm"), chunk(content="yes"), chunk("stop")]
    provider, _ = play(events(*values, DONE))
    assert reply(provider) == [ThinkingDelta("hm"), TextDelta("yes"), Finished("yes")]


@pytest.mark.parametrize("model", ["kimi-k2.6", "deepseek-v4"])
def test_a_model_that_wants_reasoning_in_each_message_with_calls_finds_some(play, model):
    sent = spoken_again(play, chunk(**CALL), chunk("tool_calls"), models=(model, model))
    assert sent["reasoning_content"] == " "


DETAILS = [
    {"type": "reasoning.text", "text": "Let me ", "index": 0, "format": "f", "signature": None},
    {"type": "reasoning.text", "text": "see.", "index": 0, "format": "f"},
    {"type": "reasoning.text", "signature": "sig", "index": 0, "format": "f"},
    {"type": "reasoning.encrypted", "data": "abc", "id": "r1", "format": "f", "index": 0},
    {"type": "reasoning.encrypted", "data": "def", "id": "r2", "format": "f", "index": 1},
]


def test_details_of_reasoning_go_back_as_they_came(play):
    values = [chunk(reasoning="Let me see."), *(chunk(reasoning_details=[one]) for one in DETAILS)]
    sent = spoken_again(play, *values, chunk(**CALL), chunk("tool_calls"))
    text = {"type": "reasoning.text", "text": "Let me see.", "index": 0, "format": "f"}
    assert sent["reasoning_details"] == [{**text, "signature": "sig"}, *DETAILS[3:]]
    assert "reasoning" not in sent


SIGNED = {"google": {"thought_signature": "c2ln"}}


def test_signatures_of_thoughts_go_back_with_their_calls(play):
    call = {**CALL["tool_calls"][0], "extra_content": SIGNED}
    values = [chunk(tool_calls=[call]), chunk(tool_calls=[piece("{}", id="c2", index=1, name="b")])]
    first, second = spoken_again(play, *values, chunk("stop"))["tool_calls"]
    assert (first["extra_content"], "extra_content" in second) == (SIGNED, False)
    answer = [chunk(**CALL), chunk(extra_content=SIGNED), chunk("stop")]
    assert spoken_again(play, *answer)["extra_content"] == SIGNED


def test_a_call_of_another_model_is_marked_for_gemini_as_such(play):
    values = [chunk(**CALL), chunk("tool_calls")]
    sent = spoken_again(play, *values, models=("m", "google/gemini-3-pro"))
    mark = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    assert sent["tool_calls"][0]["extra_content"] == mark
    assert "extra_content" not in spoken_again(play, *values)["tool_calls"][0]


@pytest.mark.parametrize("model", ["mistral-large", "devstral-small", "codestral", "magistral"])
def test_a_model_of_mistral_has_its_rules_on_every_server(play, model):
    provider, server = play(events(chunk("stop", content="ok"), DONE), model=model)
    call = ToolCall("call_0123456789", "look")
    results = (ToolResult("ok", call_id=call.id),)
    messages = [Message("user", "x"), Message("assistant", "", (call,))]
    reply(provider, *messages, Message("tool", results=results), Message("user", "y"))
    *_, made, result, between, person = server.seen[0].json["messages"]
    assert [message["role"] for message in (result, between, person)] == [
        "tool",
        "assistant",
        "user",
    ]
    (sent,) = made["tool_calls"]
    assert result["tool_call_id"] == sent["id"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", sent["id"])


def test_thinking_in_parts_of_the_content_is_thinking(play):
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    end = [chunk(content=[{"type": "text", "text": "yes"}]), chunk("stop")]
    provider, _ = play(events(chunk(content=parts), *end, DONE))
    assert reply(provider) == [ThinkingDelta("hm"), TextDelta("yes"), Finished("yes")]


def test_tools_calls_and_results_go_over_the_wire(play):
    provider, server = play(events(chunk("stop", content="ok"), DONE))
    calls = (
        ToolCall("c1", "read_file", {"path": "é\ud83d"}),
        ToolCall("c2", "bash", {}, error="x"),
    )
    picture = Attachment("image/png", b"png", "a.png")
    results = (
        ToolResult("text", call_id="c1", attachments=(picture, Attachment("audio/x", b"", "b"))),
        ToolResult("boom", is_error=True, error_class="x", call_id="c2"),
    )
    reply(
        provider,
        Message("user", "look", attachments=(picture,)),
        Message("assistant", "", calls=calls),
        Message("tool", results=results),
        tools=[READ],
        max_tokens=9,
        temperature=0.5,
    )
    sent = server.seen[0].json
    assert (sent["max_tokens"], sent["temperature"]) == (9, 0.5)
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "read_file",
                "description": "Read a file.",
                "parameters": READ.parameters,
            },
        }
    ]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    assert sent["messages"][1:] == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path":"é\ufffd"}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: boom"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Attached to the results above:"},
                image,
                {"type": "text", "text": "[b (audio/x) cannot be shown here]"},
            ],
        },
    ]


def test_a_call_is_put_together_from_its_pieces(play):
    call = finished(
        play,
        chunk(tool_calls=[piece("", index=0, id="c1", name="read_file")]),
        chunk(tool_calls=[piece('{"pa', index=0)]),
        chunk(tool_calls=[piece('th": "a"}', index=0)]),
        chunk("tool_calls"),
    ).calls
    assert call == (ToolCall("c1", "read_file", {"path": "a"}),)


def names_and_arguments(reply):
    return [(call.name, dict(call.arguments)) for call in reply.calls]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece('{"n"', index=1, id="b", name="two"),
                piece('{"n": ', index=0, id="a", name="one"),
                piece(": 2}", index=1),
                piece("1}", index=0),
            ],
            id="interleaved and out of order",
        ),
        pytest.param(
            [piece('{"n": 1}', index=0, name="one"), piece('{"n": 2}', index=2, name="two")],
            id="no ids and a gap",
        ),
        pytest.param(
            [
                piece('{"n": 1}', index=0, id="x", name="one"),
                piece('{"n": 2}', index=0, id="y", name="two"),
            ],
            id="whole calls under one index",
        ),
        pytest.param(
            [piece('{"n": 1}', index=0, name="one"), piece('{"n": 2}', index=0, name="two")],
            id="whole calls under one index without ids",
        ),
        pytest.param(
            [
                piece('{"n": 1}', index=0, id="x", name="one"),
                piece('{"n": 2}', index=1, id="x", name="two"),
            ],
            id="one id for both",
        ),
        pytest.param(
            [piece('{"n": 1}', id="x", name="one"), piece('{"n": 2}', id="y", name="two")],
            id="no index",
        ),
        pytest.param(
            [
                piece('{"n"', id="x", name="one"),
                piece(": 1}"),
                piece('{"n"', id="y", name="two"),
                piece(": 2}"),
            ],
            id="no index, in pieces",
        ),
        pytest.param(
            [piece('{"n": 1}', index="0", name="one"), piece({"n": 2}, index="1", name="two")],
            id="index as text, arguments as object",
        ),
        pytest.param(
            [
                piece('{"n"', index=0, id="x", name="one"),
                piece(": 1}", index=0, id="x", name="one"),
                piece('{"n": 2}', index=1, id="y"),
                piece("", index=1, name="two"),
            ],
            id="name repeated, or late",
        ),
        pytest.param(
            [
                piece('{"n"', index=0, name="one"),
                piece(": 1}", index=0, name="one"),
                piece('{"n"', index=1, id="y", name="two"),
                piece(": 2}", index=1, name="two"),
            ],
            id="name in every piece, id never or once",
        ),
    ],
)
def test_parallel_calls_of_careless_servers_stay_apart_and_in_order(play, pieces):
    last = finished(play, *[chunk(tool_calls=[each]) for each in pieces], chunk("tool_calls"))
    assert names_and_arguments(last) == [("one", {"n": 1}), ("two", {"n": 2})]
    ids = [call.id for call in last.calls]
    assert all(ids)
    assert len(set(ids)) == 2


def test_fifty_calls_in_one_reply(play):
    pieces = [piece({"n": n}, index=n, id=f"c{n}", name="read") for n in range(50)]
    last = finished(play, chunk(tool_calls=pieces), chunk("tool_calls"))
    assert [call.arguments["n"] for call in last.calls] == list(range(50))


def test_an_id_that_a_server_uses_in_every_turn_is_replaced(play):
    provider, _ = play(
        events(chunk("tool_calls", tool_calls=[piece("{}", index=0, id="call_0", name="x")]), DONE)
    )
    first, second = (reply(provider)[-1].calls[0].id for _ in range(2))
    assert first == "call_0"
    assert second != first


@pytest.mark.parametrize("arguments", ['{"path": "a', "[]", "null", '{"a":1,"a":2}', '{"a":NaN}'])
def test_arguments_that_cannot_be_trusted_make_a_call_with_an_error(play, arguments):
    pieces = [piece(arguments, index=0, id="c", name="read_file")]
    (call,) = finished(play, chunk("tool_calls", tool_calls=pieces)).calls
    assert call.error
    assert call.arguments == {}


def test_no_arguments_are_an_empty_object(play):
    pieces = [piece("", index=0, id="c", name="list")]
    assert finished(play, chunk("tool_calls", tool_calls=pieces)).calls == (ToolCall("c", "list"),)


@pytest.mark.parametrize(
    "end", ["length", "max_tokens", "MAX_TOKENS", "max_completion_tokens", "model_length"]
)
def test_the_token_limit_is_told(play, end):
    assert finished(play, chunk(end, content="half")).truncated


@pytest.mark.parametrize(
    "end",
    [
        *("error", "network_error", "insufficient_system_resource", "engine_overloaded"),
        *("abort", "cancelled", "repetition"),
    ],
)
def test_a_reply_that_its_server_gave_up_is_no_answer(play, end):
    call = piece("{}", index=0, id="c", name="bash")
    provider, _ = play(events(chunk(content="part"), chunk(end, tool_calls=[call]), DONE))
    with pytest.raises(ProviderError, match=f"ended the reply with the finish reason '{end}'"):
        reply(provider)


@pytest.mark.parametrize("end", ["stop", "eos_token", "stop_token", "tool_calls", "something_new"])
def test_any_other_finish_reason_ends_a_reply(play, end):
    last = finished(play, chunk(end, content="whole"))
    assert (last.text, last.truncated, last.refusal) == ("whole", False, "")


@pytest.mark.parametrize(
    "broken",
    [
        {"choices": [{"index": 0, "error": {"message": "no room left"}}]},
        {"object": "error", "message": "no room left"},
    ],
)
def test_an_error_within_the_stream_is_one_wherever_it_stands(play, broken):
    provider, _ = play(events(chunk(content="part"), broken, DONE))
    assert "no room left" in str(failure(provider))


def test_a_finish_reason_from_the_first_chunk_on_ends_nothing(play):
    call = piece('{"a": 1}', index=0, id="c", name="look")
    every = [
        chunk("stop", role="assistant"),
        chunk("stop", content="a"),
        chunk("stop", content="b"),
    ]
    last = finished(play, *every, chunk("tool_calls", tool_calls=[call]))
    assert (last.text, last.calls) == ("ab", (ToolCall("c", "look", {"a": 1}),))
    first = finished(play, chunk("stop", role="assistant", content=""), chunk(content="a"))
    assert first.text == "a"


def test_usage_and_the_end_mark_end_a_reply_without_a_finish_reason(play):
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    last = finished(play, chunk(content="done"), usage)
    assert (last.text, last.usage.output_tokens) == ("done", 2)


def test_a_refusal_and_a_withheld_reply_say_so(play):
    refused = finished(play, chunk(refusal="I cannot"), chunk("stop"))
    assert refused.text == "I cannot"
    assert "refused to answer" in refused.refusal
    cut = finished(play, chunk(content="Half of"), chunk("content_filter"))
    assert (cut.text, cut.refusal.endswith("content filter")) == ("Half of", True)
    assert "content filter" in finished(play, chunk("content_filter")).text
    assert finished(play, chunk(content="Fine."), chunk("stop")).refusal == ""


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(events(chunk(content="part"), DONE), id="done without a finish reason"),
        pytest.param(Answer([data(chunk(content="part"))]), id="body ends"),
        pytest.param(Answer([data(chunk(content="part"))], cut=True), id="connection cut"),
        pytest.param(
            Answer([data(chunk(content="part")), b'data: {"choices":[{"del'], framing="close"),
            id="cut within an event",
        ),
        pytest.param(
            Answer([data(chunk(content="part")), b"<html>504 Gateway Time-out</html>"]),
            id="a proxy's page",
        ),
        pytest.param(
            Answer(
                [
                    data(chunk(content="part")),
                    data(chunk(tool_calls=[piece("{}", index=0, id="c", name="bash")])),
                ],
                framing="close",
            ),
            id="cut after a whole call",
        ),
    ],
)
def test_a_reply_without_its_end_is_an_error_that_keeps_the_last_words(play, answer):
    provider, server = play(answer, max_retries=4)
    got = []
    with pytest.raises(ProviderError, match=r"after 4 characters, ending 'part'") as caught:
        got.extend(provider.stream(Request("m", "", [Message("user", "x")]), Cancel()))
    assert caught.value.kind == "protocol"
    assert got == [TextDelta("part")]
    assert len(server.seen) == 1


def test_a_reply_that_is_cut_before_it_begins_is_asked_for_again(play):
    provider, server = play(
        Answer([data(chunk(role="assistant", content=""))], cut=True),
        events(chunk("stop", content="ok"), DONE),
        max_retries=1,
    )
    assert reply(provider)[-1] == Finished("ok")
    assert len(server.seen) == 2


def test_an_error_object_before_the_first_word_is_retried_and_later_is_not(play):
    busy = {"error": {"type": "server_error", "message": "overloaded, sorry"}}
    good = events(chunk("stop", content="ok"), DONE)
    provider, server = play(events(busy), good, max_retries=1)
    assert reply(provider)[-1].text == "ok"
    provider, server = play(
        Answer([data(chunk(content="wo")), 0.05, data(busy)]), good, max_retries=1
    )
    assert "overloaded, sorry (after 2 characters" in str(failure(provider))
    assert len(server.seen) == 1


@pytest.mark.parametrize("end", [b"[DONE ]", b'"[DONE]"', b"DONE", b"[DONE]"])
def test_end_marks_of_any_spelling_are_understood(play, end):
    provider, _ = play(events(chunk("stop", content="ok"), end))
    assert reply(provider)[-1].text == "ok"


def test_what_comes_after_the_end_is_ignored(play):
    late = chunk(content="x", tool_calls=[piece("{}", index=0, id="c", name="bash")])
    assert finished(play, chunk("stop", content="ok"), late) == Finished("ok")
    assert finished(play, chunk("stop", content="ok"), DONE, late) == Finished("ok")


def test_odd_chunks_are_passed_over(play):
    last = finished(
        play,
        {},
        {"choices": []},
        {"choices": None, "usage": None},
        {"choices": [{}], "usage": "x"},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": None, "tool_calls": None, "future": 1}}], "new": {}},
        {"choices": [{"delta": {"tool_calls": [None, {"function": None}]}}]},
        {"choices": [{"delta": {"content": [{"type": "text", "text": "ok"}, {"type": "x"}]}}]},
        7,
        chunk("stop"),
        {"choices": [], "usage": {"prompt_tokens": None, "completion_tokens": "3"}},
    )
    assert last.text == "ok"
    assert last.usage == Usage()


def test_a_whole_body_from_a_server_that_does_not_stream_is_one_reply(play):
    message = {"content": "ok", "tool_calls": [piece('{"n":1}', id="c", name="x")]}
    body = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    provider, server = play(refusal(200, body))
    assert reply(provider) == [
        TextDelta("ok"),
        Finished("ok", (ToolCall("c", "x", {"n": 1}),), Usage(3, 4)),
    ]
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        refusal(200, {"error": {"message": "no such model", "type": "invalid_request_error"}}),
        refusal(200, {"something": "else"}),
        refusal(200, b"{broken"),
        refusal(200, b"<html></html>"),
        Answer([]),
    ],
)
def test_a_body_that_is_no_reply_is_an_error(play, answer):
    provider, _ = play(answer)
    assert failure(provider)


def test_a_context_overflow_is_known_as_such(play):
    provider, server = play(
        refusal(400, {"error": {"code": "context_length_exceeded", "message": "too long"}}),
        max_retries=4,
    )
    assert failure(provider).kind == "context_overflow"
    assert len(server.seen) == 1


def test_a_cancel_ends_a_silent_reply_within_a_second(play):
    provider, _ = play(Answer([data(chunk(content="x")), FOREVER]))
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(Cancelled):
        reply(provider, cancel=cancel)
    assert time.monotonic() - begin < 1.2
    timer.join()


def test_a_cancel_ends_the_wait_between_tries(play):
    provider, _ = play(refusal(429, retry_after="60"), max_retries=4)
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    with pytest.raises(Cancelled):
        reply(provider, cancel=cancel)
    timer.join()


def test_without_a_key_no_authorization_is_sent_and_with_one_it_is(play, monkeypatch):
    provider, server = play(events(chunk("stop", content="x"), DONE))
    reply(provider)
    assert "authorization" not in server.seen[0].headers
    monkeypatch.setenv("MY_KEY", "sk-1")
    provider, server = play(events(chunk("stop", content="x"), DONE), api_key_env="MY_KEY")
    reply(provider)
    assert server.seen[0].headers["authorization"] == "Bearer sk-1"


def test_the_address_comes_from_the_settings_then_from_the_environment(play, monkeypatch):
    _, server = play(events(chunk("stop", content="x"), DONE))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1/")
    provider = open_provider("m", None)
    reply(provider)
    provider.close()
    assert server.seen[0].path == "/v1/chat/completions"


def test_openai_itself_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match="set OPENAI_API_KEY") as caught:
        open_provider("m", None)
    assert caught.value.kind == "auth"
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    with pytest.raises(ConfigError, match="no usable key"):
        open_provider("m", None)


def test_options_change_what_is_sent(play):
    provider, server = play(
        events(chunk("stop", content="x"), DONE),
        stream_usage=False,
        reasoning_effort="low",
        max_tokens_field="max_completion_tokens",
        profile="small",
    )
    reply(provider, max_tokens=5)
    sent = server.seen[0].json
    assert "stream_options" not in sent
    assert sent["reasoning_effort"] == "low"
    assert sent["max_completion_tokens"] == 5
    assert provider.profile == "small"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Unrecognized request argument supplied: stream_options"}},
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "No"}]},
    ],
)
def test_a_refusal_of_token_counts_names_the_setting(play, body):
    provider, _ = play(refusal(422, body))
    error = str(failure(provider))
    assert "stream_options" in error
    assert "set stream_usage = false" in error


def test_the_beginning_of_the_request_stays_the_same_bytes(play):
    provider, server = play(events(chunk("stop", content="x"), DONE))
    messages, tools = [Message("user", "one")], [READ]
    for text in ("two", "three"):
        reply(provider, *messages, tools=tools)
        messages += [Message("assistant", "x"), Message("user", text)]
    first, second = (request.body for request in server.seen)
    assert second.startswith(first.removesuffix(b"]}"))


def test_models_are_asked_for(play):
    listed = [{"id": "b", "owned_by": "me", "max_model_len": 4096}, {"id": "a"}, None]
    provider, server = play(refusal(200, {"data": listed}))
    assert provider.models() == [
        ModelInfo("a", 0, ""),
        ModelInfo("b", 4096, "me"),
    ]
    assert server.seen[0].path == "/models"
    provider, _ = play(refusal(200, []))
    with pytest.raises(ProviderError, match="list of models"):
        provider.models()


@pytest.mark.contract("F8")
def test_a_request_costs_what_the_table_or_the_person_says(play):
    prices = {"m": {"input": 2.0, "output": 8.0, "cache_read": 0.5, "context": 1000.0}}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    last = chunk("stop", content="ok") | {"usage": usage}
    provider, _ = play(events(last, DONE), models=prices)
    assert reply(provider)[-1].usage.cost == pytest.approx((6 * 2 + 4 * 0.5 + 5 * 8) / 1e6)
    assert (provider.has_price, provider.context) == (True, 1000)


@pytest.mark.parametrize("name", ["cached_tokens", "prompt_cache_hit_tokens"])
def test_tokens_from_a_cache_are_known_where_they_stand_beside_the_others(play, name):
    last = chunk("stop", content="ok") | {"usage": {"prompt_tokens": 10, name: 4}}
    provider, _ = play(events(last, DONE))
    usage = reply(provider)[-1].usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (6, 4)


@pytest.mark.contract("F9")
def test_a_price_is_promised_only_where_it_is_known_and_tokens_are_counted(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    known = open_provider("gpt-5.5", None)
    assert (known.has_price, known.context) == (True, 1_000_000)
    assert not open_provider("gpt-of-tomorrow", None).has_price
    uncounted = nanocoder_settings()(stream_usage=False)
    assert not open_provider("gpt-5.5", uncounted).has_price
    elsewhere = nanocoder_settings()(base_url="https://gateway.example/v1")
    assert open_provider("gpt-5.5", elsewhere).has_price
    assert not open_provider("gpt-of-tomorrow", elsewhere).has_price


@pytest.mark.contract("F8", "F9")
def test_a_gateway_on_this_machine_is_not_free(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:4000/v1")
    assert open_provider("anthropic/claude-sonnet-4-6", None).has_price
    assert not open_provider("my-alias", None).has_price
    own = nanocoder_settings()(models={"my-alias": {"input": 0.0, "output": 0.0}})
    assert open_provider("my-alias", own).has_price
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")  # where vLLM serves weights
    assert open_provider("my-alias", None).has_price


def test_the_plugin_offers_openai_and_imports_no_http_client():
    spec = nanocoder_providers()[0]
    assert (spec.name, spec.key_variables) == ("openai", ("OPENAI_API_KEY",))
    code = "import sys, nanocoder_provider_openai as p; p.nanocoder_providers();"
    code += "assert not {'httpx', 'httpcore', 'ssl', 'asyncio'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.contract("J4")
@pytest.mark.parametrize("tools", [[], [READ]])
def test_a_schema_for_the_answer_is_sent_where_there_are_no_tools(play, tools):
    provider, server = play(events(chunk(content='{"a": 1}'), chunk("stop"), DONE), model="m")
    assert reply(provider, tools=tools, answer_schema=SCHEMA)[-1].text == '{"a": 1}'
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert server.seen[0].json.get("response_format") == (None if tools else form)


@pytest.mark.parametrize(
    ("body", "words", "kind"),
    [
        ({"detail": "No such route"}, "No such route", "protocol"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required", "protocol"),
        ({"code": 1002, "message": "rate is over"}, "rate is over", "protocol"),
        ({"code": 429, "msg": "slow down"}, "slow down", "rate_limit"),
        ({"error": True, "message": "no such model"}, "no such model", "protocol"),
        ({"code": "401", "message": "who are you"}, "who are you", "auth"),
        (
            {"status": 400, "msg": "prompt exceeds max length"},
            "exceeds max length",
            "context_overflow",
        ),
    ],
)
@pytest.mark.parametrize("as_event", [True, False])
def test_an_error_in_a_body_of_status_200_is_told_in_the_servers_words(
    play, body, words, kind, as_event
):
    provider, _ = play(events(body, DONE) if as_event else refusal(200, body))
    error = failure(provider)
    # In a stream an error of an unknown kind may pass.
    kind = "unavailable" if as_event and "error" in body else kind
    assert (words in str(error), error.kind) == (True, kind)


def test_an_error_that_says_nothing_of_passing_is_not_asked_for_again(play):
    provider, server = play(refusal(200, {"detail": "No such route"}), max_retries=2)
    failure(provider)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"base_resp": {"status_code": 1004, "status_msg": "login fail"}},
        {"Error": {"Message": "it broke"}},
        {"status": "error", "reason": "it broke"},
        {"success": True, "result": None, "messages": ["it broke"]},
        {"choices": [], "words": "x" * 300},
        {},
        [],
    ],
)
def test_a_whole_body_that_is_no_reply_is_shown_and_not_asked_for_again(play, body):
    provider, server = play(Answer([json.dumps(body).encode()], headers={}), max_retries=2)
    error = failure(provider)
    assert f"answered 200: JSON that is no reply: {json.dumps(body)[:300]}" in str(error)
    assert (error.kind, len(server.seen)) == ("protocol", 1)


def test_a_reply_that_ends_inside_its_first_event_is_asked_for_again(play):
    cut = Answer([b'data: {"choices": [{"index": 0, "del'], framing="close")
    body = Answer([b'{"choices": [{"mess'], headers={}, framing="close")
    whole = events(chunk(content="whole"), chunk("stop"), DONE)
    provider, server = play(cut, body, whole, max_retries=2)
    assert reply(provider)[-1].text == "whole"
    assert len(server.seen) == 3


def test_an_identical_call_under_one_id_but_two_indexes_runs_once(play):
    calls = [
        piece('{"path": "a"}', id="c1", index=index, name="read_file") for index in range(2)
    ] + [piece('{"path": "b"}', id="c1", index=2, name="read_file")]
    end = finished(play, chunk(tool_calls=calls), chunk("tool_calls"))
    assert [dict(call.arguments) for call in end.calls] == [{"path": "a"}, {"path": "b"}]


@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None)])
def test_a_whole_call_that_comes_twice_with_one_id_runs_once(play, indexes):
    texts = ['{"path": "a b"}', '{ "path" :\n"a b" }']
    calls = [
        piece(text, id="c1", index=index, name="read_file")
        for text, index in zip(texts, indexes, strict=True)
    ]
    end = finished(play, *(chunk(tool_calls=[call]) for call in calls), chunk("tool_calls"))
    assert [dict(call.arguments) for call in end.calls] == [{"path": "a b"}]


def test_a_server_that_repeats_id_and_name_in_each_piece_is_understood(play):
    texts = ['{"path": "a', "{b}", 'c"', "}", "\n"]
    calls = [piece(text, id="c1", index=0, name="read_file") for text in texts]
    end = finished(play, *(chunk(tool_calls=[call]) for call in calls), chunk("tool_calls"))
    assert [dict(call.arguments) for call in end.calls] == [{"path": "a{b}c"}]


def test_white_space_inside_strings_tells_calls_of_one_id_apart(play):
    texts = ['{"text": "a b"}', '{"text": "ab"}', '{"text":"a\\" b"}', '{"text":"a\\"b"}']
    calls = [piece(text, id="c1", index=n, name="say") for n, text in enumerate(texts)]
    end = finished(play, chunk(tool_calls=calls), chunk("tool_calls"))
    assert [call.arguments["text"] for call in end.calls] == ["a b", "ab", 'a" b', 'a"b']


def test_tokens_that_groq_counts_in_its_own_field_are_counted(play):
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    end = finished(play, chunk(content="a"), {**chunk("stop"), "x_groq": {"usage": usage}})
    assert (end.usage.input_tokens, end.usage.output_tokens) == (7, 2)


REFUSED_CALL = {
    "message": "Tool call validation failed: missing properties: 'path'",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": '{"name": "read_file", "arguments": {"file": "a"}}',
}


@pytest.mark.parametrize("status", [200, 400])
def test_a_call_that_the_server_refused_goes_back_to_the_model(play, status):
    refused = {"error": REFUSED_CALL}
    answer = events(chunk(reasoning="hm"), refused) if status == 200 else refusal(400, refused)
    provider, _ = play(answer)
    (call,) = reply(provider, tools=[READ])[-1].calls
    assert (call.name, call.error) == ("read_file", REFUSED_CALL["message"])


def test_the_name_of_a_refused_call_is_read_from_other_forms_too(play):
    generation = '<function=read_file{"file": "a"}</function>'
    refused = {"error": {**REFUSED_CALL, "failed_generation": generation}}
    provider, _ = play(refusal(400, refused))
    assert reply(provider)[-1].calls[0].name == "read_file"


def test_thinking_in_tags_is_thinking_and_goes_back_only_beside_calls(play):
    values = [chunk(content="<thi"), chunk(content="nk>hm</think>"), chunk(content="yes")]
    provider, _ = play(events(*values, chunk("stop"), DONE))
    assert reply(provider) == [ThinkingDelta("hm"), TextDelta("yes"), Finished("yes")]
    sent = spoken_again(play, *values, chunk(**CALL), chunk("tool_calls"))
    assert sent["content"] == "<think>hm</think>yes"


def test_after_an_end_of_thinking_without_a_beginning_replies_begin_with_thinking(play):
    values = [chunk(content="hm"), chunk(content="</think>"), chunk(content="yes"), chunk("stop")]
    provider, _ = play(events(*values, DONE))
    assert reply(provider)[-1].text == "yes"
    assert reply(provider) == [ThinkingDelta("hm"), TextDelta("yes"), Finished("yes")]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_to_count_tokens_is_met_with_the_setting_for_it(play, status):
    error = {"error": {"message": "body.stream_options: Extra inputs are not permitted"}}
    provider, _ = play(refusal(status, error))
    assert "stream_usage = false in [plugins.provider-openai]" in str(failure(provider))


def test_headers_of_ones_own_go_to_ones_own_server_only(play, monkeypatch):
    monkeypatch.setenv("GATEWAY_TOKEN", "gate-token-1")
    own = {"X-Team": "blue", "X-Gateway-Token": "$GATEWAY_TOKEN"}
    provider, server = play(events(chunk("stop", content="ok"), DONE), headers=own)
    reply(provider)
    sent = server.seen[0].headers
    assert (sent["x-team"], sent["x-gateway-token"]) == ("blue", "gate-token-1")
    monkeypatch.setenv("VLLM_BASE_URL", server.url)
    vllm = next(spec for spec in nanocoder_providers() if spec.name == "vllm")
    other = vllm.open("m", nanocoder_settings()(headers=own))
    reply(other)
    other.close()
    assert "x-team" not in server.seen[1].headers


def test_the_query_of_an_address_stands_behind_the_path(play):
    _, server = play(events(chunk("stop", content="ok"), DONE))
    other = open_provider("m", nanocoder_settings()(base_url=f"{server.url}/v1?api-version=2"))
    reply(other)
    other.close()
    assert server.seen[0].path == "/v1/chat/completions?api-version=2"
