"""The conformance suite of providers."""

import pytest
from nanocoder_provider_anthropic import nanocoder_settings, open_provider
from nanocoder_testing.provider_contract import *  # noqa: F403
from nanocoder_testing.provider_wire import Wire
from nanocoder_testing.server import data

STOPS = {"done": "end_turn", "length": "max_tokens", "refusal": "refusal"}


class Messages(Wire):
    def open(self, address, retries):
        settings = nanocoder_settings()(base_url=address, max_retries=retries)
        return open_provider("m", settings)

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
