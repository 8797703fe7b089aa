import json
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
    Notice,
    ProviderError,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    ToolResult,
    Usage,
)
from nanocoder_provider_ollama import (
    nanocoder_providers,
    nanocoder_settings,
    open_provider,
    served_model,
)
from nanocoder_provider_ollama.settings import Settings, address
from nanocoder_testing.asking import failure, reply
from nanocoder_testing.server import FOREVER, Answer, ScriptedServer, refusal

READ = ToolDefinition("read_file", "Read a file.", {"type": "object", "properties": {}})
INFO = {"general.architecture": "qwen3", "qwen3.context_length": 40_960}
SHOW = refusal(200, {"model_info": INFO, "capabilities": ["completion", "tools", "thinking"]})
TAGS = refusal(
    200,
    {
        "models": [
            {
                "model": "qwen3:8b",
                "details": {"parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
            }
        ]
    },
)


def line(content="", **fields):
    message = {"role": "assistant", "content": content}
    message |= {name: fields.pop(name) for name in ("thinking", "tool_calls") if name in fields}
    return {"model": "m", "message": message, "done": "done_reason" in fields, **fields}


def lines(*values):
    return Answer([json.dumps(value).encode() + b"\n" for value in values])


END = line(done_reason="stop", prompt_eval_count=7, eval_count=3)
OK = lines(line("ok"), END)


def call(name, **arguments):
    return {"function": {"name": name, "arguments": arguments}}


@pytest.fixture
def play(monkeypatch, open_at):
    """Start a server with the given answers and open a provider on it."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    return open_at(open_provider, nanocoder_settings())


def finished(play, *values):
    provider, _ = play(SHOW, lines(*values))
    return reply(provider)[-1]


@pytest.mark.contract("F12")
def test_text_and_thoughts_are_streamed_and_the_context_is_asked_for(play):
    answer = lines(line(thinking="Hm."), line("Hel"), line("lo"), END)
    provider, server = play(SHOW, answer, keep_alive="1h")
    assert provider.context == 32_768
    assert reply(provider, tools=[READ], max_tokens=9, temperature=0.5) == [
        ThinkingDelta("Hm."),
        TextDelta("Hello"),
        Finished("Hello", usage=Usage(7, 3, cost=0.0)),
    ]
    show, chat = server.seen
    assert (show.path, show.json) == ("/api/show", {"model": "m"})
    assert chat.path == "/api/chat"
    assert chat.json == {
        "model": "m",
        "stream": True,
        "options": {"num_ctx": 32_768, "num_predict": 9, "temperature": 0.5},
        "think": True,
        "keep_alive": "1h",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Read a file.",
                    "parameters": READ.parameters,
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
    }


def test_no_more_context_is_asked_for_than_the_model_has(play):
    provider, server = play(SHOW, OK, context=100_000)
    reply(provider)
    assert server.seen[1].json["options"]["num_ctx"] == provider.context == 40_960


@pytest.mark.parametrize(("think", "sent"), [("", True), ("off", False), ("low", "low")])
def test_a_model_that_thinks_is_asked_to_as_the_setting_says(play, think, sent):
    provider, server = play(SHOW, OK, think=think)
    reply(provider)
    assert server.seen[1].json["think"] is sent or server.seen[1].json["think"] == sent


def test_calls_thoughts_and_results_go_back(play):
    turn = lines(
        line(thinking="Look."), line(tool_calls=[call("read_file", path="a"), call("bash")]), END
    )
    provider, server = play(SHOW, turn)
    question = Message("user", "hi")
    last = reply(provider, question)[-1]
    first, second = last.calls
    assert (first.name, first.arguments, second.name) == ("read_file", {"path": "a"}, "bash")
    assert first.id != second.id
    image = Attachment("image/png", b"png")
    results = (
        ToolResult("A", call_id=first.id, attachments=(image,)),
        ToolResult("no", is_error=True, call_id=second.id),
    )
    spoken = Message("assistant", "", last.calls, native=last.native)
    reply(provider, question, spoken, Message("tool", results=results))
    assistant, seen, error = server.seen[2].json["messages"][2:]
    assert assistant["thinking"] == "Look."
    assert [made["function"]["arguments"] for made in assistant["tool_calls"]] == [
        {"path": "a"},
        {},
    ]
    assert (seen["tool_name"], seen["content"], seen["images"]) == ("read_file", "A", ["cG5n"])
    assert (error["tool_name"], error["content"]) == ("bash", "Error: no")


def test_files_that_no_model_reads_are_named(play):
    provider, server = play(SHOW, OK)
    pdf = Attachment("application/pdf", b"pdf", "a.pdf")
    reply(provider, Message("user", "look", attachments=(pdf,)))
    content = server.seen[1].json["messages"][1]["content"]
    assert content == "look\n[a.pdf (application/pdf) cannot be shown here]"


@pytest.mark.contract("F10")
def test_a_model_without_tools_chooses_actions_and_a_notice_says_so_once(play):
    action = lines(line('{"action": "read_file"}'), END)
    provider, server = play(refusal(200, {"capabilities": ["completion"]}), action)
    notice, end = reply(provider, tools=[READ])
    assert notice == Notice("m cannot call tools: nanocoder lets it choose actions instead")
    assert [(call.name, call.arguments) for call in end.calls] == [("read_file", {})]
    assert not any(isinstance(piece, Notice) for piece in reply(provider, tools=[READ]))
    assert "tools" not in server.seen[1].json
    assert provider.profile == "full"


@pytest.mark.contract("F11")
def test_a_small_model_chooses_actions_under_a_schema(play):
    show = refusal(200, {"details": {"parameter_size": "1.5B"}, "capabilities": ["tools"]})
    answer = lines(line('{"action": "answer", "text": "Hel'), line('lo"}'), END)
    provider, server = play(show, answer)
    assert not provider.tool_texts([READ])
    assert provider.context == 32_768
    assert provider.profile == "small"
    assert provider.tool_texts([READ])[0].startswith("read_file(")
    assert reply(provider, tools=[READ]) == [
        TextDelta("Hello"),
        Finished("Hello", usage=Usage(7, 3, cost=0.0)),
    ]
    sent = server.seen[1].json
    names = [choice["properties"]["action"]["const"] for choice in sent["format"]["anyOf"]]
    assert names == ["read_file", "chat"]
    assert (sent["options"]["temperature"], sent["options"]["num_predict"]) == (0.0, 1_536)
    assert "read_file(" in sent["messages"][0]["content"]
    assert "tools" not in sent


@pytest.mark.contract("F12")
def test_a_missing_model_says_what_to_pull_and_what_is_there(play):
    provider, server = play(refusal(404, {"error": "model 'm' not found"}), TAGS)
    caught = failure(provider)
    assert caught.kind == "not_found"
    assert "`ollama pull m`, or name one that it has: ollama/qwen3:8b" in str(caught)
    assert [seen.path for seen in server.seen] == ["/api/show", "/api/tags"]


@pytest.mark.parametrize("arguments", [[1], "[]", "{", 5])
def test_arguments_that_are_no_object_make_a_call_with_an_error(play, arguments):
    odd = {"function": {"name": "x", "arguments": arguments}}
    (made,) = finished(play, line(tool_calls=[odd]), END).calls
    assert made.error


def test_the_token_limit_is_told(play):
    assert finished(play, line("a"), line(done_reason="length")).truncated


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_a_done_reason_of_a_server_that_gave_up_is_no_answer(play, reason):
    provider, _ = play(lines(line("half", done=True, done_reason=reason)))
    assert reason in str(failure(provider))


def test_a_line_that_is_done_ends_nothing_while_more_such_lines_come(play):
    assert (
        finished(play, line("a", done=True), line("b", done=True, done_reason="stop")).text == "ab"
    )


def test_odd_lines_are_passed_over_and_what_follows_the_end_is_ignored(play):
    odd = [None, 5, {}, {"message": None}, line(tool_calls=[None, {}]), line(tool_calls=5)]
    last = finished(play, *odd, line("ok"), END, line(tool_calls=[call("bash")]))
    assert (last.text, last.calls) == ("ok", ())


@pytest.mark.parametrize(
    "answer",
    [
        lines(line("Hel")),
        Answer([json.dumps(line("Hel")).encode(), b'\n{"mess'], framing="close"),
        lines(line("Hel"), {"error": "llama runner process has terminated"}),
    ],
)
def test_a_reply_without_its_end_is_an_error_that_keeps_the_last_words(play, answer):
    provider, _ = play(SHOW, answer)
    assert "Hel" in str(failure(provider))


def test_a_cancel_ends_a_silent_reply_within_a_second(play):
    provider, _ = play(SHOW, Answer([json.dumps(line("a")).encode() + b"\n", FOREVER]))
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        reply(provider, cancel=cancel)
    assert time.monotonic() - begun < 1.2
    timer.join()


@pytest.mark.contract("F12")
def test_models_are_listed_with_their_context_and_what_they_can_do(play):
    provider, _ = play(TAGS, SHOW)
    (model,) = provider.models()
    assert (model.name, model.context, model.description) == ("qwen3:8b", 40_960, "8.2B Q4_K_M")
    assert (model.abilities, model.input_price) == (("thinking", "tools"), 0.0)
    provider, _ = play(refusal(200, []))
    with pytest.raises(ProviderError, match="is it Ollama"):
        provider.models()


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://localhost:1234"),
        ("https://ollama.example/a/", "https://ollama.example/a"),
        ("[::1]:9", "http://[::1]:9"),
    ],
)
def test_the_address_is_completed_as_ollama_does_it(monkeypatch, host, expected):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert address(Settings()) == expected


def test_a_server_with_one_model_is_used_and_with_several_is_asked_about(monkeypatch):
    two = refusal(200, {"models": [{"model": "a"}, {"model": "b"}]})
    with ScriptedServer(TAGS, two, refusal(200, {"models": []})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert served_model(None) == "qwen3:8b"
        with pytest.raises(ProviderError, match="--model ollama/a, ollama/b"):
            served_model(None)
        with pytest.raises(ProviderError, match="ollama pull NAME"):
            served_model(None)


def test_the_plugin_offers_ollama_and_imports_no_http_client():
    (spec,) = nanocoder_providers()
    assert (spec.name, spec.key_variables, spec.rank) == ("ollama", (), 50)
    code = "import sys, nanocoder_provider_ollama as p; p.nanocoder_providers();"
    code += "assert not {'httpx', 'httpcore', 'asyncio'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.contract("J4")
@pytest.mark.parametrize("tools", [[], [READ]])
def test_a_schema_for_the_answer_is_sent_where_there_are_no_tools(play, tools):
    provider, server = play(SHOW, lines(line('{"a": 1}'), END))
    assert reply(provider, tools=tools, answer_schema=SCHEMA)[-1].text == '{"a": 1}'
    assert server.seen[1].json.get("format") == (None if tools else SCHEMA)
