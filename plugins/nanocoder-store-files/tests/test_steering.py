"""What a person typed while the model worked is in the kept session where it was sent."""

import nanocoder_store_files
import pytest
from nanocoder import Effect, tool
from nanocoder_testing import Tools, opened


@tool(risk="safe", effects={Effect.READ})
def look() -> str:
    """Look around."""
    return "nothing"


@pytest.mark.contract("N5")
def test_a_resumed_session_has_what_was_typed_where_it_was_sent(tmp_path, home):
    plugins = {"store-files": nanocoder_store_files, "tools": Tools(look)}
    options = {"plugins": plugins, "environment": {"HOME": str(home)}, "persist": True}
    turns = [[("look", {})], "Done."]
    with opened(tmp_path, turns, **options) as (session, _):
        for event in session.run("go"):
            if event.kind == "call.started":
                session.steer("hurry")
        before, session_id = session.messages, session.id
    with opened(tmp_path, [], resume=session_id, **options) as (session, _):
        after = session.messages
    assert [message.text for message in before if message.role == "user"] == ["go", "hurry"]
    assert [(message.role, message.text) for message in after] == [
        (message.role, message.text) for message in before
    ]
