"""The inspector of the protocol's authors as a client of `nanocoder mcp serve`."""

import json
import subprocess

import pytest
from command_line import COMMAND
from served_http import TOKEN, served

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(400),
    pytest.mark.needs("node", "npm"),
    pytest.mark.contract("I25"),
]
CALL = ("--method", "tools/call", "--tool-name")
RULES = '[plugins.policy-rules]\ndeny = ["read_file(private/**)"]\n'


@pytest.fixture
def inspect(nanocoder, foreign):
    """Return a function that runs the inspector's command line in the workspace."""
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(RULES)
    (nanocoder.cwd / "a.txt").write_text("hello\n")
    variables = {**nanocoder.environment, "PATH": foreign.path}

    def run(*words):
        printed = nanocoder.home / "printed.json"
        # A file, because Node may end before everything has gone through a pipe.
        with printed.open("w") as stdout:
            done = subprocess.run(
                [foreign["mcp-inspector"], "--cli", *words],
                cwd=nanocoder.cwd,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )
        return done, json.loads(printed.read_text() or "null")

    return run


def test_the_inspector_lists_and_calls_over_standard_streams(inspect, nanocoder):
    serve = (COMMAND, "mcp", "serve")
    done, listed = inspect(*serve, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr  # its own check of the schemas, too
    names = {tool["name"] for tool in listed["tools"]}
    assert {"read_file", "edit_file", "grep", "bash"} <= names
    _, read = inspect(*serve, *CALL, "read_file", "--tool-arg", "path=a.txt")
    assert (read["isError"], read["content"][0]["text"]) == (False, "1\thello")
    _, denied = inspect(*serve, *CALL, "read_file", "--tool-arg", "path=private/a")
    assert denied["isError"]
    assert "private/**" in denied["content"][0]["text"]


def test_the_inspector_calls_over_http(inspect, nanocoder):
    with served([COMMAND], "read_file", nanocoder.cwd, nanocoder.environment) as address:
        at = (address, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}")
        _, listed = inspect(*at, "--method", "tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["read_file"]
        _, read = inspect(*at, *CALL, "read_file", "--tool-arg", "path=a.txt")
        assert (read["isError"], read["content"][0]["text"]) == (False, "1\thello")
        stranger, _ = inspect(address, "--transport", "http", "--method", "tools/list")
        assert stranger.returncode != 0
