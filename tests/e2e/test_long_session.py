"""A day in one conversation: thousands of turns against a server with a small window."""

from itertools import pairwise

import nanocoder_compact_trim
import pytest
from nanocoder import (
    Effect,
    Finished,
    Plugins,
    ProviderError,
    ToolCall,
    encode_message,
    hookimpl,
    message_tokens,
    open_session,
    tool,
)
from nanocoder_kit_sessions import testing
from nanocoder_testing import Scripted

TURNS, WINDOW = 2_000, 32_768


@tool(risk="safe", effects={Effect.READ})
def look(at: int) -> str:
    """Look there."""
    return f"at {at}: " + "stone " * 200


class Looking:
    @hookimpl
    def nanocoder_tools(self):
        return [look]


class Server(Scripted):
    """Asks for one call after the other, and refuses what does not fit its window."""

    def __init__(self):
        super().__init__([], context=WINDOW)
        self.left, self.largest = TURNS, 0

    def stream(self, request, _cancel):
        size = sum(map(message_tokens, request.messages))
        self.largest = max(self.largest, size)
        if size > WINDOW:
            raise ProviderError("too long", kind="context_overflow")
        assert pairs_are_whole(request.messages)
        self.left -= 1
        call = ToolCall(f"c{self.left}", "look", {"at": self.left})
        yield Finished("", (call,)) if self.left else Finished("Done.")


def pairs_are_whole(messages):
    return all(
        [call.id for call in message.calls] == [result.call_id for result in after.results]
        for message, after in pairwise(messages)
    )


@pytest.mark.contract("G5")
@pytest.mark.timeout(300)
@pytest.mark.full
def test_two_thousand_turns_fit_a_window_of_32k_and_resume_as_they_were(tmp_path):
    server, plugins = Server(), Plugins()
    plugins.add(nanocoder_compact_trim, "compact-trim")
    plugins.add(Looking(), "looking")
    plugins.add(testing, "files")
    plugins.add(server, "script")
    options = {"plugins": plugins, "environment": {"HOME": str(tmp_path)}, "model": "script"}
    with open_session(tmp_path, max_turns=TURNS + 1, **options) as session:
        compacted = [event for event in session.run("go") if event.kind == "transcript.compacted"]
        assert session.report.text == "Done."
        assert session.report.turns == TURNS
        messages = list(map(encode_message, session.messages))
    assert len(compacted) > 10
    assert 0.6 * WINDOW < server.largest < 0.85 * WINDOW
    with open_session(tmp_path, resume=session.id, **options) as again:
        assert list(map(encode_message, again.messages)) == messages
