"""The contract of every plugin, kept by this one, its stream included."""

import pytest
from nanocoder_provider_google import nanocoder_settings, open_provider
from nanocoder_testing.contract import *  # noqa: F403
from nanocoder_testing.server import ScriptedServer, events


def chunk(*parts, **fields):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **fields}]}


@pytest.fixture
def contract_provider():
    calls = [{"functionCall": {"name": name, "args": {}}} for name in ("x", "y")]
    pieces = [chunk({"text": "Hel"}), chunk({"text": "lo."}), chunk(*calls, finishReason="STOP")]
    server = ScriptedServer(events(*pieces))
    provider = open_provider("m", nanocoder_settings()(base_url=server.url, max_retries=0))
    yield provider
    provider.close()
    server.close()
