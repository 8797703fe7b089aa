"""Any text gets a verdict in a bounded time, and never one that allows."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nanocoder import Decision
from nanocoder_policy_shell.judge import judge as judge_text
from nanocoder_policy_shell.settings import Settings
from nanocoder_policy_shell.syntax import MAX_CHARS

TANGLES = [
    *("a|", "$(", "${", "((", "[[", "`", "<", ">", "&", "'\"", "f(){ ", "if ", "case x in ", "a=("),
    *("<(a ", "{ ", "[[ a && ", "! ", "a && ", "\\", "\n", "\0", "ü", "$'", "<<E\n", "a;", '"$('),
]
SIGNS = st.text(st.sampled_from("ab$(){}[]<>|&;'\"`\\ \n!#*?~=-/é\u200b\ud800"), max_size=60)


@given(SIGNS | st.text(max_size=200))
@example("")
@settings(deadline=None)
def test_any_text_gets_a_verdict_that_does_not_allow(text):
    verdict = judge_text(text, Settings())
    assert verdict is None or verdict.decision is not Decision.ALLOW


@given(SIGNS, st.sampled_from(["eval", "variable", "syntax"]))
@settings(deadline=None)
def test_denying_more_never_loosens(text, kind):
    order = [None, Decision.ABSTAIN, Decision.ASK, Decision.DENY]
    less = judge_text(text, Settings())
    more = judge_text(text, Settings(deny=(*Settings().deny, kind)))
    decisions = [verdict and verdict.decision for verdict in (less, more)]
    assert order.index(decisions[1]) >= order.index(decisions[0])


@pytest.mark.parametrize("tangle", TANGLES)
@pytest.mark.parametrize("chars", [MAX_CHARS, 1_000_000])
def test_no_text_takes_long(tangle, chars):
    text = (tangle * chars)[:chars]
    began = time.process_time()
    verdict = judge_text(text, Settings())
    assert time.process_time() - began < 2
    assert verdict is None or verdict.decision is not Decision.ALLOW


def test_a_command_that_is_too_long_asks(judge):
    verdict = judge("ls " + "a" * 1_000_000)
    assert (verdict.decision, verdict.rule) == (Decision.ASK, "length")
    assert "1,000,003 characters" in verdict.reason
    assert judge("ls " + "a" * (MAX_CHARS - 3)) is None


def test_hidden_characters_of_a_long_command_are_denied_too(judge):
    assert judge("ls " + "a" * 1_000_000 + "\u200b").decision is Decision.DENY


@pytest.mark.parametrize("command", [None, 3, ["ls"], {"a": 1}, ""])
def test_what_is_no_command_is_left_to_others(judge, command):
    assert judge(command) is None
