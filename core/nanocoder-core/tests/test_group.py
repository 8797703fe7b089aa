"""The calls of one turn that ask, put to a person together."""

import pytest
from attrs import evolve
from nanocoder import ApprovalAnswer, Decision, Effect, ToolError, Verdict, hookimpl, tool
from nanocoder_testing import Tools, play

pytestmark = pytest.mark.contract("D8")
NOTED: list[str] = []


@tool(risk="medium", effects={Effect.WRITE})
def note(target: str) -> str:
    """Note something down."""
    NOTED.append(target)
    return f"noted {target}"


TOOLS = Tools(note)


class Policy:
    """Asks about every note but "free", denies "never", and counts what it judges."""

    def __init__(self):
        self.counted, self.judged = [], []

    @hookimpl
    def nanocoder_before_execute(self, call, session):
        target = call.arguments["target"]
        self.judged.append((target, session.is_trial))
        if not call.edited:
            self.counted.append(target)
        if target == "never":
            return Verdict(Decision.DENY, "never")
        return Verdict(Decision.ALLOW if target == "free" else Decision.ASK, "sure?")


class Renderer:
    """Shows how many notes there are; "impossible" cannot work."""

    @hookimpl
    def nanocoder_render(self, call, result):
        if result is not None:
            return None
        if call.arguments["target"] == "impossible":
            raise ToolError("impossible")
        return f"{call.arguments['target']} after {len(NOTED) if SHOWS_NOTES else 0}"


SHOWS_NOTES: list[bool] = []


@pytest.fixture(autouse=True)
def fresh():
    NOTED.clear()
    SHOWS_NOTES.clear()


def answer(request, *, approved=True, **more):
    return ApprovalAnswer(request.id, request.digest, approved=approved, **more)


class Person:
    """Answers each request, and those of its group with the function *of_group*."""

    def __init__(self, of_group, **own):
        self.of_group, self.own, self.requests = of_group, own, []

    def __call__(self, request):
        self.requests.append(request)
        rest = tuple(filter(None, map(self.of_group, request.group)))
        return answer(request, group=rest, **self.own)


def results(cwd, person, *targets):
    policy = Policy()
    plugins = {"tools": TOOLS, "policy": policy, "tools-render": Renderer()}
    turns = [[("note", {"target": target}) for target in targets], "Done."]
    played = play(cwd, turns, plugins=plugins, approve=person)
    return [each.error_class for each in played.results], policy


def asked(person):
    return [request.call.arguments["target"] for request in person.requests]


def test_the_first_question_of_a_turn_brings_the_later_ones_along(tmp_path):
    person = Person(answer)
    assert results(tmp_path, person, "free", "a", "free", "b", "never", "c")[0] == [
        *("", "", "", "", "denied", "")
    ]
    assert asked(person) == ["a"]
    group = person.requests[0].group
    assert [each.call.arguments["target"] for each in group] == ["b", "c"]
    assert len({each.id for each in group} | {person.requests[0].id}) == 3
    assert NOTED == ["free", "a", "free", "b", "c"]


def test_a_later_call_is_judged_for_the_question_and_again_when_its_turn_comes(tmp_path):
    _, policy = results(tmp_path, Person(answer), "a", "b")
    # Each is judged once more after its approval.
    assert [is_trial for target, is_trial in policy.judged if target == "a"] == [False] * 2
    assert [is_trial for target, is_trial in policy.judged if target == "b"] == [True, False, False]


def test_each_answer_is_for_its_own_call(tmp_path):
    person = Person(lambda each: answer(each, approved=each.call.arguments["target"] == "c"))
    assert results(tmp_path, person, "a", "b", "c")[0] == ["", "denied", ""]
    assert (asked(person), NOTED) == (["a"], ["a", "c"])


def test_a_no_to_the_first_call_is_none_to_the_others(tmp_path):
    person = Person(answer, approved=False)
    assert results(tmp_path, person, "a", "b")[0] == ["denied", ""]


def test_a_call_without_an_early_answer_is_asked_about_alone(tmp_path):
    person = Person(lambda _each: None)
    assert results(tmp_path, person, "a", "b", "c")[0] == ["", "", ""]
    assert asked(person) == ["a", "b", "c"]
    assert [len(request.group) for request in person.requests] == [2, 0, 0]


# CONC-005
@pytest.mark.parametrize(
    "wrong",
    [
        lambda each: evolve(answer(each), digest="0" * 64),
        lambda each: evolve(answer(each), approved="yes"),
        lambda each: answer(each, scope="user"),
    ],
    ids=["digest", "text", "scope"],
)
def test_an_early_answer_that_does_not_fit_is_a_refusal(tmp_path, wrong):
    assert results(tmp_path, Person(wrong), "a", "b")[0] == ["", "denied"]
    assert NOTED == ["a"]


@pytest.mark.parametrize("odd", [["x"], "yes", ("x",), 3, None])
def test_what_is_no_answer_approves_nothing(tmp_path, odd):
    class Odd(Person):
        def __call__(self, request):
            self.requests.append(request)
            is_first = len(self.requests) == 1
            return answer(request, group=odd) if is_first else answer(request, approved=False)

    assert "" not in results(tmp_path, Odd(None), "a", "b")[0][1:]
    assert "b" not in NOTED


def test_an_edit_in_a_group_is_of_its_own_call(tmp_path):
    person = Person(lambda each: answer(each, arguments={"target": "sea"}))
    assert results(tmp_path, person, "a", "b")[0] == ["", ""]
    assert (asked(person), NOTED) == (["a"], ["a", "sea"])


def test_a_call_that_would_do_something_else_by_then_is_asked_about_again(tmp_path):
    SHOWS_NOTES.append(True)
    person = Person(answer)
    assert results(tmp_path, person, "a", "b")[0] == ["", ""]
    assert asked(person) == ["a", "b"]
    assert [request.preview for request in person.requests] == ["a after 0", "b after 1"]


# CONC-004
def test_a_policy_that_turns_strict_meanwhile_is_heard(tmp_path):
    class Strict(Policy):
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY if NOTED else Decision.ASK, "sure?")

    plugins = {"tools": TOOLS, "policy": Strict()}
    turns = [[("note", {"target": target}) for target in "ab"], "Done."]
    played = play(tmp_path, turns, plugins=plugins, approve=Person(answer))
    assert [each.error_class for each in played.results] == ["", "denied"]


def test_calls_are_counted_once_each(tmp_path):
    _, policy = results(tmp_path, Person(answer), "a", "b", "c")
    assert policy.counted == ["a", "b", "c"]


def test_a_group_is_in_the_event_of_its_first_request(tmp_path):
    turns = [[("note", {"target": target}) for target in "ab"], "Done."]
    plugins = {"tools": TOOLS, "policy": Policy()}
    played = play(tmp_path, turns, plugins=plugins, approve=Person(answer))
    [event] = [each for each in played.events if each.kind == "call.approval_requested"]
    [later] = event.data["group"]
    assert (later["tool"], later["arguments"]) == ("note", {"target": "b"})
    approved = [each.call_id for each in played.events if each.kind == "call.approved"]
    assert approved == [event.call_id, later["call_id"]]
