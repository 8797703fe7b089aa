"""What a verdict demands beside its decision: other arguments, a sandbox, a second person."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Effect,
    Resource,
    Sandbox,
    ToolCall,
    ToolContext,
    ToolError,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder.hooks import dispatch
from nanocoder_testing import Tools, opened
from nanocoder_testing.playing import called

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


@tool(risk="dangerous", effects={Effect.EXECUTE})
def deploy(ctx: ToolContext, target: str, *, force: bool = False) -> str:
    """Deploy to a target."""
    return " ".join(ctx.wrap(["deploy", target, *(["--force"] if force else [])]))


@tool(risk="safe", effects={Effect.READ})
def look(target: str) -> str:
    """Look at a target."""
    return f"looked at {target}"


@tool(risk="medium", effects={Effect.NETWORK})
def fetch(url: str) -> str:
    """Fetch an address."""
    return f"fetched {url}"


@tool(risk="dangerous", effects=set(Effect), composed_of=["*"])
def both(ctx: ToolContext, target: str) -> str:
    """Deploy by a step."""
    return ctx.call("deploy", {"target": target}).output


TOOLS = Tools(deploy, look, fetch, both)


class Policy:
    """Judges by a function of the call."""

    def __init__(self, judge: Callable[[ToolCall], Any]) -> None:
        self.judge = judge
        self.calls: list[ToolCall] = []

    @hookimpl
    def nanocoder_before_execute(self, call):
        self.calls.append(call)
        return self.judge(call)


class Box:
    """A plugin with a sandbox that shows itself in the argv."""

    def __init__(self, problem: str = "") -> None:
        self.problem = problem

    def in_force(self, _settings: Any) -> str:
        if self.problem:
            raise ToolError(self.problem, error_class="sandbox_unavailable")
        return "a box"

    def changes(self) -> Sequence[str]:
        return ()

    def wrap(self, argv: Sequence[str], _ports: Sequence[int], _access: str) -> list[str]:
        return ["boxed", *argv]

    @hookimpl
    def nanocoder_sandboxes(self):
        return [Sandbox("box", in_force=self.in_force)]

    @hookimpl
    def nanocoder_resources(self):
        return [Resource("box", lambda _session, _settings: self)]


class People:
    """Answers each request in the name of the next person."""

    def __init__(self, *names: str, **more: Any) -> None:
        self.names = iter(names)
        self.more = more
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.requests.append(request)
        actor = next(self.names)
        return ApprovalAnswer(request.id, request.digest, approved=True, actor=actor, **self.more)


def run(cwd, name, arguments, approve=None, **plugins):
    """Take one call down the path; returns its result and its events."""
    with opened(cwd, plugins={"tools": TOOLS, **plugins}, approve=approve) as (session, _):
        return called(session, name, arguments)


def unforced(call: ToolCall) -> Verdict:
    return Verdict(ALLOW, "never by force", arguments={**call.arguments, "force": False})


# Other arguments


@pytest.mark.contract("C16")
@pytest.mark.contract("W5")
def test_a_policy_rewrites_the_arguments_and_the_call_gets_them(tmp_path):
    result, events = run(tmp_path, "deploy", {"target": "x", "force": True}, lean=Policy(unforced))
    assert result.output.endswith("deploy x")
    assert "[the policy 'lean' changed the arguments to" in result.output
    rewritten = next(event for event in events if event.kind == "call.rewritten")
    assert rewritten.data == {"arguments": {"target": "x", "force": False}, "plugin": "lean"}
    started = next(event for event in events if event.kind == "call.started")
    assert started.data["arguments"] == {"target": "x", "force": False}


@pytest.mark.contract("C16")
def test_what_a_policy_rewrote_is_judged_again_by_all(tmp_path):
    def guard(call: ToolCall) -> Verdict | None:
        return Verdict(DENY, "not home") if call.arguments["target"] == "home" else None

    def home(call: ToolCall) -> Verdict:
        return Verdict(ALLOW, "go home", arguments={**call.arguments, "target": "home"})

    result, _ = run(tmp_path, "deploy", {"target": "x"}, guard=Policy(guard), homing=Policy(home))
    assert result.output == "denied: not home"


@pytest.mark.contract("C16")
def test_rewriting_never_makes_a_verdict_looser(tmp_path):
    def ask(call: ToolCall) -> Verdict:
        forced = call.arguments.get("force")
        return Verdict(ASK, "by force?") if forced else Verdict(ALLOW, "fine")

    people = People("ann")
    plugins = {"asking": Policy(ask), "lean": Policy(unforced)}
    result, _ = run(tmp_path, "deploy", {"target": "x", "force": True}, people, **plugins)
    assert result.output.endswith("deploy x")
    [request] = people.requests
    assert request.reason == "by force?; the policy 'lean' changed the arguments"
    assert request.call.arguments == {"target": "x", "force": False}

    def deny(call: ToolCall) -> Verdict | None:
        return Verdict(DENY, "no force") if call.arguments.get("force") else None

    plugins = {"denying": Policy(deny), "lean": Policy(unforced)}
    result, _ = run(tmp_path, "deploy", {"target": "x", "force": True}, **plugins)
    assert result.output == "denied: no force"


def test_a_policy_that_counts_calls_sees_a_rewritten_call_as_one_that_was_counted(tmp_path):
    counting = Policy(lambda _: None)
    run(tmp_path, "deploy", {"target": "x", "force": True}, a=counting, lean=Policy(unforced))
    assert [call.edited for call in counting.calls] == [False, True]


@pytest.mark.contract("W5")
def test_a_policy_that_rewrites_forever_is_denied(tmp_path):
    def longer(call: ToolCall) -> Verdict:
        return Verdict(ALLOW, "", arguments={"target": call.arguments["target"] + "x"})

    result, events = run(tmp_path, "deploy", {"target": "x"}, p=Policy(longer))
    assert result.output == "denied: policy 'p' still changes the arguments after 8 changes"
    assert "call.started" not in [event.kind for event in events]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"target": 1}, "policy 'p' made wrong arguments"),
        ({}, "policy 'p' made wrong arguments"),
        ({"target": {1, 2}}, "policy 'p' failed"),
        ("target", "policy 'p' failed"),
    ],
    ids=range(4),
)
def test_wrong_arguments_of_a_policy_deny_the_call(tmp_path, arguments, problem):
    policy = Policy(lambda _: Verdict(ALLOW, "", arguments=arguments))
    result, _ = run(tmp_path, "deploy", {"target": "x"}, p=policy)
    assert result.error_class == "denied"
    assert result.output.startswith(f"denied: {problem}")


@pytest.mark.contract("C16")
def test_two_policies_rewrite_one_after_the_other_whatever_their_order(tmp_path):
    def shout(call: ToolCall) -> Verdict:
        target = call.arguments["target"].upper()
        return Verdict(ALLOW, "", arguments={**call.arguments, "target": target})

    policies = {"lean": Policy(unforced), "loud": Policy(shout)}
    outputs = {
        run(tmp_path, "deploy", {"target": "x", "force": True}, **dict(order))[0].output
        for order in permutations(policies.items())
    }
    [output] = outputs
    assert output.endswith("deploy X")
    assert "the policy 'lean, loud' changed" in output


def test_what_changes_while_a_person_is_asked_is_asked_about_again(tmp_path):
    forced: list[bool] = []

    def judge(call: ToolCall) -> Verdict:
        target = "there" if forced else call.arguments["target"]
        return Verdict(ASK, "sure?", arguments={"target": target})

    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        forced.append(True)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    result, _ = run(tmp_path, "deploy", {"target": "x"}, answer, p=Policy(judge))
    assert len(forced) == 2
    assert result.output.endswith("deploy there")


# A sandbox


def boxed(_call: ToolCall) -> Verdict:
    return Verdict(ALLOW, "in the sandbox", sandbox=True)


def run_with(cwd, sandbox, name, arguments, approve=None, **plugins):
    """As `run`, with the setting `sandbox`."""
    environment = {"HOME": "/nonexistent", "NANOCODER_SANDBOX": sandbox}
    plugins = {"tools": TOOLS, **plugins}
    with opened(cwd, plugins=plugins, approve=approve, environment=environment) as (session, _):
        return called(session, name, arguments)


@pytest.mark.contract("W5")
def test_a_call_that_is_allowed_in_the_sandbox_runs_in_it(tmp_path):
    plugins = {"p": Policy(boxed), "boxes": Box()}
    result, _ = run_with(tmp_path, "box", "deploy", {"target": "x"}, **plugins)
    assert result.output == "boxed deploy x"
    result, _ = run_with(tmp_path, "box", "both", {"target": "x"}, **plugins)
    assert result.output == "boxed deploy x"


@pytest.mark.contract("W5")
@pytest.mark.parametrize(
    ("sandbox", "problem"),
    [
        ("none", "deploy is allowed in a sandbox only, and this session has none"),
        ("box", "no kernel"),
    ],
)
def test_without_a_sandbox_that_works_the_call_fails_and_nobody_is_asked(
    tmp_path, sandbox, problem
):
    people, box = People("ann"), Box()

    def judge(_call: ToolCall) -> Verdict:
        box.problem = "no kernel"  # since the session began
        return Verdict(ASK, "?", sandbox=True)

    plugins = {"p": Policy(judge), "boxes": box}
    result, events = run_with(tmp_path, sandbox, "deploy", {"target": "x"}, people, **plugins)
    assert result.error_class == "sandbox_unavailable"
    assert result.output.startswith(problem)
    assert "call.started" not in [event.kind for event in events]
    assert people.requests == []


def test_a_tool_that_reaches_out_of_our_own_process_cannot_be_sandboxed(tmp_path):
    plugins = {"p": Policy(boxed), "boxes": Box()}
    result, _ = run_with(tmp_path, "box", "fetch", {"url": "x"}, **plugins)
    assert result.error_class == "sandbox_unavailable"
    assert "fetch is allowed in a sandbox only" in result.output
    result, _ = run_with(tmp_path, "none", "look", {"target": "x"}, **plugins)
    assert result.output == "looked at x"


# A second person


def two_people(_call: ToolCall) -> Verdict:
    return Verdict(ALLOW, "production", persons=2)


@pytest.mark.contract("W13")
@pytest.mark.contract("W5")
def test_a_second_person_is_asked_and_both_are_named(tmp_path):
    people = People("ann", "ben")
    result, events = run(tmp_path, "deploy", {"target": "x"}, people, p=Policy(two_people))
    assert result.output == "deploy x"
    assert [request.approved_by for request in people.requests] == [(), ("ann",)]
    assert people.requests[0].reason == "production; 2 people have to approve it"
    assert len({request.id for request in people.requests}) == 2
    approved = next(event for event in events if event.kind == "call.approved")
    assert approved.data["actors"] == ["ann", "ben"]


@pytest.mark.contract("W13")
@pytest.mark.parametrize("names", [("ann", "ann"), ("ann", " Ann "), ("", ""), ("ann", " ")])
def test_one_person_twice_and_a_terminal_alone_are_no_two_people(tmp_path, names):
    result, events = run(tmp_path, "deploy", {"target": "x"}, People(*names), p=Policy(two_people))
    assert result.error_class == "denied"
    assert "2 different people have to approve this call" in result.output
    assert "call.started" not in [event.kind for event in events]


@pytest.mark.contract("W13")
def test_nothing_stands_in_for_the_second_person(tmp_path):
    """Neither mode auto, nor "always", nor typing the call oneself, nor nobody being there."""
    policy = Policy(two_people)
    people = People("ann", "ben", "cleo", "dan", always=True)
    plugins = {"tools": TOOLS, "p": policy}
    with opened(tmp_path, plugins=plugins, approve=people, mode="auto") as (session, _):
        for _ in range(2):
            assert called(session, "deploy", {"target": "x"})[0].output == "deploy x"
    assert len(people.requests) == 4
    assert "this call only" in people.requests[0].always
    people = People("ann", "ann")
    with opened(tmp_path, plugins=plugins, approve=people) as (session, _):
        *_, last = session.call("deploy", {"target": "x"}, typed=True)
    assert last.data["status"] == "denied"
    result, _ = run(tmp_path, "deploy", {"target": "x"}, p=policy)
    assert result.error_class == "approval_needed"


def test_after_an_edit_both_are_asked_about_the_edited_call(tmp_path):
    answers = iter([("ann", None), ("ben", {"target": "y"}), ("ann", None), ("ben", None)])

    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        actor, arguments = next(answers)
        yes = ApprovalAnswer(request.id, request.digest, approved=True, actor=actor)
        return evolve(yes, arguments=arguments)

    result, _ = run(tmp_path, "deploy", {"target": "x"}, answer, p=Policy(two_people))
    assert result.output.endswith("deploy y")
    assert next(answers, None) is None


def test_the_second_person_may_refuse(tmp_path):
    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        is_first = not request.approved_by
        return ApprovalAnswer(request.id, request.digest, is_first, reason="no", actor="ann")

    result, _ = run(tmp_path, "deploy", {"target": "x"}, answer, p=Policy(two_people))
    assert result.output == "denied by the user: no"


# Joining


verdicts = st.builds(
    Verdict,
    decision=st.sampled_from(Decision),
    reason=st.sampled_from(["a", "b"]),
    rule=st.sampled_from(["", "r"]),
    asks_inside_composed=st.booleans(),
    covers_steps=st.booleans(),
    sandbox=st.booleans(),
    persons=st.integers(1, 3),
)
ORDER = [Decision.ABSTAIN, ALLOW, ASK, DENY]


def voted(votes: Sequence[Verdict]) -> list[Verdict]:
    """Return *votes* as those of plugins with names of their own."""
    return [evolve(verdict, plugin=f"p{number}") for number, verdict in enumerate(votes)]


@pytest.mark.contract("W9")
@given(st.lists(verdicts, min_size=1, max_size=6), st.randoms())
def test_joining_does_not_depend_on_the_order_of_the_plugins(votes, random):
    votes = voted(votes)
    assert dispatch.join(votes) == dispatch.join(random.sample(votes, len(votes)))


@pytest.mark.contract("W9")
@given(st.lists(verdicts, min_size=1, max_size=5), verdicts)
def test_another_verdict_never_loosens_the_joined_one(votes, another):
    *before, added = voted([*votes, another])
    less, more = dispatch.join(before), dispatch.join([*before, added])
    assert ORDER.index(more.decision) >= ORDER.index(less.decision)
    assert more.sandbox >= less.sandbox
    assert more.persons >= less.persons
    if less.decision is more.decision is ASK:
        assert more.asks_inside_composed >= less.asks_inside_composed
    if less.decision is more.decision is ALLOW:
        assert more.covers_steps <= less.covers_steps


@given(st.lists(verdicts, min_size=1, max_size=6))
def test_the_joined_verdict_is_the_strictest_with_what_all_demand(votes):
    joined = dispatch.join(voted(votes))
    assert joined.decision is max((verdict.decision for verdict in votes), key=ORDER.index)
    assert joined.sandbox == any(verdict.sandbox for verdict in votes)
    assert joined.persons == max(verdict.persons for verdict in votes)
    reasons = {v.reason for v in votes if v.decision is joined.decision}
    remarks = {v.reason for v in votes if v.decision is Decision.ABSTAIN}
    first, *added = joined.reason.split("; ")
    assert first in reasons
    assert set(added) == (remarks - {first} if joined.decision is ASK else set())


def abstain(_call: ToolCall) -> Verdict:
    return Verdict(Decision.ABSTAIN, "it is friday")


def test_a_remark_is_added_to_the_question_and_allows_nothing(tmp_path):
    """A policy that only abstains leaves the decision to the others, or to the default."""
    questions = []

    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        questions.append(request.reason)
        return ApprovalAnswer(request.id, request.digest, approved=True)

    run(tmp_path, "deploy", {"target": "x"}, answer, p=Policy(abstain))
    [question] = questions
    assert question.startswith("no policy is installed")
    assert question.endswith("needs your approval; it is friday")
    allows = Policy(lambda _call: Verdict(ALLOW))
    allowed, _ = run(tmp_path, "deploy", {"target": "x"}, answer, p=Policy(abstain), q=allows)
    assert allowed.output.endswith("deploy x")
    assert len(questions) == 1
