"""With a sandbox, commands are judged by what it gives them; without one, by a short list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_policy_rules.programs import READING
from nanocoder_policy_rules.shell_text import parse

MODES = ("plan", "ask", "edits", "auto")
READS, WRITES, ODD = "cat a.py", "make > log 2>&1", 'x=$(cat a); "$x" <<E\n$(rm -rf x)\nE'


def verdict_of(judge, command, mode, **how):
    access = how.pop("access", None)
    arguments = {"command": command} | ({"access": access, "reason": "why"} if access else {})
    verdict = judge("bash", arguments, mode, **how)
    return f"{verdict.decision} {verdict.access}"


# Each row is a mode: what its command gets by itself, with access="write", and with "outside".
IN_THE_SANDBOX = {
    "plan": ("allow read", "deny None", "deny None"),
    "ask": ("allow read", "ask write", "ask outside"),
    "edits": ("allow write", "allow write", "ask outside"),
    "auto": ("allow write", "allow write", "ask outside"),
}


@pytest.mark.contract("E1")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", [READS, WRITES, ODD, "curl https://example.org", "cat .env"])
def test_what_the_sandbox_gives_runs_unasked_and_more_asks(command, mode, judge):
    expected = IN_THE_SANDBOX[mode]
    for access, outcome in zip((None, "write", "outside"), expected, strict=True):
        is_shown = command == "cat .env" and access == "outside"  # there, nothing hides it
        verdict = verdict_of(judge, command, mode, access=access, sandbox="bwrap")
        assert verdict == ("deny None" if is_shown else outcome)


@pytest.mark.parametrize("mode", MODES)
def test_where_no_sandbox_works_no_mode_runs_more_than_the_short_list(mode, judge):
    assert verdict_of(judge, READS, mode, sandbox=None) == "allow None"
    refusal = "deny None" if mode == "plan" else "ask None"
    for command in (WRITES, ODD, "make"):
        assert verdict_of(judge, command, mode, sandbox=None) == refusal
    if mode != "plan":
        assert verdict_of(judge, "make", mode, sandbox=None, allow=["bash(make)"]) == "allow None"
    assert verdict_of(judge, "make", "auto") == "allow None", "who wants none has none"


@pytest.mark.parametrize("how", [{"sandboxed": "ask"}, {"only_managed_allow": True}])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("access", [None, "write", "outside"])
def test_whoever_does_not_trust_the_sandbox_is_asked_as_without_one(mode, access, how, judge):
    def decision(command, **more):
        return verdict_of(judge, command, mode, access=access, **more).split()[0]

    for command in (READS, WRITES, ODD):
        with_one = decision(command, sandbox="bwrap", **how)
        if access == "outside" and mode != "plan":
            assert with_one == "ask"
        elif access is None:
            assert with_one == decision(command)
    if access is None and mode in {"ask", "edits"}:
        # Who is asked anyway is asked once.
        assert verdict_of(judge, WRITES, mode, sandbox="bwrap", **how) == "ask write"


@pytest.mark.parametrize(
    ("mode", "reading", "other"),
    [
        ("plan", "allow None", "deny None"),
        ("ask", "allow None", "ask None"),
        ("edits", "allow None", "ask None"),
        ("auto", "allow None", "allow None"),
    ],
)
def test_without_a_sandbox_only_the_short_list_runs_unasked(mode, reading, other, judge):
    assert verdict_of(judge, READS, mode) == reading
    for command in (WRITES, ODD, "cd src && ls", "cat ../x", "git status"):
        assert verdict_of(judge, command, mode) == other, command


@pytest.mark.parametrize("mode", MODES)
def test_a_command_that_a_person_typed_runs_outside(mode, judge):
    typed = {"typed": True, "interactive": True, "sandbox": "bwrap"}
    assert verdict_of(judge, WRITES, mode, **typed) == "ask outside"
    assert verdict_of(judge, READS, mode, **typed) == "allow outside"
    assert verdict_of(judge, "git push", mode, deny=["bash(git *)"], **typed) == "deny None"


@pytest.mark.parametrize("mode", MODES)
def test_a_command_that_a_program_runs_as_if_it_were_typed_stays_inside(mode, judge):
    """The check of a task comes from a file, and nobody is there."""
    assert verdict_of(judge, WRITES, mode, typed=True, sandbox="bwrap") == "allow write"


@pytest.mark.parametrize(
    ("command", "mode", "rules", "expected"),
    [
        ("make", "ask", {"deny": ["bash(make)"]}, "deny None"),
        ("make", "auto", {"ask": ["bash(make)"]}, "ask write"),
        ("$x", "auto", {"deny": ["bash(make)"]}, "ask write"),
        ("rm -rf /", "ask", {}, "deny None"),
        # What a rule allows may write without being asked for that once more.
        ("make", "ask", {"allow": ["bash(make *)"]}, "allow write"),
        ("make", "plan", {"allow": ["bash(make *)"]}, "allow read"),
        ("make", "edits", {"allow": ["bash(make *)"]}, "allow write"),
        # The sandbox holds these.
        ("cp x .git/hooks/pre-commit", "auto", {}, "allow write"),
        ("cat private/x", "ask", {"deny": ["read_file(private/**)"]}, "allow read"),
        # What others see at once runs outside; all files of the workspace ask where they can go.
        ("git push", "ask", {}, "ask outside"),
        ("git push", "auto", {}, "ask outside"),
        ("git push", "auto", {"allow": ["bash(git push *)"]}, "allow write"),
        ("git clean -xdf", "ask", {}, "allow read"),
        ("git clean -xdf", "edits", {}, "allow write"),
        ("rm -rf *", "ask", {}, "deny None"),
    ],
)
def test_rules_and_lasting_commands_hold_in_the_sandbox(command, mode, rules, expected, judge):
    assert verdict_of(judge, command, mode, sandbox="bwrap", **rules) == expected


def test_a_rule_may_name_what_leaves_the_sandbox(judge):
    about = {"sandbox": "bwrap", "access": "outside"}
    assert verdict_of(judge, "make", "ask", allow=["bash(make *)"], **about) == "allow outside"
    assert verdict_of(judge, "make", "ask", allow=["bash(ls *)"], **about) == "ask outside"
    assert verdict_of(judge, "make", "plan", allow=["bash"], **about) == "deny None"


def test_a_question_says_what_is_asked_for_and_why(judge):
    for access, mode, what in (
        ("write", "ask", "it asks to change files of the workspace, inside the sandbox: why"),
        ("outside", "auto", "it asks to run once outside the sandbox (bwrap): why"),
    ):
        arguments = {"command": "make", "access": access, "reason": " why\n"}
        assert judge("bash", arguments, mode, sandbox="bwrap").reason == what
    verdict = judge("bash", {"command": "make"}, "edits", sandbox="bwrap")
    assert verdict.reason == "it runs in the sandbox bwrap, the workspace writable"


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_starts_no_command_is_judged_as_before(mode, judge):
    arguments = {"path": "a", "content": ""}
    with_one = judge("write_file", arguments, mode, sandbox="bwrap")
    assert with_one == judge("write_file", arguments, mode)
    assert with_one.access is None


WORDS = ("a.py", "-n", "/etc/passwd", "..", "$x", ">", "|", "&&", ";", "`b`", "-f", "*", "'c'", "x")
COMMANDS = st.one_of(
    st.text(),
    st.lists(st.sampled_from((*READING, *WORDS, "git", "rm", "make")), max_size=8).map(" ".join),
)


@given(COMMANDS)
def test_no_text_breaks_judging_or_runs_unasked_beyond_the_short_list(judge, command):
    """And in the sandbox none leaves it, or writes where the mode only reads."""
    verdict = judge("bash", {"command": command}, "ask")
    if verdict.decision == "allow":
        assert {each.program for each in parse(command).commands} <= {*READING, "[", ""}
    verdict = judge("bash", {"command": command}, "ask", sandbox="bwrap")
    assert verdict.decision == "ask" or str(verdict.access) in {"read", "None"}
