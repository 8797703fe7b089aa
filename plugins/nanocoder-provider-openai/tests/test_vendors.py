"""The table of vendors: addresses, keys, and servers on this machine."""

import pytest
from nanocoder import Cancel, Message, ProviderError, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_provider_openai import (
    nanocoder_providers,
    open_provider,
    served_model,
)
from nanocoder_provider_openai.vendors import OPENAI, OTHERS, Vendor, vendor_at
from nanocoder_testing.server import ScriptedServer, events, refusal

ROWS = {row.name: row for row in (OPENAI, *OTHERS)}
END = {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for row in ROWS.values():
        monkeypatch.delenv(row.key_variable, raising=False)
        monkeypatch.delenv(row.address_variable, raising=False)


def ask(provider, **request):
    try:
        return list(provider.stream(Request("", "", [Message("user", "hi")], **request), Cancel()))
    finally:
        provider.close()


@pytest.mark.contract("F1")
@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row.name)
def test_each_vendor_is_asked_at_its_address_with_its_key(row, monkeypatch):
    monkeypatch.setenv(row.key_variable, "sk-1")
    with ScriptedServer(events(END, b"[DONE]")) as server:
        monkeypatch.setenv(row.address_variable, server.url + "/")
        ask(open_provider("m", None, vendor=row), max_tokens=5)
        (seen,) = server.seen
    assert seen.path == f"{row.suffix}/chat/completions"
    assert seen.headers[row.key_header].endswith("sk-1")
    assert seen.json[row.limit_field] == 5
    assert seen.json["model"] == "m"
    assert ("stream_options" in seen.json) is not row.counts_unasked


@pytest.mark.parametrize(
    "copied", ["/chat/completions", "/responses/", "/chat/completions?team=blue"]
)
@pytest.mark.parametrize("name", ["openai", "azure"])
def test_an_address_that_ends_as_that_of_a_request_is_completed_once(monkeypatch, name, copied):
    row = ROWS[name]
    monkeypatch.setenv(row.key_variable, "sk-1")
    with ScriptedServer(events(END, b"[DONE]")) as server:
        monkeypatch.setenv(row.address_variable, f"{server.url}{row.suffix}{copied}")
        ask(open_provider("m", None, vendor=row))
        (seen,) = server.seen
    assert seen.path.partition("?")[0] == f"{row.suffix}/chat/completions"


@pytest.mark.contract("F1")
def test_a_new_vendor_is_one_row(monkeypatch):
    row = Vendor(
        name="acme",
        description="Acme.",
        address="https://acme.invalid/v1",
        address_variable="ACME_BASE_URL",
        key_variable="ACME_API_KEY",
        default_model="acme-1",
    )
    monkeypatch.setattr("nanocoder_provider_openai.OTHERS", (*OTHERS, row))
    spec = nanocoder_providers()[-1]
    assert (spec.name, spec.key_variables) == ("acme", ("ACME_API_KEY",))
    monkeypatch.setenv("ACME_API_KEY", "sk-1")
    with ScriptedServer(events(END, b"[DONE]")) as server:
        monkeypatch.setenv("ACME_BASE_URL", server.url)
        assert ask(spec.open(spec.default_model, None))[-1].text == "ok"
        assert server.seen[0].json["model"] == "acme-1"


@pytest.mark.parametrize("spec", nanocoder_providers(), ids=lambda spec: spec.name)
def test_each_vendor_says_what_to_set(spec):
    row = ROWS[spec.name]
    if row.is_local:
        assert spec.key_variables == ()
        assert spec.hint == f"start it on this machine, or set {row.address_variable}"
        return
    assert spec.key_variables == (row.key_variable,)
    with pytest.raises(ProviderError, match=f"set {row.key_variable}|set {row.address_variable}"):
        spec.open("m", None)


# openrouter/auto costs what the model costs that it chooses.
PRICED = [row for row in ROWS.values() if row.default_model and row.name != "openrouter"]


@pytest.mark.parametrize("row", PRICED, ids=lambda row: row.name)
def test_the_default_model_of_a_vendor_has_a_price(row, monkeypatch):
    monkeypatch.setenv(row.key_variable, "sk-1")
    assert open_provider(row.default_model, None, vendor=row).has_price


def test_a_known_address_of_openai_base_url_is_that_vendor():
    assert vendor_at("https://api.groq.com/openai/v1/").name == "groq"
    assert vendor_at("http://localhost:9/v1").prices == ""


def test_a_gateway_that_names_the_cost_is_believed(monkeypatch):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}
    with ScriptedServer(events(END | {"usage": usage}, b"[DONE]")) as server:
        monkeypatch.setenv("OPENROUTER_BASE_URL", server.url)
        provider = open_provider("m", None, vendor=ROWS["openrouter"])
        assert ask(provider)[-1].usage.cost == 0.25


def test_deepseek_gets_its_reasoning_back(monkeypatch):
    call = {"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}
    delta = {"reasoning_content": "hm", "tool_calls": [call]}
    thought = {"choices": [{"index": 0, "delta": delta}]}
    with ScriptedServer(events(thought, END, b"[DONE]")) as server:
        monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
        provider = open_provider("m", None, vendor=ROWS["deepseek"])
        last = ask(provider)[-1]
    assert last.native["openai"]["message"] == {"reasoning_content": "hm"}


@pytest.mark.contract("F1")
def test_mistral_gets_ids_of_nine_characters(monkeypatch):
    calls = (ToolCall("call_0123456789ab", "x", {}), ToolCall("abcDEF123", "x", {}))
    results = tuple(ToolResult("ok", call_id=call.id) for call in calls)
    history = [Message("user", "hi"), Message("assistant", calls=calls)]
    history.append(Message("tool", results=results))
    with ScriptedServer(events(END, b"[DONE]")) as server:
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)
        provider = open_provider("m", None, vendor=ROWS["mistral"])
        list(provider.stream(Request("", "", history), Cancel()))
        provider.close()
        _, called, *answered = server.seen[0].json["messages"]
    ids = [call["id"] for call in called["tool_calls"]]
    assert [len(call_id) for call_id in ids] == [9, 9]
    assert ids[0].isalnum()
    assert ids[1] == "abcDEF123"
    assert [message["tool_call_id"] for message in answered] == ids


@pytest.mark.contract("F12")
@pytest.mark.parametrize(("names", "expected"), [(["a"], "a"), (["a", "b"], ""), ([], "")])
def test_a_server_on_this_machine_is_found_where_it_usually_listens(names, expected):
    listed = {"data": [{"id": name} for name in names]}
    with ScriptedServer(refusal(200, listed)) as server:
        row = ROWS["vllm"]._replace(address=f"http://localhost:{server.port}")
        assert served_model(row, None) == expected


def test_nothing_is_asked_where_nothing_listens():
    with ScriptedServer(refusal(500)) as server:
        row = ROWS["vllm"]._replace(address=f"http://localhost:{server.port}")
    assert served_model(row, None) == ""


def test_a_named_server_with_several_models_is_asked_about(monkeypatch):
    listed = {"data": [{"id": "a"}, {"id": "b"}]}
    with ScriptedServer(refusal(200, listed)) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        with pytest.raises(ProviderError, match="--model vllm/a, vllm/b"):
            served_model(ROWS["vllm"], None)


def test_the_window_that_a_server_names_is_shown(monkeypatch):
    listed = {"data": [{"id": "q", "meta": {"n_ctx_train": 32768, "n_ctx": 8192}}]}
    with ScriptedServer(refusal(200, listed)) as server:
        monkeypatch.setenv("LLAMACPP_BASE_URL", server.url)
        provider = open_provider("q", None, vendor=ROWS["llamacpp"])
        assert provider.models()[0].context == 8192
        provider.close()


@pytest.mark.contract("F11")
@pytest.mark.contract("F12")
def test_a_small_model_on_this_machine_gets_its_window_and_acts_under_a_schema(monkeypatch):
    meta = {"n_ctx": 8192, "n_ctx_train": 32768, "n_params": 1_777_088_000}
    listed = refusal(200, {"data": [{"id": "m", "meta": meta}]})
    text = {"index": 0, "delta": {"content": '{"action": "look"}'}, "finish_reason": "stop"}
    look = ToolDefinition("look", "Look.", {"type": "object", "properties": {}})
    with ScriptedServer(listed, events({"choices": [text]}, b"[DONE]")) as server:
        monkeypatch.setenv("LLAMACPP_BASE_URL", server.url)
        provider = open_provider("m", None, vendor=ROWS["llamacpp"])
        assert (provider.context, provider.context, provider.profile) == (8192, 8192, "small")
        end = ask(provider, tools=[look])[-1]
        _, asked = server.seen
    assert [call.name for call in end.calls] == ["look"]
    schema = asked.json["response_format"]["json_schema"]["schema"]
    names = [choice["properties"]["action"]["const"] for choice in schema["anyOf"]]
    assert names == ["look", "chat"]
    system = asked.json["messages"][0]["content"]
    assert "look(): Look." in system
    assert all(text.splitlines()[-1] in system for text in provider.tool_texts([look]))
    assert (asked.json["temperature"], asked.json["max_tokens"]) == (0.0, 1_536)
    assert "tools" not in asked.json


@pytest.mark.contract("F11")
def test_a_large_model_and_a_vendor_without_schemas_call_tools(monkeypatch):
    look = ToolDefinition("look", "Look.", {"type": "object", "properties": {}})
    for row, model in ((ROWS["llamacpp"], "qwen3-30b-a3b"), (ROWS["groq"], "llama-3b")):
        monkeypatch.setenv("GROQ_API_KEY", "sk-1")
        with ScriptedServer(events(END, b"[DONE]")) as server:
            monkeypatch.setenv(row.address_variable, server.url)
            provider = open_provider(model, None, vendor=row)
            ask(provider, tools=[look])
            assert not provider.tool_texts([look])
            assert "response_format" not in server.seen[0].json
            assert server.seen[0].json["tools"]


@pytest.mark.contract("F12")
def test_a_server_that_does_not_list_its_models_still_answers(monkeypatch):
    with ScriptedServer(refusal(404), events(END, b"[DONE]")) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        provider = open_provider("m", None, vendor=ROWS["vllm"])
        assert (provider.context, provider.profile) == (0, "full")
        assert ask(provider)[-1].text == "ok"


@pytest.mark.contract("F1")
@pytest.mark.contract("NT-64")
def test_a_token_that_is_renewed_in_its_file_is_used_at_once(monkeypatch, tmp_path):
    token = tmp_path / "token"
    token.touch(mode=0o600)
    monkeypatch.setenv("VERTEX_ACCESS_TOKEN_FILE", str(token))
    with ScriptedServer(events(END, b"[DONE]")) as server:
        monkeypatch.setenv("VERTEX_BASE_URL", server.url)
        token.write_text("first\n")
        provider = open_provider("google/gemini", None, vendor=ROWS["vertex"])
        for text in ("first\n", "second\n"):
            token.write_text(text)
            list(provider.stream(Request("", "", [Message("user", "hi")]), Cancel()))
        provider.close()
        keys = [request.headers["authorization"] for request in server.seen]
    assert keys == ["Bearer first", "Bearer second"]
