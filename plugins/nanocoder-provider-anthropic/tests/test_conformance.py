"""The conformance suite of providers."""

import anthropic
import pytest
from nanocoder_provider_anthropic import nanocoder_settings, open_provider
from nanocoder_testing.provider_contract import *  # noqa: F403
from nanocoder_testing.provider_wire import VendorReply, Wire
from nanocoder_testing.server import data

STOPS = {"done": "end_turn", "length": "max_tokens", "refusal": "refusal"}


class Messages(Wire):
    def open(self, address, retries):
        settings = nanocoder_settings()(base_url=address, max_retries=retries)
        return open_provider("m", settings)

    def vendor_reply(self, address):
        text, calls = "", {}
        question = [{"role": "user", "content": "hi"}]
        with (
            anthropic.Anthropic(base_url=address, api_key="sk", max_retries=0) as client,
            client.messages.create(
                model="m", max_tokens=9, messages=question, stream=True
            ) as events,
        ):
            for event in events:
                if event.type == "message_start":
                    usage = event.message.usage
                elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                    calls[event.index] = (event.content_block.name, "")
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    text += event.delta.text
                elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    name, arguments = calls[event.index]
                    calls[event.index] = (name, arguments + event.delta.partial_json)
                elif event.type == "message_delta":
                    output = event.usage.output_tokens
        read = usage.input_tokens + usage.cache_read_input_tokens
        return VendorReply(text, [*calls.values()], read, output)

    def pieces(self, reply):
        usage = {
            "input_tokens": reply.input_tokens - reply.cached_tokens,
            "cache_read_input_tokens": reply.cached_tokens,
        }
        blocks = []
        if reply.thinking:
            deltas = [{"type": "thinking_delta", "thinking": reply.thinking}]
            deltas.append({"type": "signature_delta", "signature": "signed"})
            blocks.append(({"type": "thinking", "thinking": ""}, deltas))
        if reply.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in reply.text]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in reply.calls:
            start = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
            half = len(call.arguments) // 2
            pieces = (call.arguments[:half], call.arguments[half:])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            blocks.append((start, deltas))
        events = [{"type": "message_start", "message": {"id": "m", "usage": usage}}]
        for index, (start, deltas) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events += [
                {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
            ]
            if reply.end != "length" or index < len(blocks) - 1:
                events.append({"type": "content_block_stop", "index": index})
        stop = {"stop_reason": STOPS[reply.end]}
        end = {
            "type": "message_delta",
            "delta": stop,
            "usage": {"output_tokens": reply.output_tokens},
        }
        return [data(event) for event in [*events, end, {"type": "message_stop"}]]


@pytest.fixture
def provider_wire(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    return Messages()
