"""A command that failed because of its sandbox gets one line that says what can be set."""

from pathlib import Path

import pytest
from nanocoder import ToolResult
from nanocoder_kit_sandbox import Settings
from nanocoder_kit_sandbox.hints import with_hint

HOME = str(Path.home())
WITHOUT_NETWORK = (
    "curl: (6) Could not resolve host: example.org",
    "npm error request to https://registry failed, reason: getaddrinfo EAI_AGAIN registry",
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "error sending request: dns error: failed to lookup address information",
    "ssh: connect to host 10.0.0.1 port 22: Network is unreachable",
    "go: dial tcp: lookup proxy on 127.0.0.53:53: read: connection refused",
)


def hint(output, settings=None, exit_code=1, name="sandbox-bwrap"):
    result = ToolResult(output, data={"exit_code": exit_code}, is_error=bool(exit_code))
    changed = with_hint(result, name, settings or Settings())
    if changed is None:
        return ""
    assert changed.data == result.data
    first, _, line = changed.output.rpartition("\n")
    assert first == output
    return line


@pytest.mark.parametrize("output", WITHOUT_NETWORK)
def test_a_missing_network_is_said(output):
    assert hint(output) == (
        "[commands run in a sandbox without a network; a person can set `hosts`, or"
        " `network = true`, in [plugins.sandbox-bwrap]]"
    )
    assert "`hosts`" not in hint(output, name="sandbox-landlock")
    assert hint(output, Settings(network=True)) == ""
    assert hint(output, exit_code=0) == ""


def test_a_host_that_is_not_on_the_list_is_said():
    output = "'b.test' is not among the hosts that the settings allow"
    assert "a person can name more" in hint(output, Settings(hosts=("a.test",)))


@pytest.mark.parametrize(
    ("output", "path"),
    [
        (
            f"failed to open {HOME}/.cache/uv/x: Read-only file system",
            ".cache/uv",
        ),
        (f"npm error code EROFS: mkdir '{HOME}/.npm/_cacache'", ".npm"),
        (f"mkdir: cannot create directory '{HOME}/.cargo/registry': Permission denied", ".cargo"),
    ],
)
def test_a_cache_that_cannot_be_written_is_said(output, path):
    assert f'`writable = ["~/{path}"]` in [plugins.sandbox-bwrap]' in hint(output)


@pytest.mark.parametrize(
    "output", ["1 failed", f"{HOME}/.cache/uv is there", f"{HOME}/.ssh/x: Permission denied", ""]
)
def test_another_failure_gets_no_line(output):
    assert hint(output) == ""


def test_a_result_without_a_command_gets_no_line():
    assert with_hint(ToolResult("Network is unreachable"), "sandbox-bwrap", Settings()) is None
