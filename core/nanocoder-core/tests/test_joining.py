"""How verdicts are joined, exactly: these tests are what mutants of the joining meet."""

from types import MappingProxyType

import attrs
import pytest
from nanocoder import Decision, Effect, Risk, ToolCall, Verdict, tool
from nanocoder.hooks import dispatch

ABSTAIN, ALLOW, ASK, DENY = Decision
FAILED = "policy 'p0' failed: nanocoder_before_execute failed: returned"
ORDER = (ABSTAIN, ALLOW, ASK, DENY)


@tool(risk="dangerous", effects={Effect.EXECUTE})
def deploy(target: str, force: bool = False) -> str:  # noqa: FBT001, FBT002 - a model's argument
    """Deploy to a target."""
    return f"{target} {force}"


@tool(risk="safe", effects={Effect.READ})
def look(target: str) -> str:
    """Look at a target."""
    return target


@tool(risk="safe", effects={Effect.READ}, confirm=lambda _arguments: True)
def look_hard(target: str) -> str:
    """Look at a target, after consent."""
    return target


@tool(risk="dangerous", effects=set(Effect), composed_of=["*"])
def both(target: str) -> str:
    """Call others."""
    return target


def verdict(decision: Decision, plugin: str = "p", **more: object) -> Verdict:
    return Verdict(decision, **{"reason": f"{plugin} says so", "plugin": plugin, **more})


def judged(*policies, of=deploy, call=None, reports=None):
    """Return the judgement of functions of a call, in the order of their names p0, p1 …"""
    named = [
        dispatch.Implementation(f"p{number}", "nanocoder_before_execute", policy, ("call",))
        for number, policy in enumerate(policies)
    ]
    call = call or ToolCall("1", of.name, {"target": "x"})
    heard = [] if reports is None else reports
    return dispatch.judge_call(named, heard.append, {"tool": of}, call)


@pytest.mark.parametrize("stricter", ORDER)
@pytest.mark.parametrize("looser", ORDER)
def test_the_stricter_verdict_wins_and_of_equal_ones_the_first_by_name(stricter, looser):
    if ORDER.index(stricter) < ORDER.index(looser):
        stricter, looser = looser, stricter
    first, last = verdict(looser, "a"), verdict(stricter, "b")
    winner = "a" if stricter is looser else "b"
    for votes in ([first, last], [last, first]):
        joined = dispatch.join(votes)
        assert (joined.decision, joined.plugin) == (stricter, winner)
        assert joined.reason.split("; ")[0] == f"{winner} says so"


def test_of_two_questions_one_that_asks_inside_composed_calls_and_one_of_a_rule_come_first():
    plain, ruled = verdict(ASK, "a"), verdict(ASK, "b", rule="r")
    inside = verdict(ASK, "c", asks_inside_composed=True)
    assert dispatch.join([plain, ruled]).plugin == "b"
    assert dispatch.join([plain, ruled, inside]).plugin == "c"
    # Neither is about calls that run, or never do.
    allows = [verdict(ALLOW, "a"), verdict(ALLOW, "b", rule="r", asks_inside_composed=True)]
    assert dispatch.join(allows).plugin == "a"
    denies = [verdict(DENY, "a"), verdict(DENY, "b", rule="r", asks_inside_composed=True)]
    assert dispatch.join(denies).plugin == "a"


def test_a_permission_covers_steps_only_if_all_do():
    covering, plain = verdict(ALLOW, "a", covers_steps=True), verdict(ALLOW, "b")
    assert dispatch.join([covering, plain]).covers_steps is False
    assert dispatch.join([covering, covering]).covers_steps is True


def test_the_obligations_of_all_are_kept():
    votes = [
        verdict(ASK, "a", grants=("g",), arguments={"x": 1}),
        verdict(ALLOW, "b", sandbox=True, grants=("h",)),
        verdict(ALLOW, "c", persons=1),
    ]
    joined = dispatch.join(votes)
    assert (joined.sandbox, joined.persons, joined.grants) == (True, 1, ("g",))
    assert joined.arguments is None
    two = dispatch.join([*votes, verdict(ALLOW, "d", persons=2)])
    assert (two.persons, two.grants) == (2, ())
    assert dispatch.join(votes[2:]).sandbox is False


def test_remarks_are_added_to_questions_alone_each_once_and_by_name():
    remarks = [verdict(ABSTAIN, "z"), verdict(ABSTAIN, "b"), verdict(ABSTAIN, "y", reason="")]
    again = verdict(ABSTAIN, "c", reason="b says so")
    joined = dispatch.join([*remarks, again, verdict(ASK, "p")])
    assert joined.reason == "p says so; b says so; z says so"
    for decision in (ALLOW, DENY):
        assert dispatch.join([*remarks, verdict(decision, "p")]).reason == "p says so"
    assert dispatch.join(remarks[:1]).reason == "z says so"


@pytest.mark.parametrize(
    ("judged_tool", "decision", "reason"),
    [
        (look, ALLOW, "a safe tool that only reads"),
        (both, ALLOW, "each call inside it is judged on its own"),
        (look_hard, ASK, "no policy is installed, so everything except safe reading needs"),
        (deploy, ASK, "no policy is installed, so everything except safe reading needs"),
        (attrs.evolve(look, risk=Risk.MEDIUM), ASK, "no policy is installed"),
        (attrs.evolve(look, effects=frozenset({Effect.WRITE})), ASK, "no policy is installed"),
    ],
    ids=range(6),
)
def test_without_an_opinion_there_is_a_default(judged_tool, decision, reason):
    call = ToolCall("1", judged_tool.name, {"target": "x"})
    for policies in ((), (lambda call: None,), (lambda call: verdict(ABSTAIN, "p0"),)):
        judgement = judged(*policies, of=judged_tool, call=call)
        assert judgement.verdict.decision is decision
        assert judgement.verdict.reason.startswith(reason)
        default = judgement.votes[-1]
        assert (default.source, default.plugin) == ("default", "")
    allowed = judged(lambda call: verdict(ALLOW), of=deploy)
    assert [vote.decision for vote in allowed.votes] == [ALLOW]


def test_policies_judge_a_copy_of_the_arguments():
    def spoil(call):
        call.arguments["target"] = "y"
        return verdict(ALLOW)

    call = ToolCall("1", "deploy", {"target": "x"})
    judgement = judged(spoil, call=call)
    assert call.arguments == judgement.call.arguments == {"target": "x"}


def test_a_rewritten_call_is_checked_and_judged_again_and_never_more_loosely():
    seen = []

    def rewrite(call):
        seen.append((dict(call.arguments), call.edited))
        return verdict(ASK if len(seen) == 1 else ALLOW, arguments={"target": "y"})

    judgement = judged(rewrite)
    assert seen == [({"target": "x"}, False), ({"target": "y"}, True)]
    assert (judgement.verdict.decision, judgement.verdict.plugin) == (ASK, "p0")
    assert [vote.decision for vote in judgement.votes] == [ASK, ALLOW]
    assert (judgement.call.arguments, judgement.rewritten_by) == ({"target": "y"}, "p0")


@pytest.mark.parametrize(
    ("decision", "arguments", "is_plain"),
    [(ALLOW, None, True), (ALLOW, {"target": "y"}, False), (ASK, None, False), (DENY, None, False)],
)
def test_a_call_runs_as_it_is_only_if_it_is_allowed_and_no_policy_rewrote_it(
    decision, arguments, is_plain
):
    judgement = judged(lambda call: verdict(decision, arguments=arguments))
    assert judgement.verdict.decision is decision
    assert judgement.is_plain_allow is is_plain


def test_of_two_that_rewrite_each_has_its_turn_in_the_order_of_names():
    def first(call):
        return verdict(ALLOW, arguments={**call.arguments, "target": "a"})

    def second(call):
        is_changed = call.arguments["target"] == "a"
        return verdict(ALLOW, arguments={**call.arguments, "force": True} if is_changed else None)

    judgement = judged(first, second)
    assert judgement.call.arguments == {"target": "a", "force": True}
    assert judgement.rewritten_by == "p0, p1"


def test_of_two_that_rewrite_at_once_the_first_by_name_comes_first():
    names = iter(("b", "a"))
    policies = [
        dispatch.Implementation(name, "nanocoder_before_execute", _once(name), ("call",))
        for name in names
    ]
    call = ToolCall("1", "deploy", {"target": "x"})
    judgement = dispatch.judge_call(policies, print, {"tool": deploy}, call)
    assert judgement.call.arguments["target"] == "xab"
    assert judgement.rewritten_by == "a, b"


def test_of_two_of_one_name_that_rewrite_at_once_the_first_comes_first():
    policies = [
        dispatch.Implementation("p", "nanocoder_before_execute", _once(letter), ("call",))
        for letter in "ba"
    ]
    call = ToolCall("1", "deploy", {"target": "x"})
    judgement = dispatch.judge_call(policies, print, {"tool": deploy}, call)
    assert judgement.call.arguments["target"] == "xba"
    assert judgement.rewritten_by == "p, p"


def test_a_policy_may_rewrite_with_any_mapping():
    judgement = judged(lambda call: verdict(ALLOW, arguments=MappingProxyType({"target": "y"})))
    assert judgement.call.arguments == {"target": "y"}
    assert judgement.verdict.decision is ALLOW


def _once(letter):
    def policy(call):
        target = call.arguments["target"]
        changes = letter not in target
        return verdict(ALLOW, arguments={"target": f"{target}{letter}"} if changes else None)

    return policy


def test_the_default_asks_a_tool_about_the_arguments():
    heavy = attrs.evolve(look, confirm=lambda arguments: arguments["target"] == "x")
    light = attrs.evolve(look, confirm=lambda arguments: arguments["target"] == "y")
    assert judged(of=heavy).verdict.decision is ASK
    assert judged(of=light).verdict.decision is ALLOW


def test_a_policy_that_denies_rewrites_nothing():
    judgement = judged(
        lambda call: verdict(DENY), lambda call: verdict(ALLOW, arguments={"target": "y"})
    )
    assert judgement.call.arguments == {"target": "x"}
    assert (judgement.verdict.decision, judgement.rewritten_by) == (DENY, "")
    assert len(judgement.votes) == 2


def test_one_that_never_stops_rewriting_denies():
    calls = []

    def count(call):
        calls.append(call)
        return verdict(ALLOW, arguments={"target": f"{call.arguments['target']}x"})

    judgement = judged(count)
    last = judgement.verdict
    assert len(calls) == dispatch.MAX_REWRITES == 8
    assert (last.decision, last.plugin) == (DENY, "p0")
    assert last.reason == "policy 'p0' still changes the arguments after 8 changes"
    assert [vote.decision for vote in judgement.votes] == [ALLOW] * 8 + [DENY]


def test_wrong_arguments_of_a_policy_deny():
    judgement = judged(lambda call: verdict(ALLOW, arguments={"targte": "y"}))
    assert (judgement.verdict.decision, judgement.verdict.plugin) == (DENY, "p0")
    assert judgement.verdict.reason.startswith("policy 'p0' made wrong arguments: ")
    assert judgement.call.arguments == {"target": "x"}


def _raise(error):
    def policy(call):
        raise error

    return policy


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (_raise(ValueError("boom")), "policy 'p0' failed: boom"),
        (_raise(ValueError()), "policy 'p0' failed: ValueError"),
        (lambda call: "allow", FAILED),
        (
            lambda call: Verdict("allow"),
            FAILED,
        ),
        (
            lambda call: Verdict(ALLOW, reason=3),
            f"{FAILED} a wrong Verdict: ",
        ),
        (
            lambda call: Verdict(ALLOW, arguments={"target": {1}}),
            f"{FAILED} a wrong Verdict: ",
        ),
    ],
    ids=range(6),
)
def test_a_policy_that_fails_denies_and_is_reported(policy, problem):
    reports = []
    judgement = judged(policy, lambda call: verdict(ALLOW), reports=reports)
    assert judgement.verdict.decision is DENY
    assert judgement.verdict.reason.startswith(problem)
    assert judgement.verdict.plugin == "p0"
    assert [report.plugin for report in reports] == ["p0"]


@pytest.mark.parametrize(
    ("decision", "persons", "becomes"),
    [(ALLOW, 1, ALLOW), (ALLOW, 2, ASK), (ABSTAIN, 2, ASK), (ASK, 2, ASK), (DENY, 2, DENY)],
)
def test_more_than_one_person_makes_a_question(decision, persons, becomes):
    judgement = judged(lambda call: verdict(decision, persons=persons, plugin="someone"))
    assert judgement.votes[0].decision is becomes
    assert judgement.votes[0].plugin == "p0"
