"""Streams of vendors and servers, as their documentation shows them, pass through each provider.

Each plugin of a provider keeps its own in `tests/streams`: a head in JSON that says whom to ask and
what has to come out, a line of three dashes, and the bytes of the reply.
"""

import json
from importlib.metadata import entry_points

import pytest
import repository
from nanocoder import (
    Cancel,
    Finished,
    Message,
    ProviderError,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    ToolResult,
)
from nanocoder_testing.server import Answer, ScriptedServer, refusal

FILES = sorted(repository.ROOT.glob("plugins/*/tests/streams/*.txt"))
LEAST = 12
"""So many vendors and servers there are at least."""
NAMES = ("bash", "get_weather", "grep", "list_files", "read_file")
ANYTHING = {"type": "object", "properties": {}}
TOOLS = tuple(ToolDefinition(name, "Do it.", ANYTHING) for name in NAMES)
QUESTION = Message("user", "Do it.")
BYTES_AT_ONCE = (1, 7, 1 << 20)


def recording(path):
    """Return the head of a recording, and its bytes."""
    head, _, body = path.read_bytes().partition(b"\n---\n")
    return json.loads(head), body


def opened(head, url, monkeypatch):
    """Return the provider of a recording, which asks the server at *url*."""
    for name, value in head["environment"].items():
        monkeypatch.setenv(name, value.replace("{url}", url))
    for entry_point in sorted(entry_points(group="nanocoder"), key=lambda each: each.name):
        if entry_point.name.startswith("provider-"):
            plugin = entry_point.load()
            for spec in getattr(plugin, "nanocoder_providers", list)():
                if spec.name == head["provider"]:
                    settings = plugin.nanocoder_settings()(
                        max_retries=0, **head.get("settings", {})
                    )
                    return spec.open(head["model"], settings)
    raise LookupError(head["provider"])


def answer_of(body, size):
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return Answer(pieces, headers={"content-type": ""}, framing="close")


def asked(provider, *messages):
    """Return what came of one request, in the words of a recording's head, and the reply."""
    parts, end = {TextDelta: "", ThinkingDelta: ""}, None
    try:
        for piece in provider.stream(Request("", "", [QUESTION, *messages], TOOLS), Cancel()):
            if isinstance(piece, TextDelta | ThinkingDelta):
                parts[type(piece)] += piece.text
            elif isinstance(piece, Finished):
                end = piece
    except ProviderError as error:
        return {"end": f"failed: {error}", "kind": error.kind}, None
    usage, ending = end.usage, "cut" if end.truncated else "done"
    counts = [usage.input_tokens, usage.output_tokens]
    return {
        "thinking": parts[ThinkingDelta].strip(),
        "text": end.text,
        "calls": [[call.name, dict(call.arguments)] for call in end.calls],
        "usage": [*counts, usage.cache_read_tokens, usage.cache_write_tokens],
        "end": "refused" if end.refusal else ending,
        "cost": usage.cost,
    }, end


def test_there_are_recordings_of_many_vendors_and_servers():
    names = {path.stem.partition("-")[0] for path in FILES}
    assert len(names) >= LEAST, sorted(names)


@pytest.mark.rows(35)
@pytest.mark.parametrize("size", BYTES_AT_ONCE)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_stream_says_the_same_through_its_provider(path, size, monkeypatch):
    head, body = recording(path)
    before = [refusal(200, value) for value in head.get("before", ())]
    with ScriptedServer(*before, answer_of(body, size)) as server:
        provider = opened(head, server.url, monkeypatch)
        result, end = asked(provider)
        expected = head["expect"]
        if expected["end"].startswith("failed: "):
            assert expected["end"].removeprefix("failed: ") in result["end"]
            assert expected.get("kind", result["kind"]) == result["kind"]
        else:
            compared = {name: result[name] for name in expected if expected[name] is not None}
            assert compared == {name: expected[name] for name in compared}
            sends_back(head, provider, end, server)
        provider.close()


def sends_back(head, provider, end, server):
    """Check what the next request has of the reply."""
    results = tuple(ToolResult("ok", call_id=call.id) for call in end.calls)
    native = json.loads(json.dumps(end.native))  # the journal keeps it as JSON
    spoken = Message("assistant", end.text, end.calls, native=native)
    asked(provider, spoken, *([Message("tool", results=results)] if results else [QUESTION]))
    sent = server.seen[-1].body.decode()
    for words in head.get("sent_back", ()):
        assert words in sent
    for words in head.get("not_sent_back", ()):
        assert words not in sent
