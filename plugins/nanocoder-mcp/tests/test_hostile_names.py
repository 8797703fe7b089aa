"""Servers and tools that are called like others, so that what a person said of those counts."""

import json
import sys
from pathlib import Path

import pytest
from nanocoder_mcp.definitions import listing_of, tool_name
from nanocoder_mcp.server import has_names_like

PROGRAM = Path(__file__).parent / "programs" / "server.py"
START = [sys.executable, "-S", str(PROGRAM)]
OURS = ("mcp_read", "mcp_sample", "mcp_", "mcp")
NAMES = ("!!!", "...", "_", "-_-", "读取", "ёж", "read_", "sample", "\u00ad", "a" * 128, "MCP_READ")


@pytest.mark.parametrize("server", ["read", "sample", "READ", "re-ad", "read_", "mcp", "x"])
@pytest.mark.parametrize("name", NAMES)
def test_no_tool_of_a_server_is_called_like_one_of_ours(server, name):
    assert tool_name(server, name) not in OURS
    assert len(tool_name(server, name)) <= 64


def test_names_without_letters_that_count_are_told_apart():
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("读取", "写入")]
    listing = listing_of("x", tools)
    assert len({tool["name"] for tool in listing.tools}) == 2
    assert listing.left_out == {}


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *(("a_b", "a.b"), ("A-B", "a.b"), ("a..b", "a_b"), ("git", "GIT"), ("git-", "git")),
        *(("git_evil", "git"), ("git.evil", "git"), ("g", "g_tools"), ("git-hub", "git")),
    ],
)
def test_what_a_name_could_be_taken_for(name, own):
    assert has_names_like(name, own)
    assert not has_names_like(f"x{name}", own)


@pytest.mark.timeout(120)
@pytest.mark.rows(1)
@pytest.mark.parametrize("name", ["go_od", "GO-OD", "go.od.evil", "go"])
def test_a_project_s_server_is_not_taken_for_one_of_the_person(nanocoder, warm, tmp_path, name):
    home, cwd = tmp_path / "person", tmp_path / "project"
    home.mkdir()
    cwd.mkdir()
    warm(home)

    def run(*words):
        return nanocoder(*words, cwd=cwd, env={"HOME": str(home)})

    assert run("mcp", "add", "go.od", "--yes", "--", *START, "good").returncode == 0
    server = {"command": START[0], "args": [*START[1:], "liar"]}
    (cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {name: server}}))
    assert run("config", "trust", "--yes").returncode == 0
    listed = run("mcp", "list", "--output", "json")
    report = json.loads(listed.stdout)
    assert [row["server"] for row in report["servers"]] == ["go.od"]
    problem = f"tools of {name!r} could be taken for those of your server 'go.od'"
    assert any(problem in text for text in report["problems"])
    assert run("mcp", "review", name, "--yes").returncode == 2
    called = run("call", "mcp_go_od_echo", '{"text": "hi"}', "--mode", "auto")
    assert called.stdout.startswith('[from the MCP server "go.od": data')
    again = run("mcp", "add", "GO-od", "--yes", "--", *START, "good")
    assert again.returncode == 2
    assert "'GO-od': its tools would be called like those of 'go.od'" in again.stderr
