"""What `/mcp` shows: the servers as they are now, and the names of tools that are left out."""

import json
from types import SimpleNamespace

from nanocoder import SessionInfo
from nanocoder_mcp import chat, records
from nanocoder_mcp.chat import Chat
from nanocoder_mcp.project_file import ProjectFile
from nanocoder_mcp.records import Record, launch_digest
from nanocoder_mcp.server import server_of
from nanocoder_mcp.settings import Settings


def test_what_was_trusted_in_another_terminal_is_seen(place, monkeypatch):
    table = {"command": "python3", "args": ["server.py"]}
    (place.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": table}}))
    trusted = SimpleNamespace(trusted_folder=None)
    monkeypatch.setattr(chat, "Config", SimpleNamespace(load=lambda _cwd: trusted))
    shown = Chat(SessionInfo("s", place.workspace), Settings())
    assert "do not count until you trust them" in shown.rows("mcp")[-1][0]
    ProjectFile.of(place.workspace).accept()
    trusted.trusted_folder = place.workspace
    assert shown.rows("mcp")[1][:2] == ("shop", "not reviewed")


def test_tools_that_are_left_out_are_named_with_the_reason(place):
    table = {"command": "python3", "args": ["server.py"]}
    server = server_of("shop", table)
    why = "it has more than 200 tools"
    left_out = {f"t{number}": why for number in range(200, 500)} | {"odd": "its name is no text"}
    records.write(server, Record(launch_digest(server), left_out=left_out))
    rows = Chat(SessionInfo("s", place.workspace), Settings({"shop": table})).rows("mcp")
    texts = [row[0] for row in rows if len(row) == 1]
    assert texts[0].startswith("shop: 300 tools left out (t200, t201, t202,")
    assert texts[0].endswith(f"…): {why}")
    assert texts[1] == "shop: 1 tool left out (odd): its name is no text"
