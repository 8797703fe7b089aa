"""The contract of every plugin, kept by this one, its stream included."""

import json

import pytest
from nanocoder_provider_ollama import nanocoder_settings, open_provider
from nanocoder_testing.contract import *  # noqa: F403
from nanocoder_testing.server import Answer, ScriptedServer, refusal


@pytest.fixture
def contract_provider():
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("x", "y")]
    lines = [
        {"message": {"role": "assistant", "content": "Hel"}, "done": False},
        {"message": {"role": "assistant", "content": "lo.", "tool_calls": calls}, "done": False},
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    pieces = [json.dumps(line).encode() + b"\n" for line in lines]
    server = ScriptedServer(refusal(200, {"capabilities": ["tools"]}), Answer(pieces))
    provider = open_provider("m", nanocoder_settings()(base_url=server.url, max_retries=0))
    yield provider
    provider.close()
    server.close()
