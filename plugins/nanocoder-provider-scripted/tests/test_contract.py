"""The contract of every plugin, kept by this one."""

import json

import pytest
from nanocoder_provider_scripted import open_scripted
from nanocoder_testing.contract import *  # noqa: F403


@pytest.fixture
def contract_provider(tmp_path):
    calls = [{"name": "a"}, {"name": "b", "arguments": {"x": 1}}]
    script = tmp_path / "turns.json"
    script.write_text(json.dumps({"turns": [{"text": "Hello.", "deltas": 3, "calls": calls}]}))
    return open_scripted(str(script), None)
