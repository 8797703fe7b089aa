"""Servers that break the protocol or mean harm; the names are the cases'."""

import json

import pytest
from nanocoder import Cancel, Finished, Message, ProviderError, Request, ToolCall
from nanocoder_provider_anthropic import nanocoder_settings, open_provider
from nanocoder_testing.server import Answer, ScriptedServer, data, events, refusal

START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}}
END = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    {"type": "message_stop"},
)


def begin(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, **fields):
    return {"type": "content_block_delta", "index": index, "delta": fields}


def text(*pieces):
    deltas = [delta(0, type="text_delta", text=piece) for piece in pieces]
    return [begin(0, type="text", text=""), *deltas, {"type": "content_block_stop", "index": 0}]


def call(arguments, name="read_file", index=0):
    return [
        begin(index, type="tool_use", id=f"c{index}", name=name, input={}),
        delta(index, type="input_json_delta", partial_json=arguments),
        {"type": "content_block_stop", "index": index},
    ]


@pytest.fixture
def ask(monkeypatch):
    """Ask a server that gives *answers*; returns the pieces of the reply."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    opened = []

    def run(*answers, **settings):
        server = ScriptedServer(*answers)
        settings = {"base_url": server.url, "max_retries": 0, **settings}
        provider = open_provider("m", nanocoder_settings()(**settings))
        opened.extend([provider, server])
        run.server = server
        return list(provider.stream(Request("m", "", (Message("user", "hi"),)), Cancel()))

    yield run
    for thing in opened:
        thing.close()


def finished(ask, *values):
    last = ask(events(START, *values, *END))[-1]
    assert isinstance(last, Finished)
    return last


def failure(ask, *answers, **settings):
    with pytest.raises(ProviderError) as caught:
        ask(*answers, **settings)
    assert "sk-ant-secret" not in str(caught.value)
    return caught.value


def test_prov_001_a_stream_that_is_cut_within_an_event_is_no_reply(ask):
    half = data(delta(0, type="text_delta", text="more"))[:40]
    pieces = b"".join(map(data, [START, *text("half")[:2]])) + half
    assert failure(ask, Answer([pieces])).kind in {"network", "protocol"}


def test_prov_006_separators_inside_a_string_do_not_end_the_line(ask):
    line = "a\u2028b\x85c\u2029d"
    raw = json.dumps(delta(0, type="text_delta", text=line), ensure_ascii=False).encode()
    pieces = [*map(data, [START, text()[0]]), b"data: " + raw + b"\n\n"]
    ends = [*map(data, [text()[-1], *END])]
    assert ask(Answer([b"".join(pieces + ends)]))[-1].text == line


def test_prov_020_bytes_that_are_not_utf_8_do_no_harm(ask):
    broken = data(delta(0, type="text_delta", text="aXb")).replace(b"X", b"\xff\xfe")
    pieces = [data(START), data(text()[0]), broken, *map(data, [text()[-1], *END])]
    try:
        last = ask(Answer([b"".join(pieces)]))[-1]
    except ProviderError as error:
        assert error.kind == "protocol"  # noqa: PT017 - either is sound
    else:
        assert "\ufffd" in last.text


@pytest.mark.parametrize(
    "arguments", ['{"path": "a.txt"', "[]", "null", '"ls"', "42", "[" * 100_000, '{"a": NaN}']
)
def test_prov_036_037_040_what_is_no_object_makes_a_call_with_an_error(ask, arguments):
    (tool_call,) = finished(ask, *call(arguments)).calls
    assert isinstance(tool_call, ToolCall)
    assert tool_call.error
    assert "Traceback" not in tool_call.error


def test_prov_040_an_event_that_is_nested_too_deep_is_refused_in_words(ask):
    deep = b"data: " + b"[" * 100_000 + b"\n\n"
    assert failure(ask, Answer([data(START), deep])).kind == "protocol"


def test_prov_041_half_a_surrogate_pair_can_be_sent_back(ask):
    last = finished(ask, *text("a\ud83d"))
    assert last.text.encode() in {b"a?", "a\ufffd".encode()}


@pytest.mark.parametrize("name", ["", None, 3])
def test_prov_047_a_call_without_a_name_is_no_other_tool(ask, name):
    (tool_call,) = finished(ask, *call("{}", name=name)).calls
    assert tool_call.name == "" or tool_call.error


@pytest.mark.parametrize("odd", [None, "x", 3, {"type": "content_block_delta", "index": None}])
def test_prov_054_what_lacks_its_fields_is_passed_over_or_refused_in_words(ask, odd):
    try:
        assert finished(ask, odd, *text("ok")).text == "ok"
    except ProviderError as error:
        assert error.kind == "protocol"  # noqa: PT017 - either is sound


def test_prov_062_a_redirect_does_not_carry_the_key_elsewhere(ask):
    with ScriptedServer(events(START, *text("stolen"), *END)) as thief:
        failure(ask, refusal(302, "", location=f"{thief.url}/v1/messages"))
        assert thief.seen == []


def test_prov_070_a_page_of_a_proxy_in_the_stream_is_no_reply(ask):
    page = b"<html>504 Gateway Time-out</html>"
    pieces = b"".join(map(data, [START, *text("half")[:2]])) + page
    assert failure(ask, Answer([pieces])).kind in {"network", "protocol"}


def test_prov_024_an_absurd_wait_is_said_and_not_waited(ask):
    busy = refusal(429, {"error": {"type": "rate_limit_error"}}, retry_after="86400")
    error = failure(ask, busy, max_retries=2)
    assert error.kind == "rate_limit"
    assert len(ask.server.seen) == 1


def test_prov_028_a_refusal_is_asked_once(ask):
    for status in (400, 401, 403, 404, 413, 422):
        failure(ask, refusal(status, {"error": {"message": "no\x1b[2J"}}), max_retries=3)
        assert len(ask.server.seen) == 1


def test_prov_031_an_overload_as_the_first_event_is_asked_again(ask):
    busy = events({"type": "error", "error": {"type": "overloaded_error", "message": "x"}})
    assert ask(busy, events(START, *text("fine"), *END), max_retries=1)[-1].text == "fine"
    assert len(ask.server.seen) == 2


def test_prov_032_events_and_deltas_of_the_future_are_passed_over(ask):
    future = [{"type": "future_thing", "x": 1}, delta(0, type="future_delta", text="no")]
    assert finished(ask, *future, *text("fine")).text == "fine"


def test_prov_033_what_comes_after_the_end_makes_no_call(ask):
    last = ask(events(START, *text("fine"), *END, *call("{}"), *END))[-1]
    assert (last.text, last.calls) == ("fine", ())


def test_prov_051_052_pieces_of_fifty_calls_out_of_order_are_put_together(ask):
    numbers = [*range(1, 100, 2)]
    blocks = {number: call(f'{{"path": "f{number}"}}', index=number) for number in numbers}
    turned = numbers[::-1]
    pieces = [blocks[number][step] for step in range(3) for number in (turned, numbers)[step % 2]]
    calls = finished(ask, *pieces).calls
    assert [tool_call.arguments["path"] for tool_call in calls] == [
        f"f{number}" for number in numbers
    ]
    assert len({tool_call.id for tool_call in calls}) == 50


def test_prov_058_a_prompt_that_is_too_long_is_told_as_such_and_asked_once(ask):
    body = {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}
    assert failure(ask, refusal(400, body), max_retries=3).kind == "context_overflow"
    assert len(ask.server.seen) == 1


def test_prov_066_a_whole_call_of_a_reply_that_is_cut_is_not_handed_out(ask):
    pieces = b"".join(map(data, [START, *call('{"path": "a"}')]))
    failure(ask, Answer([pieces], cut=True), max_retries=1)
    assert len(ask.server.seen) == 2, "nothing was shown of it, so it is asked for again"


def test_prov_018_a_whole_body_is_one_reply_of_one_request(ask):
    content = [{"type": "text", "text": "fine"}]
    body = json.dumps({"type": "message", "content": content, "stop_reason": "end_turn"}).encode()
    answer = Answer([body], 200, {"content-type": "application/json"}, "length")
    assert ask(answer, max_retries=3)[-1].text == "fine"
    assert len(ask.server.seen) == 1


@pytest.mark.parametrize("name", ["base_url", "proxy", "api_key_env"])
def test_conf_002_no_project_sets_where_the_key_comes_from_or_goes(name):
    (setting,) = [
        attribute for attribute in nanocoder_settings().__attrs_attrs__ if attribute.name == name
    ]
    assert setting.metadata["user_only"]
