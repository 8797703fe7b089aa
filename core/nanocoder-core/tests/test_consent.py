"""Who is asked, what the answer has to echo, and who wins."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import pytest
from attrs import evolve
from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Cancel,
    Decision,
    Effect,
    Param,
    PluginError,
    Plugins,
    Risk,
    ToolContext,
    ToolError,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder.call import preview
from nanocoder.config import Config
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import called


@tool(risk="dangerous", effects={Effect.EXECUTE})
def launch(target: Annotated[str, Param("Where to.", min_length=1)]) -> str:
    """Launch something at a target."""
    return f"launched at {target}"


@tool(risk="safe", effects={Effect.READ})
def look(target: Annotated[str, "Where."]) -> str:
    """Look at a target."""
    return f"looked at {target}"


@tool(risk="medium", effects={Effect.WRITE})
def note(target: Annotated[str, "What."]) -> str:
    """Note something down."""
    return f"noted {target}"


TOOLS = Tools(launch, look, note)


class Policy:
    """Says what a function says."""

    def __init__(self, say: Callable[[Any], Any]) -> None:
        self.say = say

    @hookimpl
    def nanocoder_before_execute(self, call):
        return self.say(call)


class Person:
    """Answers requests with a function and remembers them."""

    def __init__(self, answer: Callable[[ApprovalRequest], ApprovalAnswer | None]) -> None:
        self.answer = answer
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        self.requests.append(request)
        return self.answer(request)


def yes(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(request.id, request.digest, approved=True, **more)


def no(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(request.id, request.digest, approved=False, **more)


def ask(cwd, name, arguments, approve=None, **policies):
    """Take one call down the path; returns its result and the kinds of its events."""
    plugins = {"tools": TOOLS, **policies}
    with opened(cwd, plugins=plugins, approve=approve) as (session, _):
        result, events = called(session, name, arguments)
        return result, [event.kind for event in events]


# Policies


@pytest.mark.contract("NT-08")
@pytest.mark.contract("NT-45")
def test_without_a_policy_all_but_safe_reading_asks(tmp_path):
    assert ask(tmp_path, "look", {"target": "x"})[0].output == "looked at x"
    for name in ("launch", "note"):
        result, kinds = ask(tmp_path, name, {"target": "x"})
        assert result.error_class == "approval_needed"
        assert "call.started" not in kinds


ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


# SHELL-180
@pytest.mark.parametrize(
    ("said", "wins"),
    [
        ([ALLOW, DENY], DENY),
        ([DENY, ALLOW], DENY),
        ([ASK, DENY, ALLOW], DENY),
        ([ALLOW, ASK], ASK),
        ([ASK, ALLOW], ASK),
        ([None, ALLOW], ALLOW),
        ([ALLOW, None, None], ALLOW),
    ],
)
def test_the_strictest_verdict_wins_whatever_the_order(tmp_path, said, wins):
    policies = {
        f"policy-{n}": Policy(lambda _, d=d: d and Verdict(d, f"says {d}"))
        for n, d in enumerate(said)
    }
    result, _ = ask(tmp_path, "launch", {"target": "x"}, **policies)
    classes = {ALLOW: "", ASK: "approval_needed", DENY: "denied"}
    assert result.error_class == classes[wins]


@pytest.mark.contract("NT-100")
def test_a_policy_that_breaks_denies(tmp_path):
    def boom(_):
        raise ValueError("boom")

    policies = {"p": Policy(boom), "yes": Policy(lambda _: Verdict(ALLOW, "all"))}
    result, kinds = ask(tmp_path, "look", {"target": "x"}, **policies)
    assert result.output == "denied: policy 'p' failed: boom"
    assert result.error_class == "denied"
    assert "call.started" not in kinds


@pytest.mark.parametrize(
    "garbage",
    [
        *("allow", True, 1, [], {"decision": "allow"}, Decision.ALLOW),
        *(Verdict("allow", ""), Verdict(ALLOW, 10**5_000), Verdict(ALLOW, "x", rule=["x"])),
    ],
    ids=range(9),
)
def test_a_policy_that_answers_garbage_denies(tmp_path, garbage):
    result, _ = ask(tmp_path, "look", {"target": "x"}, p=Policy(lambda _: garbage))
    assert result.error_class == "denied"
    assert "policy 'p' failed" in result.output


def test_a_policy_that_calls_exit_denies(tmp_path):
    def leave(_):
        raise SystemExit(0)

    result, _ = ask(tmp_path, "look", {"target": "x"}, p=Policy(leave))
    assert result.error_class == "denied"


def test_a_coroutine_is_no_policy():
    class Sly:
        @hookimpl
        async def nanocoder_before_execute(self, call):
            return None

    with pytest.raises(PluginError, match="async def"):
        Plugins().add(Sly(), "sly")


def test_a_verdict_names_the_plugin_that_gave_it_not_the_one_it_names(tmp_path):
    sly = Policy(lambda _: Verdict(DENY, "no", plugin="somebody else"))
    result, _ = ask(tmp_path, "look", {"target": "x"}, mine=sly)
    assert result.data["plugin"] == "mine"


# PLUG-026
def test_what_a_policy_does_to_the_call_changes_nothing(tmp_path):
    def meddle(call):
        call.arguments["target"] = "elsewhere"

    result, _ = ask(tmp_path, "look", {"target": "x"}, sly=Policy(meddle))
    assert result.output == "looked at x"


# Approval


@pytest.mark.contract("NT-40")
def test_a_yes_runs_the_call_and_a_no_lets_the_model_read_why(tmp_path):
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, Person(yes))
    assert result.output == "launched at x"
    assert kinds.index("call.approval_requested") < kinds.index("call.approved")
    assert kinds.index("call.approved") < kinds.index("call.started")
    refused = Person(lambda request: no(request, reason="not on a Friday"))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, refused)
    assert result.output == "denied by the user: not on a Friday"
    assert kinds[-2:] == ["call.denied", "call.returned"]


@pytest.mark.contract("NT-42")
def test_after_a_denial_the_loop_goes_on(tmp_path):
    turns = [[("launch", {"target": "x"})], "I will not, then."]
    played = play(tmp_path, turns, plugins={"tools": TOOLS}, approve=Person(no))
    assert played.text == "I will not, then."
    assert played.report["stop_reason"] == "done"
    assert played.report["denials"][0]["tool"] == "launch"


@pytest.mark.contract("NT-44")
def test_a_request_says_what_would_happen(tmp_path):
    person = Person(yes)
    ask(tmp_path, "launch", {"target": "the moon"}, person)
    [request] = person.requests
    assert request.call.name == "launch"
    assert request.preview == "target: the moon"
    assert (request.risk, request.effects) == (Risk.DANGEROUS, frozenset({Effect.EXECUTE}))
    assert request.plugin.startswith("tools")
    assert request.cwd == str(tmp_path)
    assert len(request.digest) == 64


@pytest.mark.contract("NT-44")
def test_a_plugin_may_render_the_preview(tmp_path):
    class Renderer:
        @hookimpl
        def nanocoder_render(self, call, result):
            return None if result else f"countdown for {call.arguments['target']}"

    person = Person(yes)
    ask(tmp_path, "launch", {"target": "x"}, person, ui=Renderer())
    assert person.requests[0].preview == "countdown for x"


def test_a_renderer_that_breaks_leaves_the_arguments(tmp_path):
    class Renderer:
        @hookimpl
        def nanocoder_render(self, call):
            raise ValueError("boom")

    person = Person(yes)
    result, _ = ask(tmp_path, "launch", {"target": "x"}, person, ui=Renderer())
    assert person.requests[0].preview == "target: x"
    assert not result.is_error


@pytest.mark.contract("MA-114")
@pytest.mark.parametrize("wrong", [{"id": "other"}, {"digest": "0" * 64}])
def test_an_answer_that_echoes_something_else_is_a_refusal(tmp_path, wrong):
    person = Person(lambda request: evolve(yes(request), **wrong))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person)
    assert result.output == "denied: the answer belongs to another request"
    assert "call.started" not in kinds


def test_a_request_that_was_changed_is_not_what_was_agreed_to(tmp_path):
    def sly(request: ApprovalRequest) -> ApprovalAnswer:
        request.call.arguments["target"] = "home"
        return yes(request)

    result, kinds = ask(tmp_path, "launch", {"target": "x"}, Person(sly))
    assert result.output == "denied: the answer belongs to another request"
    assert "call.started" not in kinds


@pytest.mark.contract("MA-114")
def test_of_a_hundred_calls_that_ask_at_once_each_has_its_own_answer(tmp_path):
    inside, most, ran = [0], [0], []

    @tool(risk="dangerous", effects={Effect.EXECUTE}, name="launch")
    def noted(target: Annotated[str, "Where to."]) -> str:
        """Launch something, and remember where to."""
        ran.append(target)
        return target

    @tool(risk="dangerous", effects={Effect.EXECUTE}, composed_of=["launch"])
    def crowd(ctx: ToolContext) -> str:
        """Let another tool work a hundred times at once."""
        work = [partial(ctx.call, "launch", {"target": str(n)}) for n in range(100)]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "done"

    class Crowd:
        @hookimpl
        def nanocoder_tools(self):
            return [noted, crowd]

    def person(request: ApprovalRequest) -> ApprovalAnswer:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        seen.append(request)
        if request.call.name == "crowd":
            answer = yes(request)
        else:
            number = int(request.call.arguments["target"])
            # Every third answers somebody else's request, and says so truly or not.
            answer = (yes(request), no(request), yes(seen[0]))[number % 3]
        inside[0] -= 1
        return answer

    seen: list[ApprovalRequest] = []
    with opened(tmp_path, plugins={"tools": Crowd()}, approve=person) as (session, _):
        result, _ = called(session, "crowd", {})
    assert result.output == "done"
    assert most == [1], "a person is asked one thing at a time"
    assert sorted(map(int, ran)) == list(range(0, 100, 3))
    assert len({one.id for one in seen}) == len({one.sequence for one in seen}) == 101


@pytest.mark.parametrize(
    "odd",
    [{"approved": "no"}, {"approved": 1}, {"always": "no"}, {"reason": 5}, {"arguments": "x"}],
)
def test_an_answer_that_is_not_certainly_a_yes_is_a_refusal(tmp_path, odd):
    person = Person(lambda request: evolve(yes(request), **odd))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person)
    assert result.error_class == "denied"
    assert f"ApprovalAnswer.{next(iter(odd))} is " in result.output
    assert "call.started" not in kinds


@pytest.mark.contract("MA-114")
def test_an_answer_to_an_earlier_request_does_not_count_for_a_later_one(tmp_path):
    person = Person(lambda request: yes(person.requests[0]))
    turns = [[("launch", {"target": "a"})], [("launch", {"target": "b"})], "Done."]
    played = play(tmp_path, turns, plugins={"tools": TOOLS}, approve=person)
    assert [one.error_class for one in played.results] == ["", "denied"]
    assert [request.sequence for request in person.requests] == [1, 2]
    assert len({request.id for request in person.requests}) == 2


@pytest.mark.contract("MA-111")
def test_without_anybody_to_ask_nothing_runs_and_the_report_says_so(tmp_path):
    turns = [[("launch", {"target": "x"})], "It was not possible."]
    played = play(tmp_path, turns, plugins={"tools": TOOLS})
    assert played.report["stop_reason"] == "approval_needed"
    assert played.results[0].error_class == "approval_needed"
    assert "no person can answer" in played.results[0].output


def test_the_installed_way_to_approve_is_used_and_a_broken_one_passed_over(tmp_path):
    class Broken:
        @hookimpl
        def nanocoder_approve(self, request):
            raise OSError("no terminal")

    class Works:
        @hookimpl
        def nanocoder_approve(self, request):
            return yes(request)

    result, _ = ask(tmp_path, "launch", {"target": "x"}, a=Broken(), b=Works())
    assert result.output == "launched at x"


def impatient(folder) -> None:
    settings = folder / ".nanocoder/config.toml"
    settings.parent.mkdir()
    settings.write_text("approval_timeout_s = 0.2\n")


@pytest.mark.contract("MA-116")
def test_without_an_answer_in_time_the_call_is_denied_and_a_late_answer_counts_no_more(tmp_path):
    impatient(tmp_path)
    late, answered = threading.Event(), threading.Event()

    def sleepy(request: ApprovalRequest) -> ApprovalAnswer:
        late.wait(8)
        answered.set()
        return yes(request, always=True)

    plugins = {"tools": TOOLS}
    with opened(tmp_path, plugins=plugins, approve=sleepy) as (session, _):
        result, events = called(session, "launch", {"target": "x"})
        asked = [one for one in events if one.kind == "call.approval_requested"]
        late.set()
        assert answered.wait(8)
        again, told = called(session, "launch", {"target": "x"})
    assert result.error_class == "denied"
    assert result.output == "denied: no answer came within 0.2 s"
    assert asked[0].data["timeout_s"] == 0.2
    assert [event.kind for event in events][-2:] == ["call.denied", "call.returned"]
    assert again.output == "launched at x"
    assert "call.approval_requested" in [event.kind for event in told], "the late yes was not kept"


class Stuck:
    """A plugin whose preview never comes."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    @hookimpl
    def nanocoder_render(self, call):
        self.begun.set()
        self.released.wait(8)
        return "too late"


def test_a_preview_that_hangs_is_left_out_and_its_plugin_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(preview, "PREVIEW_TIMEOUT_S", 0.5)
    seen: list[ApprovalRequest] = []

    def look_at(request: ApprovalRequest) -> ApprovalAnswer:
        seen.append(request)
        return yes(request)

    stuck = Stuck()
    plugins = {"tools": TOOLS, "a-stuck": stuck}
    with opened(tmp_path, plugins=plugins, approve=look_at) as (session, _):
        result, _ = called(session, "launch", {"target": "x"})
        (reported,) = session.plugins.reports
        stuck.begun.clear()
        called(session, "launch", {"target": "y"})
        assert not stuck.begun.is_set(), "it is asked once"
        assert len(session.plugins.reports) == 1
        stuck.released.set()
        monkeypatch.setattr(preview, "PREVIEW_TIMEOUT_S", 8.0)
        called(session, "note", {"target": "z"})
    assert result.output == "launched at x"
    assert [one.preview for one in seen] == ["target: x", "target: y", "too late"]
    assert "'a-stuck': nanocoder_render failed: took longer than 0.5 s" in str(reported)


def test_an_interrupt_does_not_wait_for_a_preview_that_hangs(tmp_path):
    stuck = Stuck()
    cancel = Cancel()

    def interrupt() -> None:
        stuck.begun.wait(8)
        cancel.set()

    threading.Thread(target=interrupt, daemon=True).start()
    plugins = {"tools": TOOLS, "a-stuck": stuck}
    with opened(tmp_path, plugins=plugins, approve=yes) as (session, _):
        result, _ = called(session, "launch", {"target": "x"}, cancel=cancel)
        reported = list(session.plugins.reports)
        assert not stuck.released.is_set()
        stuck.released.set()
    assert result.error_class == "cancelled"
    assert reported == []


@pytest.mark.contract("MA-116")
def test_a_screen_that_keeps_the_time_itself_is_not_taken_for_a_person_who_said_no(tmp_path):
    impatient(tmp_path)

    class Screen:
        @hookimpl
        def nanocoder_approve(self, request):
            time.sleep(request.timeout_s + 0.05)
            return no(request)

    result, _ = ask(tmp_path, "launch", {"target": "x"}, screen=Screen())
    assert result.output == "denied: no answer came within 0.2 s"


@pytest.mark.contract("MA-116")
def test_an_interrupt_does_not_wait_for_an_approver_that_blocks(tmp_path):
    released = threading.Event()
    plugins = {"tools": TOOLS}
    turns = [[("launch", {"target": "x"})], "never"]

    def deaf(request: ApprovalRequest) -> None:
        session.interrupt()
        released.wait(40)

    with opened(tmp_path, turns, plugins=plugins, approve=deaf) as (session, _):
        started = time.monotonic()
        list(session.run("go"))
        assert time.monotonic() - started < 4
        assert session.report.stop_reason == "interrupted"
        released.set()


def test_an_approver_that_answers_garbage_is_no_consent(tmp_path):
    class Garbage:
        @hookimpl
        def nanocoder_approve(self, request):
            return True

    result, _ = ask(tmp_path, "launch", {"target": "x"}, ui=Garbage())
    assert result.error_class == "approval_needed"


@pytest.mark.parametrize("answer", ["raises", True, "yes"])
def test_a_callback_that_breaks_or_answers_garbage_is_no_consent_and_ends_nothing(tmp_path, answer):
    def broken(request):
        if answer == "raises":
            raise ValueError("boom")
        return answer

    turns = [[("launch", {"target": "x"})], "It was not possible."]
    with opened(tmp_path, turns, plugins={"tools": TOOLS}, approve=broken) as (
        session,
        _,
    ):
        list(session.run("go"))
        assert session.report.text == "It was not possible."
        assert session.messages[2].results[0].error_class == "approval_needed"
        assert "'session': nanocoder_approve failed" in str(session.plugins.reports[0])


@pytest.mark.contract("NT-88")
def test_the_same_policy_gives_the_same_decision_on_every_way_in(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, composed_of=["look"], single_confirmation=True)
    def through(ctx, target: Annotated[str, "Where."]) -> str:
        """Look through another tool."""
        return ctx.call("look", {"target": target}).output

    class Through:
        @hookimpl
        def nanocoder_tools(self):
            return [through]

    guard = Policy(lambda call: (call.name == "look" and Verdict(DENY, "look away")) or None)
    turns = [
        [("look", {"target": "a"})],
        [("look", {"target": "b"}), ("look", {"target": "c"})],
        [("through", {"target": "d"})],
        "Done.",
    ]
    plugins = {"tools": TOOLS, "through": Through(), "guard": guard}
    with opened(tmp_path, turns, plugins=plugins) as (session, _):
        list(session.run("go"))
        said = [one.output for message in session.messages for one in message.results]
        said.append(called(session, "look", {"target": "e"})[0].output)
    assert said == ["denied: look away"] * 5


# Order

REFUSED_EARLY = [
    ("lunch", {"target": "x"}, "unknown_tool", []),
    ("launch", {"target": ""}, "invalid_arguments", ["call.normalised"]),
    ("launch", {"target": "home"}, "denied", ["call.normalised", "call.validated", "call.decided"]),
]


@pytest.mark.contract("MA-104")
@pytest.mark.parametrize(("name", "arguments", "error_class", "steps"), REFUSED_EARLY)
def test_nobody_is_asked_about_a_call_that_cannot_run(
    tmp_path, name, arguments, error_class, steps
):
    heard: list[Any] = []

    def guard(call):
        heard.append(call)
        return Verdict(DENY if call.arguments["target"] == "home" else ASK, "not at home")

    person = Person(yes)
    result, kinds = ask(tmp_path, name, arguments, person, p=Policy(guard))
    assert result.error_class == error_class
    assert [kind for kind in kinds if kind not in OUTER] == steps
    assert len(heard) == ("call.decided" in steps)
    assert person.requests == []


OUTER = ("call.received", "call.failed", "call.denied", "call.returned")


class Prudent(Tools):
    """Offers the tools, and knows before that nothing reaches the moon."""

    def __init__(self) -> None:
        super().__init__(launch, look, note)
        self.previews = 0

    @hookimpl
    def nanocoder_render(self, call):
        self.previews += 1
        if call.arguments["target"] == "moon":
            raise ToolError("the moon is 384,400 km away", error_class="too_far", data={"km": 1})


ABOUT_PREVIEWS = ("call.approval_requested", "call.started", "call.failed", "call.returned")


@pytest.mark.contract("MA-104")
def test_nobody_is_asked_about_a_call_that_its_preview_finds_impossible(tmp_path):
    person = Person(yes)
    with opened(tmp_path, plugins={"tools": Prudent()}, approve=person) as (session, _):
        result, events = called(session, "launch", {"target": "moon"})
        assert session.plugins.reports == []
        assert not called(session, "launch", {"target": "sea"})[0].is_error
    assert (result.output, result.error_class) == ("the moon is 384,400 km away", "too_far")
    assert result.data == {"km": 1}
    told = [event for event in events if event.kind in ABOUT_PREVIEWS]
    assert [event.kind for event in told] == ["call.failed", "call.returned"]
    assert told[0].data["stage"] == "policy"
    assert [request.call.arguments["target"] for request in person.requests] == ["sea"]


@pytest.mark.contract("MA-104")
def test_an_edit_that_runs_into_a_rule_anew_may_prove_impossible(tmp_path):
    policy = Policy(lambda call: Verdict(ASK, f"at {call.arguments['target']}?"))
    person = Person(lambda request: yes(request, arguments={"target": "moon"}))
    plugins = {"tools": Prudent(), "p": policy}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        result, _ = called(session, "launch", {"target": "x"})
    assert result.output.startswith("[a person changed the arguments")
    assert result.error_class == "too_far"
    assert len(person.requests) == 1


@pytest.mark.contract("MA-104")
def test_what_is_denied_is_not_even_looked_at(tmp_path):
    prudent = Prudent()
    guard = Policy(lambda _: Verdict(DENY, "no launches"))
    with opened(tmp_path, plugins={"tools": prudent, "p": guard}) as (session, _):
        result, _ = called(session, "launch", {"target": "moon"})
    assert (result.output, prudent.previews) == ("denied: no launches", 0)


def test_what_a_rule_guards_the_model_learns_only_after_a_person_agreed(tmp_path):
    person = Person(no)
    mode = Policy(lambda _: Verdict(ASK, "mode ask asks"))
    guard = Policy(lambda _: Verdict(ASK, "a rule asks", rule="launch(moon)"))
    plugins = {"tools": Prudent(), "a-mode": mode, "p": guard}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        result, _ = called(session, "launch", {"target": "moon"})
    assert result.output == "denied by the user"
    said = "[this call will fail: the moon is 384,400 km away]\ntarget: moon"
    assert (person.requests[0].preview, person.requests[0].reason) == (said, "a rule asks")


def test_only_the_plugin_of_a_tool_knows_that_it_cannot_work_and_is_always_heard(tmp_path):
    class Other:
        @hookimpl
        def nanocoder_render(self, call):
            if call.arguments["target"] == "sea":
                raise ToolError("not there")
            return "an expedition"

    person = Person(yes)
    plugins = {"a-other": Other(), "tools": Prudent()}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        assert called(session, "launch", {"target": "moon"})[0].error_class == "too_far"
        assert called(session, "launch", {"target": "sea"})[0].output == "launched at sea"
        assert "'a-other': nanocoder_render failed: not there" in str(session.plugins.reports)
        called(session, "launch", {"target": "hill"})
    assert [one.preview for one in person.requests] == ["target: sea", "an expedition"]


def test_what_an_early_error_quotes_is_redacted_like_any_result(tmp_path):
    class Redacting:
        @hookimpl
        def nanocoder_after_execute(self, result):
            return evolve(result, output=result.output.replace("384,400", "***"))

    plugins = {"tools": Prudent(), "redacting": Redacting()}
    with opened(tmp_path, plugins=plugins, approve=yes) as (session, _):
        result, _ = called(session, "launch", {"target": "moon"})
    assert result.output == "the moon is *** km away"
    assert result.data is None


def test_a_renderer_or_policy_that_changes_the_arguments_changes_nothing(tmp_path):
    class Meddling(Tools):
        @hookimpl
        def nanocoder_render(self, call):
            call.arguments["target"] = "home"

    def meddle(call):
        call.arguments["target"] = "away"
        return Verdict(ASK, "sure?")

    person = Person(yes)
    plugins = {"tools": Meddling(launch, look, note), "p": Policy(meddle)}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        result, events = called(session, "launch", {"target": "x"})
    (request,) = person.requests
    (started,) = (event for event in events if event.kind == "call.started")
    assert (result.output, request.preview) == ("launched at x", "target: x")
    assert request.call.arguments == started.data["arguments"] == {"target": "x"}


def test_a_preview_of_ten_megabytes_is_whole(tmp_path):
    person = Person(yes)
    target = "<" + "x" * 10_000_000 + ">"
    result, _ = ask(tmp_path, "launch", {"target": target}, person)
    assert not result.is_error
    assert person.requests[0].preview == f"target: {target}"


@pytest.mark.contract("MA-104")
def test_a_call_is_found_then_checked_then_judged_then_agreed_to_then_run(tmp_path):
    order: list[str] = []

    def person(request):
        order.append("person")
        return yes(request)

    policy = Policy(lambda _: order.append("policy") or Verdict(ASK, "sure?"))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person, p=policy)
    assert (result.output, order) == ("launched at x", ["policy", "person", "policy"])
    assert kinds == [
        "call.received",
        "call.normalised",
        "call.validated",
        "call.decided",
        "call.approval_requested",
        "call.approved",
        "call.started",
        "call.finished",
        "call.returned",
    ]


# Editing


@pytest.mark.contract("NT-41")
def test_an_edited_call_runs_as_it_was_written_and_is_marked(tmp_path):
    person = Person(lambda request: yes(request, arguments={"target": "the sea"}))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person)
    told, said = result.output.split("\n")
    assert told == '[a person changed the arguments to {"target":"the sea"}]'
    assert result.metadata["note"] == told
    assert said == "launched at the sea"
    assert "call.edited" in kinds
    assert len(person.requests) == 1


# SHELL-181
@pytest.mark.contract("NT-41")
def test_an_edited_call_is_judged_again(tmp_path):
    def guard(call):
        forbidden = call.arguments["target"] == "home"
        return Verdict(DENY, "not at home") if forbidden else Verdict(ASK, "sure?")

    person = Person(lambda request: yes(request, arguments={"target": "home"}))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person, p=Policy(guard))
    assert result.output == "denied: not at home"
    assert "call.started" not in kinds


@pytest.mark.contract("NT-41")
def test_an_edited_call_is_checked_again(tmp_path):
    person = Person(lambda request: yes(request, arguments={"target": ""}))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person)
    assert result.error_class == "invalid_arguments"
    assert "call.started" not in kinds


def test_a_rule_that_the_edit_runs_into_asks_anew_with_a_new_digest(tmp_path):
    def guard(call):
        return Verdict(ASK, f"at {call.arguments['target']}?")

    edits = iter([{"target": "b"}, None])
    person = Person(lambda request: yes(request, arguments=next(edits)))
    result, _ = ask(tmp_path, "launch", {"target": "a"}, person, p=Policy(guard))
    assert result.output.endswith("launched at b")
    assert [request.reason for request in person.requests] == ["at a?", "at b?"]
    assert person.requests[0].digest != person.requests[1].digest


@pytest.mark.timeout(20)
def test_editing_for_ever_ends_in_a_denial(tmp_path):
    def guard(call):
        return Verdict(ASK, f"at {call.arguments['target']}?")

    person = Person(
        lambda request: yes(request, arguments={"target": request.call.arguments["target"] + "x"})
    )
    result, _ = ask(tmp_path, "launch", {"target": "a"}, person, p=Policy(guard))
    assert result.error_class == "denied"
    assert "asked 10 times" in result.output


# Always


@pytest.mark.contract("MA-110")
def test_always_holds_for_the_session_and_for_processes_only_for_the_same_arguments(tmp_path):
    person = Person(lambda request: yes(request, always=True))
    targets = ["a", "a", "b"]
    turns = [
        *([("launch", {"target": one}), ("note", {"target": one})] for one in targets),
        "Done.",
    ]
    played = play(tmp_path, turns, plugins={"tools": TOOLS}, approve=person)
    assert [one.is_error for one in played.results] == [False] * 6
    asked = [(one.call.name, one.call.arguments["target"]) for one in person.requests]
    assert asked == [("launch", "a"), ("note", "a"), ("launch", "b")]


def test_always_is_about_what_was_written_not_about_what_was_edited_away(tmp_path):
    answers = iter([{"arguments": {"target": "sea"}, "always": True}, {}, {}])
    person = Person(lambda request: yes(request, **next(answers)))
    with opened(tmp_path, plugins={"tools": TOOLS}, approve=person) as (
        session,
        _,
    ):
        for target in ("home", "home", "sea"):
            called(session, "launch", {"target": target})
    assert [one.call.arguments["target"] for one in person.requests] == ["home", "home"]


@pytest.mark.parametrize(
    "odd", [{1: "x", "target": "y"}, {"target": float("nan")}, {"target": {1}}]
)
def test_edited_arguments_that_no_json_can_hold_run_nothing(tmp_path, odd):
    person = Person(lambda request: yes(request, arguments=odd, always=True))
    result, kinds = ask(tmp_path, "launch", {"target": "x"}, person)
    assert result.error_class == "invalid_arguments"
    assert "call.started" not in kinds


def test_always_ends_with_the_session(tmp_path):
    person = Person(lambda request: yes(request, always=True))
    for _ in range(2):
        ask(tmp_path, "note", {"target": "a"}, person)
    assert len(person.requests) == 2


def test_a_deny_holds_against_always(tmp_path):
    said = iter([Verdict(ASK, "sure?"), Verdict(ASK, "sure?"), Verdict(DENY, "no more")])
    person = Person(lambda request: yes(request, always=True))
    turns = [[("note", {"target": "a"})], [("note", {"target": "a"})], "Done."]
    plugins = {"tools": TOOLS, "p": Policy(lambda _: next(said))}
    played = play(tmp_path, turns, plugins=plugins, approve=person)
    assert [one.error_class for one in played.results] == ["", "denied"]


def test_whether_a_person_is_there_cannot_be_said_by_the_model(tmp_path):
    arguments = {"target": "x", "interactive": True, "approved": True}
    result, _ = ask(tmp_path, "launch", arguments)
    assert result.error_class == "invalid_arguments"


@pytest.mark.parametrize(("limit", "expected"), [(None, 0.0), (300.0, 300.0), (7.0, 7.0)])
def test_a_question_at_a_terminal_waits_unless_a_limit_was_set(tmp_path, limit, expected):
    class AtTerminal:
        @hookimpl
        def nanocoder_approve(self, request):
            limits.append(request.timeout_s)
            return yes(request)

    limits: list[float] = []
    environment = {} if limit is None else {"NANOCODER_APPROVAL_TIMEOUT_S": str(limit)}
    config = Config.load(tmp_path, environment=environment)
    plugins = {"tools": TOOLS, "ui": AtTerminal()}
    with opened(tmp_path, plugins=plugins, interactive=True, config=config) as (session, _):
        called(session, "launch", {"target": "x"})
    assert limits == [expected]
