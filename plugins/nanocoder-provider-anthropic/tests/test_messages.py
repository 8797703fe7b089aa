import itertools
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
    Finished,
    Message,
    ModelInfo,
    ProviderError,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from nanocoder_provider_anthropic import nanocoder_providers, nanocoder_settings, open_provider
from nanocoder_testing.asking import failure, reply
from nanocoder_testing.server import FOREVER, Answer, data, events, refusal

READ = ToolDefinition("read_file", "Read a file.", {"type": "object", "properties": {}})
START = {
    "type": "message_start",
    "message": {"id": "m", "usage": {"input_tokens": 5, "cache_read_input_tokens": 7}},
}
STOP = {"type": "message_stop"}
MARK = {"cache_control": {"type": "ephemeral"}}


def begin(index, kind, **fields):
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": kind, **fields},
    }


def delta(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def close(index):
    return {"type": "content_block_stop", "index": index}


def text(index, *pieces):
    deltas = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [begin(index, "text", text=""), *deltas, close(index)]


def call(index, call_id, name, *pieces):
    deltas = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [begin(index, "tool_use", id=call_id, name=name, input={}), *deltas, close(index)]


def end(reason="end_turn", **usage):
    last = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [last, STOP]


OK = events(START, *text(0, "ok"), *end())


@pytest.fixture
def play(monkeypatch, open_at):
    """Start a server with the given answers and open a provider on it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    return open_at(open_provider, nanocoder_settings())


def finished(play, *values):
    provider, _ = play(events(START, *values))
    return reply(provider)[-1]


@pytest.mark.contract("LC-12")
def test_the_request_carries_system_messages_tools_and_a_limit_of_8000(play):
    provider, server = play(OK)
    reply(provider, tools=[READ])
    (request,) = server.seen
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant-1"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.json == {
        "model": "m",
        "max_tokens": 8000,
        "stream": True,
        "tools": [
            {
                "name": "read_file",
                "description": "Read a file.",
                "input_schema": READ.parameters,
            }
        ],
        "system": [{"type": "text", "text": "be brief", **MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]}],
    }


def test_text_is_streamed_and_usage_counts_the_cache(play):
    provider, server = play(
        events(START, {"type": "ping"}, *text(0, "Hel", "lo"), *end(output_tokens=3))
    )
    assert reply(provider) == [
        TextDelta("Hello"),
        Finished(
            "Hello",
            usage=Usage(5, 3, 7),
            native={
                "anthropic": [{"type": "text", "text": "Hello"}],
                "host": f"127.0.0.1:{server.port}",
            },
        ),
    ]


def test_deltas_of_one_read_are_one_delta(play):
    values = [START, *text(0, *"abc"), *end()]
    provider, _ = play(Answer([b"".join(map(data, values))]))
    assert reply(provider)[0] == TextDelta("abc")


@pytest.mark.contract("LC-13")
def test_the_models_blocks_are_sent_back_unchanged(play):
    provider, server = play(
        events(
            START,
            begin(0, "thinking", thinking="", signature=""),
            delta(0, "thinking_delta", thinking="let me "),
            delta(0, "thinking_delta", thinking="see"),
            delta(0, "signature_delta", signature="sig=="),
            close(0),
            begin(1, "redacted_thinking", data="AAAA"),
            close(1),
            *text(2, "I read it."),
            *call(3, "t1", "read_file", '{"path"', ': "a"}'),
            *end("tool_use"),
        ),
        OK,
    )
    first = reply(provider)
    assert first[:2] == [ThinkingDelta("let me see"), TextDelta("I read it.")]
    last = first[-1]
    assert last.text == "I read it."
    assert last.calls == (ToolCall("t1", "read_file", {"path": "a"}),)
    message = Message("assistant", last.text, last.calls, native=last.native)
    result = Message("tool", results=(ToolResult("x", call_id="t1"),))
    reply(provider, Message("user", "go"), message, result)
    assert server.seen[1].json["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "let me see", "signature": "sig=="},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": "I read it."},
            {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
        ],
    }


@pytest.mark.contract("LC-15")
def test_all_results_of_a_turn_are_one_user_message_in_order(play):
    provider, server = play(OK)
    picture = Attachment("image/png", b"png")
    page = Attachment("application/pdf", b"pdf")
    results = (
        ToolResult("one", call_id="a"),
        ToolResult("boom", is_error=True, error_class="x", call_id="b"),
        ToolResult("", call_id="c"),
        ToolResult(
            "see", call_id="d", attachments=(picture, page, Attachment("audio/x", b"", "s"))
        ),
    )
    calls = tuple(ToolCall(key, "read_file") for key in "abcd")
    reply(
        provider,
        Message("user", "go", attachments=(picture,)),
        Message("assistant", "", calls),
        Message("tool", results=results),
    )
    user, assistant, tool = server.seen[0].json["messages"]
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
    }
    assert user["content"] == [{"type": "text", "text": "go"}, {**image, **MARK}]
    assert [block["id"] for block in assistant["content"]] == list("abcd")
    assert tool["role"] == "user"
    first, second, third, fourth = tool["content"]
    assert first == {"type": "tool_result", "tool_use_id": "a", "content": "one"}
    assert second == {
        "type": "tool_result",
        "tool_use_id": "b",
        "content": "boom",
        "is_error": True,
    }
    assert third["content"] == "(no output)"
    assert (fourth["tool_use_id"], fourth["cache_control"]) == ("d", {"type": "ephemeral"})
    document = {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}
    assert fourth["content"] == [
        {"type": "text", "text": "see"},
        image,
        {"type": "document", "source": document},
        {"type": "text", "text": "[s (audio/x) cannot be shown here]"},
    ]


def test_parallel_calls_are_put_together_by_index(play):
    last = finished(
        play,
        begin(0, "tool_use", id="a", name="one", input={}),
        begin(1, "tool_use", id="b", name="two", input={}),
        delta(1, "input_json_delta", partial_json='{"n"'),
        delta(0, "input_json_delta", partial_json='{"n": 1}'),
        delta(1, "input_json_delta", partial_json=": 2}"),
        close(1),
        close(0),
        *end("tool_use"),
    )
    assert last.calls == (ToolCall("a", "one", {"n": 1}), ToolCall("b", "two", {"n": 2}))


def test_missing_and_double_ids_are_replaced_here_and_in_what_is_echoed(play):
    last = finished(
        play, *call(0, "", "x"), *call(1, "same", "x"), *call(2, "same", "y"), *end("tool_use")
    )
    ids = [call.id for call in last.calls]
    assert len(set(ids)) == 3
    assert "" not in ids
    assert [block["id"] for block in last.native["anthropic"]] == ids


def test_input_that_comes_whole_with_the_start_is_taken(play):
    events = [begin(0, "tool_use", id="a", name="x", input={"n": 1}), close(0)]
    assert finished(play, *events, *end("tool_use")).calls == (ToolCall("a", "x", {"n": 1}),)


@pytest.mark.parametrize("arguments", ['{"path": "a', "[]", "null", '{"a":1,"a":2}', '{"a":NaN}'])
def test_arguments_that_cannot_be_trusted_make_a_call_with_an_error(play, arguments):
    last = finished(play, *call(0, "a", "x", arguments), *end("tool_use"))
    assert last.calls[0].error
    assert last.native["anthropic"][0]["input"] == {}


def test_a_call_that_the_token_limit_cut_does_not_look_whole(play):
    values = call(0, "a", "x", '{"n": 1}')[:-1]
    last = finished(play, *values, *end("max_tokens"))
    assert last.truncated
    assert "cut" in last.calls[0].error


@pytest.mark.parametrize(
    ("reason", "truncated"),
    [
        ("end_turn", False),
        ("stop_sequence", False),
        ("max_tokens", True),
        ("model_context_window_exceeded", True),
        ("pause_turn", True),
    ],
)
def test_stop_reasons_say_whether_the_answer_goes_on(play, reason, truncated):
    assert finished(play, *text(0, "x"), *end(reason)).truncated is truncated


@pytest.mark.parametrize("mark", [(), (b"[DONE]",)])
def test_a_stop_reason_is_an_end_where_a_server_leaves_out_message_stop(play, mark):
    assert finished(play, START, *text(0, "whole"), end("end_turn")[0], *mark).text == "whole"


@pytest.mark.parametrize("reason", ["error", "network_error", "abort"])
def test_a_stop_reason_of_a_server_that_gave_up_is_no_answer(play, reason):
    provider, _ = play(events(START, *call(0, "a", "bash", "{}"), *end(reason)))
    error = failure(provider)
    assert f"stop reason {reason!r}" in str(error) or f"finish reason {reason!r}" in str(error)


def test_an_identical_call_under_one_id_but_two_indexes_runs_once(play):
    last = finished(
        play, *call(0, "a", "x", '{"n": 1}'), *call(1, "a", "x", '{"n": 1}'), *end("tool_use")
    )
    assert [each.id for each in last.calls] == ["a"]
    assert [block["id"] for block in last.native["anthropic"]] == ["a"]


def test_a_refusal_runs_nothing(play):
    last = finished(play, *call(0, "a", "bash"), *end("refusal"))
    assert last.calls == ()
    assert last.text == "(The model declined to answer.)"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(events(START, *text(0, "part")), id="no message_stop"),
        pytest.param(
            Answer([*map(data, [START, *text(0, "part")])], cut=True), id="connection cut"
        ),
        pytest.param(
            Answer(
                [*map(data, [START, *text(0, "part")]), b'data: {"type": "mes'], framing="close"
            ),
            id="cut within an event",
        ),
        pytest.param(
            events(START, *text(0, "part"), *call(1, "a", "bash", "{}")),
            id="cut after a whole call",
        ),
    ],
)
def test_a_reply_without_its_end_is_an_error_that_keeps_the_last_words(play, answer):
    provider, server = play(answer, max_retries=4)
    error = failure(provider)
    assert error.kind == "protocol"
    assert "after 4 characters, ending 'part'" in str(error)
    assert len(server.seen) == 1


def test_an_overload_before_the_first_block_is_retried_and_later_is_not(play):
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider, server = play(events(busy), events(START, busy), OK, max_retries=2)
    assert reply(provider)[-1].text == "ok"
    assert len(server.seen) == 3
    begun = [data(event) for event in (START, *text(0, "wo")[:2])]
    provider, server = play(Answer([*begun, 0.05, data(busy)]), OK, max_retries=2)
    error = failure(provider)
    assert (error.kind, len(server.seen)) == ("overloaded", 1)
    assert "Overloaded (after 2 characters" in str(error)


def test_unknown_events_and_what_follows_the_end_are_ignored(play):
    last = finished(
        play,
        {"type": "future_thing", "x": 1},
        [],
        {"type": "content_block_start", "index": 0},
        delta(0, "text_delta", text="ok"),
        delta(0, "future_delta", x=1),
        {"type": "content_block_delta", "index": 0, "delta": None},
        begin(1, "future_block", x=1),
        close(9),
        {"type": "message_delta", "delta": None, "usage": None},
        *end(),
        *call(2, "a", "bash"),
    )
    assert (last.text, last.calls) == ("ok", ())


def test_a_whole_body_from_a_server_that_does_not_stream_is_one_reply(play):
    body = {
        "type": "message",
        "content": [
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "a", "name": "x", "input": {"n": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    provider, server = play(refusal(200, body))
    last = reply(provider)[-1]
    assert (last.text, last.usage) == ("ok", Usage(1, 2))
    assert last.calls == (ToolCall("a", "x", {"n": 1}),)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "kind_of_error", "message", "kind"),
    [
        (400, "invalid_request_error", "prompt is too long: 210000 tokens", "context_overflow"),
        (400, "invalid_request_error", "Your credit balance is too low", "quota"),
        (401, "authentication_error", "invalid x-api-key sk-ant-1", "auth"),
        (413, "request_too_large", "too large", "context_overflow"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
    ],
)
def test_refusals_are_sorted_and_do_not_show_the_key(play, status, kind_of_error, message, kind):
    body = {"type": "error", "error": {"type": kind_of_error, "message": message}}
    provider, _ = play(refusal(status, body))
    error = failure(provider)
    assert error.kind == kind
    assert "sk-ant-1" not in str(error)


def test_cache_marks_move_while_the_messages_keep_their_bytes(play):
    provider, server = play(OK)
    messages, tools = [Message("user", 'one"}]}')], [READ]
    for number in range(3):
        reply(provider, *messages, tools=tools)
        calls = (ToolCall(f"c{number}", "read_file"),)
        messages.append(Message("assistant", "", calls))
        messages.append(Message("tool", results=(ToolResult("x", call_id=f"c{number}"),)))
    marked = [
        [place for place, message in enumerate(request.json["messages"]) if _is_marked(message)]
        for request in server.seen
    ]
    assert marked == [[0], [0, 2], [2, 4]]
    bodies = [
        request.body.replace(b',"cache_control":{"type":"ephemeral"}', b"")
        for request in server.seen
    ]
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))


def _is_marked(message):
    return "cache_control" in message["content"][-1]


def test_without_a_system_text_the_tools_carry_the_mark(play):
    provider, server = play(OK)
    reply(provider, system="", tools=[READ])
    assert server.seen[0].json["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "system" not in server.seen[0].json


def test_caching_can_be_switched_off(play):
    provider, server = play(OK, prompt_caching=False)
    reply(provider, tools=[READ])
    assert b"cache_control" not in server.seen[0].body


def test_messages_without_content_are_left_out(play):
    provider, server = play(OK)
    reply(
        provider,
        Message("user", "a"),
        Message("assistant", " "),
        Message("tool"),
        Message("assistant", "other", native={"openai": {"x": 1}}),
        Message("user", "b"),
    )
    sent = server.seen[0].json["messages"]
    assert [message["content"][0]["text"] for message in sent] == ["a", "other", "b"]


@pytest.mark.parametrize("call_id", ["functions.bash:0", "call|fc", "toolu_1"])
@pytest.mark.parametrize("is_native", [True, False])
def test_ids_and_names_of_other_models_are_in_the_alphabet_of_the_api(play, call_id, is_native):
    provider, server = play(OK)
    block = {"type": "tool_use", "id": call_id, "name": "functions.bash", "input": {}}
    call = ToolCall(call_id, "functions.bash")
    native = {"anthropic": [block]} if is_native else None
    results = (ToolResult("ok", call_id=call_id),)
    history = [Message("user", "a"), Message("assistant", calls=(call,), native=native)]
    reply(provider, *history, Message("tool", results=results))
    _, (use,), (result,) = (each["content"] for each in server.seen[0].json["messages"])
    assert re.fullmatch("[a-zA-Z0-9_-]+", use["id"])
    assert (result["tool_use_id"], use["name"]) == (use["id"], "functions_bash")


def test_thinking_of_another_server_stays_away(play):
    provider, server = play(OK)
    thought = {"type": "thinking", "thinking": "hm", "signature": "of another"}
    native = {"anthropic": [thought, {"type": "text", "text": "a"}], "host": "other.example.com"}
    reply(provider, Message("user", "q"), Message("assistant", "a", native=native))
    assert server.seen[0].json["messages"][1]["content"] == [{"type": "text", "text": "a"}]


def test_results_and_what_a_person_says_next_are_one_turn(play):
    provider, server = play(OK)
    history = [Message("user", "a"), Message("assistant", calls=(ToolCall("c", "look"),))]
    results = Message("tool", results=(ToolResult("ok", call_id="c"),))
    reply(provider, *history, results, Message("user", "go on"))
    roles = [each["role"] for each in server.seen[0].json["messages"]]
    assert roles == ["user", "assistant", "user"]
    kinds = [block["type"] for block in server.seen[0].json["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text"]


def test_thinking_gets_a_budget_below_the_limit_and_no_temperature(play):
    provider, server = play(OK, thinking_budget_tokens=10_000)
    reply(provider, temperature=0.5)
    sent = server.seen[0].json
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    assert sent["max_tokens"] == 18_000
    assert "temperature" not in sent


def test_a_request_may_set_its_own_limit_and_temperature(play):
    provider, server = play(OK, profile="small")
    reply(provider, max_tokens=5, temperature=0.5)
    sent = server.seen[0].json
    assert (sent["max_tokens"], sent["temperature"]) == (5, 0.5)
    assert provider.profile == "small"


def test_a_cancel_ends_a_silent_reply_within_a_second(play):
    provider, _ = play(Answer([data(START), FOREVER]))
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        reply(provider, cancel=cancel)
    assert time.monotonic() - begun < 1.2
    timer.join()


def test_models_are_asked_for(play):
    listed = [{"id": "claude-x", "display_name": "Claude X", "max_input_tokens": 200_000}, None]
    provider, server = play(refusal(200, {"data": listed}))
    assert provider.models() == [ModelInfo("claude-x", 200_000, "Claude X")]
    assert server.seen[0].path == "/v1/models?limit=1000"
    provider, _ = play(refusal(200, []))
    with pytest.raises(ProviderError, match="list of models"):
        provider.models()


@pytest.mark.contract("F8")
def test_a_request_costs_what_the_table_or_the_person_says(play):
    prices = {"m": {"input": 3.0, "output": 15.0, "cache_read": 0.3, "context": 1000.0}}
    provider, _ = play(events(START, *text(0, "ok"), *end(output_tokens=100)), models=prices)
    usage = reply(provider)[-1].usage
    assert usage.cost == pytest.approx((5 * 3 + 7 * 0.3 + 100 * 15) / 1e6)
    assert (provider.has_price, provider.context) == (True, 1000)


@pytest.mark.contract("F9")
def test_a_known_model_of_the_vendor_has_a_price_and_another_has_none(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    known = open_provider("claude-sonnet-4-6", None)
    assert (known.has_price, known.context) == (True, 1_000_000)
    assert not open_provider("claude-of-tomorrow", None).has_price
    elsewhere = nanocoder_settings()(base_url="https://gateway.example")
    assert open_provider("claude-sonnet-4-6", elsewhere).has_price
    assert not open_provider("claude-of-tomorrow", elsewhere).has_price


def test_effort_lets_the_model_decide_and_betas_are_a_header(play):
    provider, server = play(OK, effort="high", betas=("a-2026-01-01", "b-2026-01-01"))
    reply(provider, temperature=0.5)
    sent = server.seen[0]
    assert sent.json["output_config"] == {"effort": "high"}
    assert sent.json["thinking"] == {"type": "adaptive"}
    assert "temperature" not in sent.json
    assert sent.headers["anthropic-beta"] == "a-2026-01-01,b-2026-01-01"


ANSWER = {
    "type": "object",
    "properties": {"lines": {"type": "array", "items": {"type": "integer"}}},
    "additionalProperties": False,
}


@pytest.mark.contract("J4")
@pytest.mark.parametrize(
    ("schema", "options", "is_sent"),
    [
        (ANSWER, {}, True),
        (ANSWER, {"structured_outputs": False}, False),
        ({"anyOf": [{"type": "null"}, {"enum": ["a", 1]}]}, {}, True),
        ({"type": "object", "properties": {}}, {}, False),
        ({**ANSWER, "properties": {"n": {"type": "integer", "minimum": 1}}}, {}, False),
        ({"type": ["string", "null"]}, {}, False),
        ({"enum": [{}]}, {}, False),
        ({"type": "array", "items": True}, {}, False),
    ],
)
def test_a_schema_that_the_api_takes_is_sent_beside_tools(play, schema, options, is_sent):
    provider, server = play(OK, effort="low", **options)
    reply(provider, tools=[READ], answer_schema=schema)
    form = {"format": {"type": "json_schema", "schema": schema}} if is_sent else {}
    assert server.seen[0].json["output_config"] == {"effort": "low", **form}


def test_the_address_comes_from_the_environment_with_or_without_its_version(play, monkeypatch):
    _, server = play(OK)
    for suffix in ("", "/v1/", "/v1/messages"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url + suffix)
        provider = open_provider("m", None)
        reply(provider)
        provider.close()
    assert [request.path for request in server.seen] == ["/v1/messages"] * 3


def test_anthropic_itself_needs_a_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match="set ANTHROPIC_API_KEY") as caught:
        open_provider("m", None)
    assert caught.value.kind == "auth"


def test_the_plugin_offers_anthropic_and_imports_no_http_client():
    (spec,) = nanocoder_providers()
    assert (spec.name, spec.key_variables) == ("anthropic", ("ANTHROPIC_API_KEY",))
    code = "import sys, nanocoder_provider_anthropic as p; p.nanocoder_providers();"
    code += "assert not {'httpx', 'httpcore', 'ssl', 'asyncio'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
