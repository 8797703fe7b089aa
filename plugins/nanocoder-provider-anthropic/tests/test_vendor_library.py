"""Anthropic's own library reads what our test servers send, and its types accept what we send."""

import json

import anthropic
import pydantic
import pytest
from anthropic.types import message_create_params as params
from nanocoder import Attachment, Message, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_provider_anthropic import nanocoder_settings, open_provider
from nanocoder_testing.server import ScriptedServer, events

TOOL = ToolDefinition("read_file", "Read a file.", {"type": "object", "properties": {}})
FILES = (Attachment("image/png", b"png"), Attachment("application/pdf", b"pdf", "a.pdf"))
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "signed"}
USE = {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "a"}}
HISTORY = [
    Message("user", "look", attachments=FILES),
    Message("assistant", "", (ToolCall("c", "read_file"),), native={"anthropic": [THOUGHT, USE]}),
    Message("tool", results=(ToolResult("A", call_id="c", attachments=FILES[:1]),)),
]


@pytest.mark.contract("NT-65")
@pytest.mark.parametrize("options", [{"effort": "high"}, {"thinking_budget_tokens": 2000}, {}])
def test_the_types_of_the_library_accept_our_request(options):
    settings = nanocoder_settings()(base_url="http://127.0.0.1:9", **options)
    provider = open_provider("m", settings)
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    request = Request("m", "be brief", HISTORY, [TOOL], 9, answer_schema=schema)
    body = json.loads(provider._body(request))
    assert body["output_config"]["format"] == {"type": "json_schema", "schema": schema}
    adapter = pydantic.TypeAdapter(params.MessageCreateParamsStreaming)
    checked = adapter.validate_python(body)
    assert set(checked) == set(body), "a field that the vendor does not know"


@pytest.mark.contract("NT-65")
def test_the_library_reads_our_events():
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 0},
    }
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    use = {"type": "tool_use", "id": "c", "name": "x", "input": {}}
    pieces = [
        (0, thought, [{"type": "thinking_delta", "thinking": "Hm."}]),
        (1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "Hello"}]),
        (2, use, [{"type": "input_json_delta", "partial_json": '{"n": 1}'}]),
    ]
    values = [{"type": "message_start", "message": message}]
    for index, start, deltas in pieces:
        values.append({"type": "content_block_start", "index": index, "content_block": start})
        values += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        values.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    values.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}})
    with ScriptedServer(events(*values, {"type": "message_stop"})) as server:
        with anthropic.Anthropic(base_url=server.url, api_key="sk", max_retries=0) as client:
            question = [{"role": "user", "content": "hi"}]
            with client.messages.stream(model="m", max_tokens=9, messages=question) as stream:
                reply = stream.get_final_message()
        assert server.seen[0].path == "/v1/messages"
    thinking, text, call = reply.content
    assert (thinking.thinking, text.text, call.input) == ("Hm.", "Hello", {"n": 1})
