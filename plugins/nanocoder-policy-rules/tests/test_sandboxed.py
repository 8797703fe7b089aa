"""Commands that run in a sandbox run unasked where a person has set that, and nowhere else."""

import pytest

MAKE = {"command": "make > log 2>&1; $(cat x)"}


@pytest.mark.contract("E1")
@pytest.mark.parametrize(
    ("mode", "sandbox", "sandboxed", "decision"),
    [
        ("ask", "bwrap", "allow", "allow"),
        ("edits", "bwrap", "allow", "allow"),
        ("plan", "bwrap", "allow", "deny"),
        ("ask", "", "allow", "ask"),
        ("ask", "bwrap", "ask", "ask"),
    ],
)
def test_a_command_in_the_sandbox_runs_unasked(judge, mode, sandbox, sandboxed, decision):
    verdict = judge("bash", MAKE, mode, sandbox=sandbox, sandboxed=sandboxed)
    assert verdict.decision == decision
    # It must not run outside after all, should the sandbox fail meanwhile.
    assert verdict.sandbox == (decision == "allow")


@pytest.mark.parametrize(
    ("command", "settings", "decision"),
    [
        ("make", {"deny": ["bash(make *)", "bash(make)"]}, "deny"),
        ("make", {"ask": ["bash(make)"]}, "ask"),
        ("rm -rf /", {}, "deny"),
        ("cat .env", {}, "deny"),
        ("cp x .git/hooks/pre-commit", {}, "ask"),
    ],
)
def test_rules_hold_in_the_sandbox_too(judge, command, settings, decision):
    verdict = judge("bash", {"command": command}, sandbox="bwrap", sandboxed="allow", **settings)
    assert verdict.decision == decision


def test_a_tool_that_starts_no_command_asks_as_before(judge):
    arguments = {"path": "a", "content": ""}
    assert judge("write_file", arguments, sandbox="bwrap", sandboxed="allow").decision == "ask"
