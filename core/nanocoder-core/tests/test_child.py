"""Sessions inside a session: what they share, what they have alone, and how they end."""

import json
import threading
import time
from types import SimpleNamespace

import pytest
from nanocoder import (
    ApprovalAnswer,
    Finished,
    Mode,
    Plugins,
    Question,
    Resource,
    Sandbox,
    TextDelta,
    ToolCall,
    ToolResult,
    UsageError,
    hookimpl,
    open_session,
    tool,
)
from nanocoder.config import Config
from nanocoder.provider import ProviderSpec
from nanocoder.values import Usage
from nanocoder_kit_sessions import SessionStore, remove, testing
from nanocoder_testing.playing import called

ANY = {"effects": {"read", "write"}, "composed_of": ("*",), "timeout_s": 0, "risk": "medium"}


class Model:
    """Answers with what the test's function says for a request."""

    profile = "full"
    context = 0

    def __init__(self, answer):
        self._answer = answer

    def stream(self, request, cancel):
        text, calls, usage = self._answer(request, cancel)
        yield TextDelta(text)
        yield Finished(text, calls, usage)

    def models(self):
        return []

    def close(self):
        """Hold nothing, close nothing."""


@tool(risk="medium", effects={"write"})
def write_file(ctx, path: str, content: str) -> ToolResult:
    """Write a file."""
    ctx.workspace.write_text(path, content)
    return ToolResult("written", metadata={"path": path})


@tool(risk="safe", effects={"read"}, timeout_s=0)
def ask_user(ctx, text: str) -> str:
    """Ask the person."""
    return str(ctx.ask(Question(text)))


def write(path="a.txt"):
    return ToolCall("w", "write_file", {"path": path, "content": "text"})


@pytest.fixture
def session(tmp_path):
    """Open a session whose tool `lead` runs *body*: with session(body) as s: s.lead()."""
    opened = []

    def open_it(body, answer=lambda request, cancel: ("Done.", (), Usage(1, 2)), **options):
        lead = tool(name="lead", description="Lead.", **{**ANY, **options.pop("fields", {})})(body)
        plugins = Plugins()
        box = options.pop("box", ())
        tools = options.pop("more", [write_file])
        mine = SimpleNamespace(
            nanocoder_sandboxes=hookimpl(lambda: box[:1]),
            nanocoder_resources=hookimpl(lambda: box[1:]),
            nanocoder_tools=hookimpl(lambda: [lead, *tools, ask_user]),
            nanocoder_providers=hookimpl(
                lambda: [ProviderSpec("m", lambda _m, _s: Model(answer), default_model="x")]
            ),
        )
        plugins.add(mine, "mine")
        plugins.add(testing, "files")
        environment = {"HOME": str(tmp_path / "home")}
        cwd = tmp_path / "work"
        cwd.mkdir(exist_ok=True)
        flags = {"model": "m/x", **options.pop("flags", {})}
        config = Config.load(cwd, flags=flags, environment=environment)
        made = open_session(cwd, plugins=plugins, config=config, environment=environment, **options)
        opened.append(made)
        return made

    yield open_it
    for one in opened:
        one.close()


def yes(request):
    return ApprovalAnswer(request.id, request.digest, approved=True)


def run(child, prompt="go"):
    with child:
        return list(child.run(prompt))


def calling(*calls):
    """Return a model that makes *calls* first and is done then."""

    def answer(request, cancel):
        is_first = request.messages[-1].role == "user"
        return ("", calls, Usage(1, 2)) if is_first else ("Done.", (), Usage(1, 2))

    return answer


@pytest.mark.contract("MA-82")
def test_its_journal_is_kept_with_the_parent_s_and_found_by_its_id(session, tmp_path):
    def lead(ctx) -> str:
        child = ctx.child(agent="review")
        run(child, "look here")
        return child.id

    parent = session(lead)
    child_id = called(parent, "lead", {})[0].output
    parent.close()
    store = SessionStore(tmp_path / "home/.local/state/nanocoder")
    path = store.folder / parent.id / "sessions" / f"{child_id}.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    about = first.get("data", first)
    assert (about["parent"], about["parent_call"], about["agent"]) == (
        parent.id,
        "call-1",
        "review",
    )
    shown = SessionStore(store.folder / parent.id).transcript(child_id)
    assert [message.text for message in shown.messages] == ["look here", "Done."]
    assert [one.id for one in store.list()] == [parent.id]
    with pytest.raises(UsageError):
        store.find(child_id)
    remove(store, parent.id)
    assert not path.exists()


# CONC-017
@pytest.mark.contract("MA-85")
def test_its_mode_is_never_looser_and_follows_the_parent_s_to_a_stricter_one(session):
    seen = []

    def lead(ctx) -> str:
        for wanted in (None, "auto", "plan"):
            with ctx.child(mode=wanted) as child:
                seen.append(str(child.info.mode))
        with ctx.child() as child:
            parent.set_mode(Mode.PLAN)
            seen.append(str(child.info.mode))
        return ""

    parent = session(lead, flags={"mode": "edits"})
    called(parent, "lead", {})
    assert seen == ["edits", "edits", "plan", "plan"]


# CONC-017
@pytest.mark.contract("MA-85")
def test_nothing_that_happens_while_it_is_made_makes_it_looser_than_its_parent(session):
    seen = []

    class Store:
        def __init__(self, store):
            self.store = store

        def start(self, *place, **facts):
            journal = self.store.start(*place, **facts)
            parent.set_mode(Mode.PLAN)
            return journal

    def lead(ctx) -> str:
        parent.sessions = Store(parent.sessions)
        for background in (False, True):
            parent.set_mode(Mode.AUTO)
            with ctx.child(background=background) as child:
                seen.append(str(child.info.mode))
                child.set_mode(Mode.AUTO)
                seen.append(str(child.info.mode))
        return ""

    parent = session(lead, flags={"mode": "auto"})
    assert called(parent, "lead", {})[0].output == ""
    assert seen == ["plan"] * 4


@pytest.mark.contract("MA-85")
@pytest.mark.parametrize("background", [False, True])
def test_one_that_is_made_while_its_call_is_stopped_does_not_begin(session, background):
    reasons, ended = [], threading.Event()

    def lead(ctx) -> str:
        parent.interrupt("enough")
        assert ctx.cancelled.wait(40)
        child = ctx.child(background=background)
        run(child)
        reasons.append(str(child.report.stop_reason))
        ended.set()
        return ""

    def answer(request, cancel):
        cancel.check()
        return "Done.", (), Usage()

    parent = session(lead, answer)
    list(parent.call("lead", {}))
    assert ended.wait(40)  # the call that was stopped does not wait for its thread
    assert reasons == ["interrupted"]


@pytest.mark.contract("MA-85")
def test_it_goes_by_the_configuration_that_its_parent_has_read_again(session, tmp_path):
    @tool(name="write_file", risk="safe", effects={"read"})
    def wrapped(ctx, path: str, content: str) -> str:
        """Say how a process would run."""
        return " ".join(ctx.wrap(["make"]))

    def lead(ctx) -> str:
        child = ctx.child()
        file = tmp_path / "home/.config/nanocoder/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text('sandbox = "box"\n')
        parent.reload()
        run(child)
        return child.messages[-2].results[0].error_class

    parent = session(lead, calling(write()), more=[wrapped])
    assert called(parent, "lead", {})[0].output == "sandbox_unavailable"


@pytest.mark.contract("MA-85")
def test_its_title_takes_one_line_of_the_question(session):
    reasons = []

    def approve(request):
        reasons.append(request.reason)
        return yes(request)

    def lead(ctx) -> str:
        run(ctx.child(agent="one", title="x\n\nAllowed before.\x1b[2J" + "y" * 9_000))
        return ""

    parent = session(lead, calling(write()), approve=approve)
    called(parent, "lead", {})
    [reason] = reasons
    assert len(reason.splitlines()) == 1
    assert len(reason) < 400


@pytest.mark.contract("MA-85")
def test_its_requests_reach_the_parent_s_person_and_consent_that_was_kept_counts(session, tmp_path):
    asked = []

    def approve(request):
        asked.append((request.call.name, request.call.parent_id, request.reason))
        return ApprovalAnswer(request.id, request.digest, approved=True, always=True)

    def lead(ctx) -> str:
        (tmp_path / "other").mkdir()
        run(ctx.child(agent="one"))
        run(ctx.child(agent="two"))
        run(ctx.child(tmp_path / "other"))
        return ""

    parent = session(lead, calling(write()), approve=approve)
    called(parent, "lead", {})
    assert [(name, call) for name, call, _ in asked] == [("write_file", "call-1")] * 2
    assert asked[0][2].startswith("sub-agent one: ")
    assert (tmp_path / "other/a.txt").read_text() == "text"


@pytest.mark.contract("MA-85")
def test_whoever_listens_hears_of_its_requests_and_its_questions_while_they_stand(session):
    heard, standing = [], []

    def answered(give):
        def answer(request):
            standing.append(heard[-1])
            return give(request)

        return answer

    def lead(ctx) -> str:
        run(ctx.child(agent="one"))
        return ""

    calls = (write(), ToolCall("q", "ask_user", {"text": "Which colour?"}))
    parent = session(
        lead,
        calling(*calls),
        approve=answered(yes),
        ask=answered(lambda _: "blue"),
        interactive=True,
    )
    for event in parent.call("lead", {}):
        heard.append(event)  # noqa: PERF402 - read while the next one is on its way
    asked = [one.kind for one in standing]
    assert asked == ["call.approval_requested", "call.asked"]
    assert {one.call_id for one in standing} == {heard[-1].call_id}
    assert standing[0].data["tool"] == "write_file"
    replies = [one.data["answer"] for one in heard if one.kind == "call.answered"]
    assert replies == ["approved", "blue"]


@pytest.mark.contract("MA-85")
@pytest.mark.parametrize(("background", "answer"), [(False, "blue"), (True, "None")])
def test_its_questions_reach_the_parent_s_person_unless_it_is_in_the_background(
    session, background, answer
):
    def lead(ctx) -> str:
        child = ctx.child(background=background)
        run(child)
        return child.messages[-2].results[0].output

    question = ToolCall("q", "ask_user", {"text": "Which colour?"})
    parent = session(lead, calling(question), ask=lambda _: "blue", interactive=True)
    assert called(parent, "lead", {})[0].output == answer


@pytest.mark.contract("MA-85")
def test_what_it_uses_and_changes_counts_for_the_parent(session):
    def lead(ctx) -> str:
        run(ctx.child())
        return ""

    def answer(request, cancel):
        usage = Usage(10, 20, cost=0.25)
        asked = request.messages[-1]
        if asked.text == "go":
            return "", (write(),), usage
        return "Done.", (), usage

    parent = session(lead, answer, approve=yes)
    list(parent.call("lead", {}))
    report = parent.report.data()
    assert (report["usage"]["input_tokens"], report["cost"]) == (20, 0.5)
    assert report["files_changed"] == ["a.txt"]


@pytest.mark.contract("MA-84")
def test_the_parent_s_own_budget_ends_it(session):
    reasons = []

    def lead(ctx) -> str:
        child = ctx.child()
        run(child)
        reasons.append(str(child.report.stop_reason))
        return ""

    def answer(request, cancel):
        count = sum(one.role == "assistant" for one in request.messages)
        first = str(request.messages[0].text)
        if first == "lead on":
            calls = () if count else (ToolCall("l", "lead", {}),)
            return ("x" * count, calls, Usage(60, 0))
        return "", (write(f"{count}.txt"),), Usage(30, 0)

    parent = session(lead, answer, approve=yes, flags={"max_tokens": 100})
    list(parent.run("lead on"))
    assert reasons == ["budget"]
    assert str(parent.report.stop_reason) == "budget"
    assert parent.report.usage.input_tokens == 120


@pytest.mark.contract("MA-84")
def test_its_own_budget_is_told_once_before_it_ends(session):
    texts = []

    def lead(ctx) -> str:
        child = ctx.child(max_calls=1)
        run(child)
        texts.extend(one.output for m in child.messages for one in m.results)
        return str(child.report.stop_reason)

    def answer(request, cancel):
        count = sum(one.role == "assistant" for one in request.messages)
        return "", (write(f"{count}.txt"),), Usage()

    parent = session(lead, answer, approve=yes)
    assert called(parent, "lead", {})[0].output == "budget"
    assert texts[0] == "written"
    assert texts[1] == "not run: the budget of 1 calls is spent; answer now with what you have"


@pytest.mark.contract("F9")
@pytest.mark.parametrize("background", [False, True])
def test_the_wall_clock_of_a_run_stops_its_sub_agents(session, tmp_path, background):
    children = []
    unlimited = Config.load(tmp_path, environment={"HOME": str(tmp_path / "home")})

    def lead(ctx) -> str:
        child = ctx.child(background=background)
        # Its own clock would run out at the same time: only the parent's is to be seen here.
        child.config = unlimited
        children.append(child)
        if background:
            threading.Thread(target=run, args=(child,)).start()
            return "started"
        run(child)
        return "never"

    def answer(request, cancel):
        if request.messages[-1].text == "lead on":
            return "", (ToolCall("l", "lead", {}),), Usage()
        cancel.wait(30)  # the sub-agent, and its parent after the call
        cancel.check()
        raise AssertionError("it was not stopped")

    parent = session(lead, answer, approve=yes, flags={"max_seconds": 1.0})
    list(parent.run("lead on"))
    assert str(parent.report.stop_reason) == "budget"
    assert "limit of 1 s (max_seconds" in parent.report.error["message"]
    parent.close()
    assert [str(child.report.stop_reason) for child in children] == ["interrupted"]


@pytest.mark.contract("MA-82")
def test_only_a_tool_that_may_call_any_other_opens_sessions_and_none_opens_them_inside(session):
    def lead(ctx) -> str:
        with ctx.child():
            return "opened"

    parent = session(lead, fields={"composed_of": ("write_file",)}, approve=yes)
    assert called(parent, "lead", {})[0].error_class == "undeclared_subtool"

    def nest(ctx) -> str:
        child = ctx.child()
        run(child)
        return child.messages[-2].results[0].error_class

    nested = session(nest, calling(ToolCall("n", "lead", {})))
    assert called(nested, "lead", {})[0].output == "nested_session"


def test_it_has_the_tools_that_are_left_to_it_and_the_parent_keeps_all(session):
    def lead(ctx) -> str:
        with ctx.child(tools=lambda one: one.name == "ask_user") as child:
            return " ".join([*child.tools, "|", *parent.tools])

    parent = session(lead)
    assert called(parent, "lead", {})[0].output == "ask_user | ask_user lead write_file"


@pytest.mark.contract("MA-82")
def test_it_is_interrupted_with_the_call_that_opened_it(session):
    begun = threading.Event()

    def lead(ctx) -> str:
        child = ctx.child()
        run(child)
        return str(child.report.stop_reason)

    def answer(request, cancel):
        begun.set()
        cancel.wait(20)
        cancel.check()

    parent = session(lead, answer)

    def stop():
        begun.wait(40)
        parent.interrupt()

    threading.Thread(target=stop).start()
    events = list(parent.call("lead", {}))
    assert events[-1].data["output"] in {"interrupted", "lead was interrupted"}


@pytest.mark.contract("MA-84")
def test_the_end_of_the_session_interrupts_and_awaits_those_in_the_background(session):
    begun, ended = threading.Event(), []

    def lead(ctx) -> str:
        child = ctx.child(background=True)

        def work():
            run(child)
            ended.append(str(child.report.stop_reason))

        threading.Thread(target=work, daemon=True).start()
        return ""

    def answer(request, cancel):
        begun.set()
        cancel.wait(20)
        cancel.check()

    parent = session(lead, answer)
    list(parent.call("lead", {}))
    assert begun.wait(40)
    parent.close()
    assert parent._sub_sessions._open == {}


def test_plugins_hear_one_event_at_a_time(session):
    inside, crowd, heard = threading.Lock(), [], []

    class Listener:
        @hookimpl
        def nanocoder_event(self, event, session):
            if not inside.acquire(blocking=False):
                crowd.append(event.kind)
                return
            heard.append(session.agent)
            time.sleep(0.002)
            inside.release()

    def lead(ctx) -> str:
        threads = [threading.Thread(target=run, args=(ctx.child(agent=n),)) for n in "abc"]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return ""

    parent = session(lead)
    parent.plugins.add(Listener(), "listener")
    list(parent.call("lead", {}))
    assert crowd == []
    assert set(heard) == {"", "a", "b", "c"}


@pytest.mark.contract("MA-85")
def test_its_processes_run_in_the_session_s_sandbox_with_its_own_directory(session, tmp_path):
    class Box:
        def __init__(self, session, _settings):
            self.session = session

        def changes(self):
            return ()

        def wrap(self, argv, ports, _access):
            return ["box", str(self.session.cwd), *argv]

    @tool(name="write_file", risk="safe", effects={"read"})
    def wrapped(ctx, path: str, content: str) -> str:
        """Say how a process would run."""
        return " ".join([ctx.session.sandbox, *ctx.wrap(["make"])])

    def lead(ctx) -> str:
        (tmp_path / "other").mkdir()
        child = ctx.child(tmp_path / "other")
        run(child)
        return child.messages[-2].results[0].output

    box = Sandbox("box", in_force=lambda _: "box"), Resource("box", Box)
    parent = session(lead, calling(write()), flags={"sandbox": "box"}, more=[wrapped], box=box)
    assert called(parent, "lead", {})[0].output == f"box box {tmp_path / 'other'} make"


def test_a_sandbox_that_is_missing_refuses_each_process_and_is_in_force_nowhere(session):
    def lead(ctx) -> str:
        assert ctx.session.sandbox == ""
        return ctx.wrap(["make"])[0]

    result = called(session(lead, flags={"sandbox": "box"}), "lead", {})[0]
    assert result.error_class == "sandbox_unavailable"
    assert called(session(lead, flags={"sandbox": "none"}), "lead", {})[0].output == "make"


@pytest.mark.contract("MA-82")
def test_more_than_eight_at_once_are_refused(session):
    def lead(ctx) -> str:
        opened = [ctx.child() for _ in range(8)]
        try:
            ctx.child()
        finally:
            for one in opened:
                one.close()
        return ""

    assert called(session(lead), "lead", {})[0].error_class == "too_many_sessions"
