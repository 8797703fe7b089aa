"""Twenty servers cost a start nothing: no SDK, no process, few tokens."""

import json
import subprocess
import sys
from pathlib import Path

import nanocoder_mcp
import nanocoder_tool_search
import pytest
from nanocoder_mcp import records
from nanocoder_mcp.definitions import listing_of
from nanocoder_mcp.records import Record, launch_digest
from nanocoder_mcp.server import server_of
from nanocoder_mcp.settings import Settings
from nanocoder_schema import canonical_json
from nanocoder_testing import opened

SLOW = ("mcp", "mcp_types", "pydantic", "jsonschema_rs", "asyncio", "cattrs", "anyio", "httpx2")
MOST_TOKENS = 1_500
PROPERTIES = {"path": {"type": "string", "description": "A path of the repository."}}
TEXT = "Read, and change, what is there. " * 10
RAW = [
    {
        "name": f"{verb}_{what}",
        "description": TEXT,
        "inputSchema": {"type": "object", "properties": PROPERTIES, "required": ["path"]},
    }
    for verb, what in (("list", "issues"), ("get", "issue"), ("search", "code"), ("merge", "pull"))
]
NAMES = [f"server{number:02}" for number in range(20)]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Return twenty servers that were reviewed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    tables = {name: {"command": ["/bin/false", name]} for name in NAMES}
    for name, table in tables.items():
        server = server_of(name, table)
        tools = tuple(listing_of(name, RAW).tools)
        records.write(server, Record(launch_digest(server), tools))
    return tables


@pytest.mark.contract("I24")
def test_a_start_with_twenty_servers_imports_nothing_for_them(tables, tmp_path):
    config = tmp_path / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "".join(
            f"[plugins.mcp.servers.{name}]\ncommand = {json.dumps(table['command'])}\n"
            for name, table in tables.items()
        )
    )
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "done"}]}))
    program = f"""
import sys
from nanocoder import open_session
with open_session({str(tmp_path)!r}, model="scripted/{script}", persist=False) as session:
    list(session.run("hi"))
    print(len([name for name in session.tools if name.startswith("mcp_")]))
print(sorted(set({SLOW!r}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "PATH": "/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["80", "[]"], done.stderr


@pytest.mark.contract("I24")
def test_twenty_servers_take_few_tokens_of_the_first_request(tables, tmp_path):
    from nanocoder import count_tokens

    def tokens(**servers):
        plugins = {"mcp": nanocoder_mcp, "tool-search": nanocoder_tool_search}
        chosen = {"mcp": Settings(servers)}
        with opened(Path(tmp_path), [{"text": "x"}], plugins=plugins, settings=chosen) as (
            session,
            model,
        ):
            list(session.run("hi"))
            wire = [
                {"name": each.name, "description": each.description, "parameters": each.parameters}
                for each in model.requests[0].tools
            ]
        return count_tokens(canonical_json(wire))

    assert tokens(**tables) - tokens() <= MOST_TOKENS
