"""The contract of every plugin, kept by this one, its stream included."""

import pytest
from nanocoder_provider_anthropic import nanocoder_settings, open_provider
from nanocoder_testing.contract import *  # noqa: F403
from nanocoder_testing.server import ScriptedServer, events


def block(index, start, **delta):
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def call(index, identity, name):
    start = {"type": "tool_use", "id": identity, "name": name, "input": {}}
    return block(index, start, type="input_json_delta", partial_json="{}")


@pytest.fixture
def contract_provider(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    pieces = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}},
        *block(0, {"type": "text", "text": ""}, type="text_delta", text="Hello."),
        *call(1, "a", "x"),
        *call(2, "b", "y"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    server = ScriptedServer(events(*pieces))
    provider = open_provider("m", nanocoder_settings()(base_url=server.url, max_retries=0))
    yield provider
    provider.close()
    server.close()
