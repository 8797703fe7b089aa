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
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from nanocoder_provider_google import nanocoder_providers, nanocoder_settings, open_provider
from nanocoder_testing.asking import failure, reply
from nanocoder_testing.server import FOREVER, Answer, ScriptedServer, data, events, refusal

READ = ToolDefinition("read_file", "Read a file.", {"type": "object", "properties": {}})
CALL = {"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}}
SIGNED = {**CALL, "thoughtSignature": "c2lnbmF0dXJl"}


def chunk(*parts, finish=None, **usage):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    value = {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}]}
    return {**value, "usageMetadata": usage} if usage else value


OK = events(chunk({"text": "ok"}, finish="STOP"))


@pytest.fixture
def play(monkeypatch, open_at):
    """Start a server with the given answers and open a provider on it."""
    monkeypatch.setenv("GEMINI_API_KEY", "AIza1")
    return open_at(open_provider, nanocoder_settings())


def finished(play, *values):
    provider, _ = play(events(*values))
    return reply(provider)[-1]


@pytest.mark.contract("F1")
def test_text_and_thoughts_are_streamed_and_usage_counts_cache_and_thoughts(play):
    usage = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
    }
    provider, server = play(
        events(
            chunk({"text": "Hm.", "thought": True}),
            chunk({"text": "Hel"}),
            chunk({"text": "lo"}, finish="STOP", **usage),
        )
    )
    assert reply(provider, tools=[READ], max_tokens=9, temperature=0.5) == [
        ThinkingDelta("Hm."),
        TextDelta("Hello"),
        Finished(
            "Hello",
            usage=Usage(6, 5, 4),
            native={"google": [{"text": "Hello"}], "host": f"127.0.0.1:{server.port}"},
        ),
    ]
    sent = server.seen[0]
    assert sent.path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "AIza1"
    assert sent.json == {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "read_file",
                        "description": "Read a file.",
                        "parametersJsonSchema": READ.parameters,
                    }
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 9, "temperature": 0.5},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


def test_signed_parts_go_back_as_they_came_and_results_are_named_after_their_calls(play):
    nameless = {"functionCall": {"name": "bash", "args": {}}}
    turn = events(chunk({"text": "I look."}), chunk(SIGNED, nameless, finish="STOP"))
    provider, server = play(turn)
    question = Message("user", "hi")
    last = reply(provider, question)[-1]
    first, second = last.calls
    assert first == ToolCall("c1", "read_file", {"path": "a"})
    assert second.id.startswith("call_")
    results = (
        ToolResult("A", call_id="c1"),
        ToolResult("boom", is_error=True, error_class="x", call_id=second.id),
    )
    spoken = Message("assistant", "I look.", last.calls, native=last.native)
    reply(provider, question, spoken, Message("tool", results=results))
    assert server.seen[1].json["contents"][1:] == [
        {"role": "model", "parts": [{"text": "I look."}, SIGNED, nameless]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "c1",
                        "name": "read_file",
                        "response": {"output": "A"},
                    }
                },
                {"functionResponse": {"name": "bash", "response": {"error": "boom"}}},
            ],
        },
    ]
    assert server.seen[1].body.startswith(server.seen[0].body.removesuffix(b"]}"))


def test_a_signature_on_an_empty_part_is_kept(play):
    last = finished(
        play, chunk({"text": "ok"}), chunk({"text": "", "thoughtSignature": "cw=="}, finish="STOP")
    )
    assert last.native["google"] == [{"text": "ok"}, {"text": "", "thoughtSignature": "cw=="}]


def test_a_call_of_another_model_is_marked_as_one(play):
    provider, server = play(OK)
    calls = (ToolCall("a", "bash", {}), ToolCall("b", "bash", {"command": "ls"}))
    foreign = Message("assistant", "I look.", calls, native={"anthropic": [1]})
    reply(provider, Message("user", "Look."), foreign)
    text, first, second = server.seen[0].json["contents"][1]["parts"]
    assert text == {"text": "I look."}
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert second == {"functionCall": {"name": "bash", "args": {"command": "ls"}}}


def test_images_and_pdf_files_travel_as_they_are(play):
    provider, server = play(OK)
    image, pdf = Attachment("image/png", b"png"), Attachment("application/pdf", b"pdf")
    archive = Attachment("application/zip", b"zip", "a.zip")
    reply(
        provider,
        Message("user", "look", attachments=(pdf, archive)),
        Message("assistant", calls=(ToolCall("a", "read_file", {}),)),
        Message("tool", results=(ToolResult("seen", call_id="a", attachments=(image,)),)),
    )
    user, _, results = (message["parts"] for message in server.seen[0].json["contents"])
    assert user[1:] == [
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        {"text": "[a.zip (application/zip) cannot be shown here]"},
    ]
    assert results[1] == {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}


@pytest.mark.parametrize("args", [[1], "x", 5])
def test_arguments_that_are_no_object_make_a_call_with_an_error(play, args):
    call = {"functionCall": {"name": "x", "args": args}}
    (made,) = finished(play, chunk(call, finish="STOP")).calls
    assert "must be a JSON object" in made.error


def test_an_id_that_a_server_uses_twice_is_replaced_here_and_in_what_is_echoed(play):
    other = {"functionCall": {**CALL["functionCall"], "args": {"path": "b"}}}
    provider, _ = play(events(chunk(CALL, other, CALL, finish="STOP")))
    first, second = reply(provider)[-1].calls
    assert first.id == "c1" != second.id


def test_a_finish_reason_in_every_chunk_ends_nothing(play):
    chunks = [chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="STOP")]
    last = finished(play, *chunks, chunk(CALL, finish="STOP"))
    assert (last.text, len(last.calls)) == ("ab", 1)


def test_the_token_limit_is_told(play):
    assert finished(play, chunk({"text": "a"}, finish="MAX_TOKENS")).truncated


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (chunk(CALL, finish="SAFETY"), "stopped the reply: SAFETY"),
        (
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
            "refused the request: PROHIBITED",
        ),
    ],
)
def test_a_reply_that_is_withheld_says_so_and_calls_nothing(play, value, words):
    last = finished(play, value)
    assert words in last.refusal
    assert (last.calls, last.native) == ((), None)


def test_a_malformed_call_is_a_failure_that_may_be_asked_again(play):
    provider, _ = play(events(chunk(finish="MALFORMED_FUNCTION_CALL")))
    assert failure(provider).kind == "protocol"


@pytest.mark.parametrize(
    "answer",
    [
        events(chunk({"text": "Hel"})),
        Answer([data(chunk({"text": "Hel"})), b'data: {"candi'], framing="close"),
        Answer([data(chunk({"text": "Hel"}))], cut=True),
    ],
)
def test_a_reply_without_its_end_is_an_error_that_keeps_the_last_words(play, answer):
    provider, _ = play(answer)
    assert "Hel" in str(failure(provider))


def test_a_whole_body_is_one_reply(play):
    for body in (
        chunk({"text": "ok"}, finish="STOP"),
        [chunk({"text": "o"}), chunk({"text": "k"}, finish="STOP")],
    ):
        provider, server = play(refusal(200, body))
        assert reply(provider)[-1].text == "ok"
        assert len(server.seen) == 1


def test_odd_chunks_are_passed_over_and_what_follows_the_end_is_ignored(play):
    odd = [None, 5, {"candidates": None}, {"candidates": [None]}, chunk(None), {"future": 1}]
    last = finished(play, *odd, chunk({"text": "ok"}, finish="STOP"), chunk(CALL))
    assert (last.text, last.calls) == ("ok", ())


@pytest.mark.contract("NT-64")
def test_a_key_that_is_refused_is_named_by_its_variable(play):
    error = {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
    }
    provider, server = play(refusal(400, {"error": error}))
    caught = failure(provider)
    assert caught.kind == "auth"
    assert "GEMINI_API_KEY" in str(caught)
    assert len(server.seen) == 1


def test_an_error_inside_the_stream_is_a_failure(play):
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    provider, _ = play(events(error))
    assert failure(provider).kind == "overloaded"


def test_a_cancel_ends_a_silent_reply_within_a_second(play):
    provider, _ = play(Answer([data(chunk({"text": "a"})), FOREVER]))
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        reply(provider, cancel=cancel)
    assert time.monotonic() - begun < 1.2
    timer.join()


def test_thoughts_are_asked_of_models_that_think(play):
    provider, server = play(
        OK, model="gemini-2.5-pro", thinking_level="low", thinking_budget_tokens=128
    )
    reply(provider)
    sent = server.seen[0].json["generationConfig"]["thinkingConfig"]
    assert sent == {"thinkingLevel": "low", "thinkingBudget": 128}


@pytest.mark.contract("F8")
def test_the_models_of_the_vendor_have_a_price_and_thoughts(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "AIza1")
    monkeypatch.delenv("GEMINI_BASE_URL", raising=False)
    provider = open_provider("gemini-2.5-flash", None)
    assert (provider.has_price, provider.context) == (True, 1_048_576)
    request = Request("gemini-2.5-flash", "", [Message("user", "hi")])
    body = provider._body(request, provider._catalog.find("gemini-2.5-flash"))
    assert b'"includeThoughts":true' in body, "an option that only the vendor's own models get"


def test_models_are_asked_for(play):
    listed = [
        {
            "name": "models/gemini-x",
            "displayName": "Gemini X",
            "inputTokenLimit": 1000,
            "supportedGenerationMethods": ["generateContent"],
        },
        {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
        None,
    ]
    provider, server = play(refusal(200, {"models": listed}))
    assert provider.models() == [ModelInfo("gemini-x", 1000, "Gemini X")]
    assert server.seen[0].path == "/v1beta/models?pageSize=1000"
    provider, _ = play(refusal(200, []))
    with pytest.raises(ProviderError, match="list of models"):
        provider.models()


def test_the_key_comes_from_either_variable_and_google_itself_needs_one(monkeypatch):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError, match="set GEMINI_API_KEY") as caught:
        open_provider("m", None)
    assert caught.value.kind == "auth"
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza2")
    with ScriptedServer(OK) as server:
        monkeypatch.setenv("GEMINI_BASE_URL", server.url + "/v1beta/")
        provider = open_provider("m", None)
        reply(provider)
        provider.close()
        assert server.seen[0].headers["x-goog-api-key"] == "AIza2"


def test_the_plugin_offers_google_and_imports_no_http_client():
    (spec,) = nanocoder_providers()
    assert (spec.name, spec.key_variables) == ("google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"))
    code = "import sys, nanocoder_provider_google as p; p.nanocoder_providers();"
    code += "assert not {'httpx', 'httpcore', 'ssl', 'asyncio'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.contract("J4")
@pytest.mark.parametrize("tools", [[], [READ]])
def test_a_schema_for_the_answer_is_sent_where_there_are_no_tools(play, tools):
    provider, server = play(events(chunk({"text": '{"a": 1}'}, finish="STOP")))
    assert reply(provider, tools=tools, answer_schema=SCHEMA)[-1].text == '{"a": 1}'
    options = server.seen[0].json.get("generationConfig", {})
    assert options.get("responseJsonSchema") == (None if tools else SCHEMA)
    assert options.get("responseMimeType") == (None if tools else "application/json")
