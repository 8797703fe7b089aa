"""Rules that a policy offers with its question, and what a person grants of them."""

from functools import partial

import pytest
from nanocoder import ApprovalAnswer, Decision, Effect, Verdict, hookimpl, tool
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import called


@tool(risk="medium", effects={Effect.WRITE})
def note(target: str) -> str:
    """Note something down."""
    return f"noted {target}"


TOOLS = Tools(note)


class Offering:
    """Asks about every call and offers a rule for exactly it, unless it is to offer nothing."""

    @hookimpl
    def nanocoder_before_execute(self, call):
        target = call.arguments["target"]
        grants = () if target == "secret" else (f"note({target})",)
        return Verdict(Decision.ASK, "sure?", grants=grants)


PLUGINS = {"tools": TOOLS, "offering": Offering()}


class Person:
    def __init__(self, **answer):
        self.answer = answer
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=True, **self.answer)


def asked_about(cwd, person, *targets):
    turns = [*([("note", {"target": target})] for target in targets), "Done."]
    play(cwd, turns, plugins=PLUGINS, approve=person)
    return [request.call.arguments["target"] for request in person.requests]


@pytest.mark.contract("C9")
def test_a_request_carries_the_rules_that_would_allow_the_call(tmp_path):
    person = Person()
    asked_about(tmp_path, person, "a")
    assert person.requests[0].grants == ("note(a)",)


@pytest.mark.contract("C9")
def test_a_rule_granted_for_the_session_holds_for_the_calls_that_it_names_alone(tmp_path):
    person = Person(scope="session")
    assert asked_about(tmp_path, person, "a", "a", "b") == ["a", "b"]


@pytest.mark.contract("W13")
def test_a_rule_granted_for_some_calls_is_asked_about_again_after_them(tmp_path):
    person = Person(scope="session", uses=2)
    assert asked_about(tmp_path, person, "a", "a", "b", "a", "a", "a") == ["a", "b", "a"]


@pytest.mark.contract("C9")
@pytest.mark.parametrize("scope", ["project", "user"])
def test_the_event_of_an_approval_says_what_was_granted(tmp_path, scope):
    person = Person(scope=scope, lasts_s=60.0)
    with opened(tmp_path, plugins=PLUGINS, approve=person) as (session, _):
        _, events = called(session, "note", {"target": "a"})
    [approved] = [event for event in events if event.kind == "call.approved"]
    granted = {"scope": scope, "grants": ("note(a)",), "lasts_s": 60.0, "uses": 0}
    assert approved.data == {"always": False, "actors": [], **granted}


@pytest.mark.contract("C9")
def test_an_approval_for_once_grants_nothing(tmp_path):
    with opened(tmp_path, plugins=PLUGINS, approve=Person()) as (session, _):
        _, events = called(session, "note", {"target": "a"})
    [approved] = [event for event in events if event.kind == "call.approved"]
    assert approved.data["grants"] == ()


@pytest.mark.contract("C9")
@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("secret", {"scope": "session"}),
        ("a", {"scope": "everywhere"}),
        ("a", {"scope": "user", "arguments": {"target": "b"}}),
        ("a", {"scope": "user", "lasts_s": -1.0}),
        ("a", {"scope": "session", "uses": -1}),
        ("a", {"scope": "session", "uses": "two"}),
        ("a", {"scope": "session", "lasts_s": 1.0}),
        ("a", {"scope": "project", "uses": 2}),
        ("a", {"scope": "user", "lasts_s": float("nan")}),
        ("a", {"scope": "user", "lasts_s": "a day"}),
        ("a", {"scope": ["user"]}),
    ],
)
def test_what_was_not_offered_cannot_be_granted(tmp_path, target, answer):
    with opened(tmp_path, plugins=PLUGINS, approve=Person(**answer)) as (session, _):
        result, events = called(session, "note", {"target": target})
    assert result.error_class == "denied"
    assert "call.approved" not in [event.kind for event in events]


@pytest.mark.parametrize("grants", [["note(a)"], "note(a)", None])
def test_a_policy_that_offers_something_else_than_rules_denies(tmp_path, grants):
    class Odd:
        before = staticmethod(partial(Verdict, Decision.ASK, "sure?", grants=grants))

        @hookimpl
        def nanocoder_before_execute(self, call):
            return self.before()

    plugins = {"tools": TOOLS, "odd": Odd()}
    with opened(tmp_path, plugins=plugins, approve=Person()) as (session, _):
        result, _ = called(session, "note", {"target": "a"})
    assert result.error_class == "denied"
    assert "Verdict.grants" in result.output
