"""Google's own library reads what our test servers send, and its types accept what we send."""

import json

import pytest
from google import genai
from google.genai import types
from nanocoder import Attachment, Message, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.models import Model
from nanocoder_provider_google import nanocoder_settings, open_provider
from nanocoder_testing.server import ScriptedServer, events

TOOL = ToolDefinition("read_file", "Read a file.", {"type": "object", "properties": {}})
IMAGE = Attachment("image/png", b"png")
HISTORY = [
    Message("user", "look", attachments=(IMAGE,)),
    Message("assistant", "I look.", (ToolCall("c", "read_file", {"path": "a"}),)),
    Message("tool", results=(ToolResult("A", call_id="c", attachments=(IMAGE,)),)),
]


def camel(model):
    return json.loads(model.model_dump_json(by_alias=True, exclude_none=True))


@pytest.mark.contract("NT-65")
def test_the_types_of_the_library_accept_our_request():
    settings = nanocoder_settings()(base_url="http://127.0.0.1:9", thinking_level="low")
    provider = open_provider("m", settings)
    request = Request("m", "be brief", HISTORY, [TOOL], 9, 0.5)
    body = json.loads(provider._body(request, Model("m", abilities=("thinking",))))
    for content in body["contents"]:
        assert camel(types.Content.model_validate(content)).keys() == content.keys()
    assert types.Content.model_validate(body["systemInstruction"]).parts[0].text == "be brief"
    (tool,) = body["tools"]
    assert camel(types.Tool.model_validate(tool)) == tool
    options = types.GenerateContentConfig.model_validate(body["generationConfig"])
    assert options.thinking_config.include_thoughts is True
    assert (options.max_output_tokens, options.temperature) == (9, 0.5)


@pytest.mark.contract("NT-65")
def test_the_library_reads_our_chunks():
    call = {"functionCall": {"id": "c1", "name": "x", "args": {"n": 1}}, "thoughtSignature": "c2ln"}
    content = {"role": "model", "parts": [{"text": "Hello"}, call]}
    answer = events({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})
    with ScriptedServer(answer) as server:
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        with genai.Client(api_key="AIza1", http_options=options) as client:
            (chunk,) = client.models.generate_content_stream(model="m", contents="hi")
        assert server.seen[0].path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    text, function = chunk.candidates[0].content.parts
    assert text.text == "Hello"
    assert (function.function_call.name, function.thought_signature) == ("x", b"sig")
