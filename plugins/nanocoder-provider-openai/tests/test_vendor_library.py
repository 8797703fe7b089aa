"""OpenAI's own library reads what our test servers send, and its types accept what we send.

The other way round our tests would only show that we agree with ourselves.
"""

import json

import openai
import pydantic
import pytest
from nanocoder import Attachment, Message, Request, ToolCall, ToolDefinition, ToolResult
from nanocoder_kit_llm.models import Model
from nanocoder_provider_openai import nanocoder_settings
from nanocoder_provider_openai.chat import ChatWire
from nanocoder_provider_openai.responses import ResponsesWire
from nanocoder_provider_openai.vendors import OPENAI
from nanocoder_testing.server import ScriptedServer, events
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params

TOOL = ToolDefinition(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": False},
)
IMAGE = Attachment("image/png", b"png")
PDF = Attachment("application/pdf", b"pdf", "a.pdf")
HISTORY = [
    Message("user", "look", attachments=(IMAGE, PDF)),
    Message("assistant", "I look.", (ToolCall("call_1", "read_file", {"path": "a"}),)),
    Message("tool", results=(ToolResult("A", call_id="call_1", attachments=(IMAGE,)),)),
    Message("assistant", "Done."),
]
SETTINGS = {"reasoning_effort": "high", "strict_tools": True}


def sent(wire, model):
    request = Request("m", "be brief", HISTORY, [TOOL], 9, 0.5, "session")
    return json.loads(wire(OPENAI, nanocoder_settings()(**SETTINGS)).body(request, model))


@pytest.mark.contract("NT-65")
def test_the_types_of_chat_completions_accept_our_request():
    body = sent(ChatWire, Model("m"))
    adapter = pydantic.TypeAdapter(chat_params.CompletionCreateParamsStreaming)
    checked = adapter.validate_python(body)
    assert set(checked) == set(body), "a field that the vendor does not know"


@pytest.mark.contract("NT-65")
def test_the_types_of_responses_accept_our_request():
    body = sent(ResponsesWire, Model("m"))
    adapter = pydantic.TypeAdapter(responses_params.ResponseCreateParamsStreaming)
    checked = adapter.validate_python(body)
    assert set(checked) == set(body), "a field that the vendor does not know"


def client(server):
    return openai.OpenAI(base_url=server.url, api_key="sk-1", max_retries=0)


@pytest.mark.contract("NT-65")
def test_the_library_reads_our_chunks():
    def chunk(finish=None, **delta):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**head, "choices": [choice]}

    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "x", "arguments": "{}"},
    }
    answer = events(
        chunk(content="Hel"), chunk(content="lo"), chunk("tool_calls", tool_calls=[call]), b"[DONE]"
    )
    with ScriptedServer(answer) as server, client(server) as vendor:
        messages = [{"role": "user", "content": "hi"}]
        stream = vendor.chat.completions.create(model="m", messages=messages, stream=True)
        deltas = [chunk.choices[0].delta for chunk in stream]
    assert "".join(delta.content or "" for delta in deltas) == "Hello"
    assert deltas[-1].tool_calls[0].function.name == "x"


@pytest.mark.contract("NT-65")
def test_the_library_reads_our_events_of_responses():
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
    }
    values = [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**message, "content": []},
        },
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "item_id": "msg_1",
            "delta": "Hello",
            "logprobs": [],
        },
        {"type": "response.output_item.done", "output_index": 0, "item": message},
    ]
    numbered = [{**value, "sequence_number": index} for index, value in enumerate(values)]
    with ScriptedServer(events(*numbered)) as server, client(server) as vendor:
        got = list(vendor.responses.create(model="m", input="hi", stream=True))
    assert [event.type for event in got] == [value["type"] for value in values]
    assert (got[1].delta, got[2].item.content[0].text) == ("Hello", "Hello")
