"""llama.cpp's own server with the embedded model, asked in every protocol that it speaks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nanocoder import Cancel, Finished, Message, Request, ToolDefinition
from nanocoder_provider_local.locate import is_usable, locate
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("model")]
PROGRAM = Path(__file__).with_name("llama_server.py")
HELLO = Message("user", "Say hello.")
READ = ToolDefinition(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


@pytest.fixture(scope="module")
def address():
    """The address of the server; it ends with the module."""
    if not is_usable(Settings()):
        if os.environ.get("CI") == "true":
            pytest.fail("the weights are not installed: nanocoder-provider-local[weights]")
        pytest.skip("the weights are not installed: nanocoder-provider-local[weights]")
    file = locate(DEFAULT_MODEL, Settings())(lambda *_: None)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(PROGRAM), str(file)], text=True, **pipes) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


def ask(provider, *, tools=(), message=HELLO):
    """Return the end of a short reply."""
    limit = 0 if tools else 8
    request = Request("", "Be brief.", [message], tools, limit, 0.0)
    try:
        end = list(provider.stream(request, Cancel()))[-1]
    finally:
        provider.close()
    assert isinstance(end, Finished)
    return end


@pytest.mark.contract("F12")
@pytest.mark.timeout(120)
def test_the_server_is_found_with_its_model_its_size_and_its_window(address, monkeypatch):
    from nanocoder_provider_openai import open_provider, served_model
    from nanocoder_provider_openai.vendors import OTHERS

    (row,) = [row for row in OTHERS if row.name == "llamacpp"]
    monkeypatch.setenv("LLAMACPP_BASE_URL", f"{address}/v1")
    model = served_model(row, None)
    provider = open_provider(model, None, vendor=row)
    assert model.endswith(".gguf")
    assert (provider.context, provider.profile) == (4096, "small")
    provider.close()


@pytest.mark.contract("F1")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_server_answers_in_both_protocols_of_openai(address, monkeypatch, api):
    from nanocoder_provider_openai import nanocoder_settings, open_provider

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = nanocoder_settings()(base_url=f"{address}/v1", api=api, profile="full")
    end = ask(open_provider("m", settings))
    assert "hello" in end.text.lower()
    assert 0 < end.usage.output_tokens <= 8
    assert end.usage.input_tokens + end.usage.cache_read_tokens > 8


@pytest.mark.contract("F1")
@pytest.mark.timeout(120)
def test_the_server_answers_in_the_protocol_of_anthropic(address, monkeypatch):
    from nanocoder_provider_anthropic import nanocoder_settings, open_provider

    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    end = ask(open_provider("m", nanocoder_settings()(base_url=address, profile="full")))
    assert "hello" in end.text.lower()
    assert 0 < end.usage.output_tokens <= 8


@pytest.mark.contract("F10")
@pytest.mark.contract("F11")
@pytest.mark.timeout(120)
def test_a_small_model_behind_the_server_calls_a_tool_under_a_schema(address, monkeypatch):
    from nanocoder_provider_openai import open_provider
    from nanocoder_provider_openai.vendors import OTHERS

    (row,) = [row for row in OTHERS if row.name == "llamacpp"]
    monkeypatch.setenv("LLAMACPP_BASE_URL", f"{address}/v1")
    provider = open_provider("qwen2.5-coder-1.5b", None, vendor=row)
    end = ask(provider, tools=[READ], message=Message("user", "What does notes.txt say?"))
    assert [(call.name, call.arguments) for call in end.calls] == [
        ("read_file", {"path": "notes.txt"})
    ]
