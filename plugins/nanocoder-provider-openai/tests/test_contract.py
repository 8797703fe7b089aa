"""The contract of every plugin, kept by this one, its stream included."""

import pytest
from nanocoder_provider_openai import nanocoder_settings, open_provider
from nanocoder_testing.contract import *  # noqa: F403
from nanocoder_testing.server import ScriptedServer, events


def chunk(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index, identity, name):
    return {"index": index, "id": identity, "function": {"name": name, "arguments": "{}"}}


@pytest.fixture
def contract_provider():
    pieces = [chunk(content="Hel"), chunk(content="lo."), chunk(tool_calls=[call(0, "a", "x")])]
    pieces += [chunk(tool_calls=[call(1, "b", "y")]), chunk("tool_calls"), b"[DONE]"]
    server = ScriptedServer(events(*pieces))
    provider = open_provider("m", nanocoder_settings()(base_url=server.url, max_retries=0))
    yield provider
    provider.close()
    server.close()
