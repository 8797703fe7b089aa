"""The contract of every plugin, kept by this one."""

import json

import pytest
from nanocoder_provider_replay import Settings
from nanocoder_provider_replay.provider import open_replay
from nanocoder_testing.contract import *  # noqa: F403


@pytest.fixture
def contract_provider(tmp_path):
    calls = [{"id": "1", "name": "a", "arguments": {}}, {"id": "2", "name": "b", "arguments": {}}]
    asked = {"role": "user", "text": "Say hello."}
    messages = [asked, {"role": "assistant", "text": "Hello.", "calls": calls}]
    recording = tmp_path / "run.json"
    data = {"format": 1, "cwd": "/w", "profile": "full", "messages": messages}
    recording.write_text(json.dumps(data))
    return open_replay(str(recording), Settings())
