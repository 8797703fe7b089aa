"""What a model is told where the sandbox refused something: one next step."""

from pathlib import Path

import pytest
from nanocoder import Mode, SessionInfo, ToolCall, ToolResult
from nanocoder_policy_rules import Settings, nanocoder_after_execute


def hint(tools, output, mode="ask", *, is_error=True, sandbox="bwrap", typed=False, **more):
    facts = {"answered": more.pop("answered", True), "find_sandbox": lambda: sandbox}
    session = SessionInfo("s", Path("/w"), Mode(mode), **facts)
    metadata = more.pop("metadata", {})
    result = ToolResult(output, is_error=is_error, metadata=metadata)
    call = ToolCall("1", "bash", {"command": "x", **more}, typed=typed)
    told = nanocoder_after_execute(result, call, tools["bash"], session, Settings())
    return "" if told is None else told.output.removeprefix(output).strip()


NO_HOST = "curl: (6) Could not resolve host: index.example.org"
READ_ONLY = "touch: cannot touch 'a': Read-only file system"

NO_OBJECT = "STDERR:\nfatal: unable to read e22c18e2cf5f6358e8e3618a8cbcafac7f06c2bc\n"


@pytest.mark.parametrize(
    ("output", "mode", "more", "expected"),
    [
        (NO_HOST, "ask", {}, "by `hosts` or `network` in [plugins.sandbox-bwrap]"),
        (NO_HOST, "auto", {}, 'access="outside"'),
        ("npm error getaddrinfo EAI_AGAIN npm.example.org", "auto", {}, "no network"),
        ("lookup a.example.org on 10.0.0.1:53: read udp: refused", "auto", {}, "no network"),
        (
            READ_ONLY,
            "ask",
            {},
            'a rule denies: to change files, call again with access="write"',
        ),
        (
            READ_ONLY,
            "edits",
            {},
            "lets only the workspace be written, but for protected names",
        ),
        (READ_ONLY, "ask", {}, 'for paths elsewhere with access="outside" and a reason'),
        ("touch: cannot touch 'a': Permission denied", "edits", {}, "but for protected names"),
        (NO_HOST, "ask", {"is_error": False}, "no network"),
        (NO_HOST, "ask", {"sandbox": "landlock"}, "in [plugins.sandbox-landlock]"),
        ("ERROR: No matching distribution found for six2x", "edits", {}, "no network"),
        (
            "curl: (7) Failed to connect to 127.0.0.1 port 80: Connection refused",
            "edits",
            {},
            "no network but to servers of this session",
        ),
        (READ_ONLY, "ask", {"access": "write"}, 'access="outside" and a reason'),
        (READ_ONLY, "plan", {}, "plan mode changes nothing"),
        *((NO_OBJECT, mode, {}, "secret files: leave these files") for mode in ("plan", "edits")),
        (
            "",
            "ask",
            {"metadata": {"undone": 1}},
            "keeps nothing that this command changed: to change files, call",
        ),
    ],
)
def test_the_next_step_is_named(tools, output, mode, more, expected):
    assert expected in hint(tools, output, mode, **more)


@pytest.mark.parametrize(
    ("output", "more"),
    [
        ("2 failed", {}),
        (READ_ONLY, {"access": "outside"}),
        (READ_ONLY, {"sandbox": ""}),
        (READ_ONLY, {"typed": True}),
        (READ_ONLY, {"is_error": False}),
    ],
)
def test_nothing_is_said_where_the_sandbox_refused_nothing(tools, output, more):
    assert hint(tools, output, **more) == ""


@pytest.mark.timeout(5)
def test_no_output_makes_looking_for_a_refusal_slow(tools):
    """This took hours where the time grew with the cube."""
    assert hint(tools, "lookup a on b " * 4_000) == ""


@pytest.mark.parametrize("output", [NO_HOST, READ_ONLY])
def test_where_nobody_approves_calls_the_next_step_says_so(tools, output):
    told = hint(tools, output, answered=False)
    assert told.endswith("; no user is there to agree, so only a rule can allow that]")
    assert told.startswith(hint(tools, output).removesuffix("]"))
