"""Calls that a model writes as text."""

from types import SimpleNamespace

import pytest
from nanocoder import Finished, hookimpl, tool
from nanocoder_kit_http import refuse_written_call
from nanocoder_testing import Scripted, play


@tool(effects={"read"}, risk="safe")
def look(at: str = "") -> str:
    """Look."""
    return at


TOOLS = {"tools": SimpleNamespace(nanocoder_tools=hookimpl(lambda: [look]))}

WRITTEN = [
    '<tool_call>{"name": "look", "arguments": {"at": "a"}}</tool_call>',
    'I look at it.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
    '```json\n{"tool": "look", "parameters": {"at": "a"}}\n```',
    '{"name": "look", "arguments": {"at": "a"}}',
    '[{"type": "function", "function": {"name": "look", "arguments": "{}"}}]',
    "<function=look>\n<parameter=at>\na\n</parameter>\n</function>",
]


class Written(Scripted):
    """Replies as they come from `read_reply`."""

    def stream(self, request, cancel):
        for piece in super().stream(request, cancel):
            is_end = isinstance(piece, Finished)
            yield refuse_written_call(piece, request) if is_end else piece


@pytest.mark.finding("B11")
@pytest.mark.parametrize("text", WRITTEN)
def test_a_call_that_comes_as_text_is_told_once_and_then_the_run_fails(tmp_path, text):
    model = Written([text, [("look", {})], "Done."])
    played = play(tmp_path, [], plugins=TOOLS, model=model)
    assert (played.report["stop_reason"], played.text) == ("done", "Done.")
    (told,) = model.requests[1].messages[-1].results
    assert told.is_error
    assert "you wrote a call of look as text" in told.output
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text, text]))
    assert (played.report["stop_reason"], played.report["turns"]) == ("provider_error", 2)
    assert "profile" in played.report["error"]["message"]


@pytest.mark.finding("B11")
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "acme", "version": 1}',
        '{"name": "look"}',
        'Use {"name": "look", "arguments": {}} to look.',
        '```json\n{"name": "other", "arguments": {}}\n```',
        "A tool call is written <tool_call>like this</tool_call>.",
    ],
)
def test_json_that_is_no_call_is_an_answer(tmp_path, text):
    played = play(tmp_path, [], plugins=TOOLS, model=Written([text]))
    assert (played.report["stop_reason"], played.text) == ("done", text)
