"""How far one consent reaches: to the steps of one call, while it runs, and to nothing else."""

import threading
from typing import Annotated

import pytest
from nanocoder import (
    ApprovalAnswer,
    Cancelled,
    Effect,
    Mode,
    ToolContext,
    tool,
)
from nanocoder_testing import Tools, opened, play
from nanocoder_testing.playing import called

WRITES = {"risk": "medium", "effects": {Effect.WRITE}}


class Person:
    """Somebody who agrees to everything and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request):
        self.asked.append(request.call.name)
        return ApprovalAnswer(request.id, request.digest, approved=True)


@tool(**WRITES)
def scribble(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
    """Write a word into a file."""
    ctx.workspace.write_text(path, "word\n")
    return "written"


@tool(**WRITES, composed_of=["scribble"], single_confirmation=True)
def outer(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
    """Write through one step."""
    return ctx.call("scribble", {"path": path}).output


@pytest.mark.contract("CO-09")
def test_a_nested_call_that_did_not_declare_it_hands_no_consent_on(tmp_path):
    @tool(**WRITES, composed_of=["scribble"])
    def inner(ctx: ToolContext) -> str:
        """Write through one step, and say nothing of one confirmation."""
        return ctx.call("scribble", {"path": "a.txt"}).output

    @tool(**WRITES, composed_of=["inner"], single_confirmation=True)
    def whole(ctx: ToolContext) -> str:
        """Call what calls another."""
        return ctx.call("inner", {}).output

    person = Person()
    plugins = {"tools": Tools(whole, inner, scribble)}
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        assert called(session, "whole", {})[0].output == "written"
    assert person.asked == ["whole", "scribble"]


@pytest.mark.contract("CO-09")
def test_consent_to_one_call_is_none_to_another_of_the_same_turn(tmp_path):
    person = Person()
    calls = [("outer", {"path": "a"}), ("outer", {"path": "b"}), ("scribble", {"path": "c"})]
    play(tmp_path, [calls, "."], plugins={"tools": Tools(outer, scribble)}, approve=person)
    assert person.asked == ["outer", "outer", "scribble"]


@pytest.mark.contract("CO-09")
@pytest.mark.parametrize("end", ["exception", "timeout"])
def test_consent_ends_with_a_call_that_breaks_or_is_cancelled(tmp_path, end):
    kept: list[ToolContext] = []

    @tool(**WRITES, composed_of=["scribble"], single_confirmation=True, timeout_s=0.1)
    def broken(ctx: ToolContext) -> str:
        """Keep the context, and end in no good way."""
        kept.append(ctx)
        if end == "exception":
            raise ValueError("boom")
        ctx.cancelled.wait(8)
        return ""

    plugins = {"tools": Tools(broken, scribble)}
    with opened(tmp_path, plugins=plugins, approve=Person()) as (session, _):
        called(session, "broken", {})
        with pytest.raises(Cancelled):
            kept[0].call("scribble", {"path": "late.txt"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("CO-24")
def test_a_step_without_its_required_arguments_is_a_result_and_never_ran(tmp_path):
    @tool(**WRITES, composed_of=["scribble"], single_confirmation=True)
    def forgetful(ctx: ToolContext) -> str:
        """Forget the path."""
        result = ctx.call("scribble", {})
        return f"{result.error_class}: {result.output}"

    plugins = {"tools": Tools(forgetful, outer, scribble)}
    person = Person()
    with opened(tmp_path, plugins=plugins, approve=person) as (session, _):
        said = called(session, "forgetful", {})[0].output
        missing, events = called(session, "outer", {})
    assert said == "invalid_arguments: path: required, but missing"
    assert missing.error_class == "invalid_arguments"
    assert "call.started" not in [event.kind for event in events]
    assert person.asked == ["forgetful"]


@pytest.mark.contract("CO-25")
def test_without_anybody_to_ask_a_composed_call_does_nothing_and_says_why(tmp_path):
    with opened(tmp_path, plugins={"tools": Tools(outer, scribble)}) as (session, _):
        result, _ = called(session, "outer", {"path": "a.txt"})
    assert result.error_class == "approval_needed"
    assert "no person can answer" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("CO-21")
def test_each_call_has_a_private_directory_of_its_own_and_an_exception_removes_it(tmp_path):
    seen = []

    @tool(risk="safe", effects={Effect.READ})
    def draft(ctx: ToolContext) -> str:
        """Write a draft, and break."""
        (ctx.tmp_dir / "x").write_text("x")
        seen.append((ctx.tmp_dir, ctx.tmp_dir.stat().st_mode & 0o777))
        raise ValueError("boom")

    with opened(tmp_path, plugins={"tools": Tools(draft)}) as (session, _):
        called(session, "draft", {})
        called(session, "draft", {})
    (first, mode), (second, _) = seen
    assert first != second
    assert mode == 0o700
    assert not first.exists()
    assert not second.exists()


@pytest.mark.contract("NT-49")
@pytest.mark.parametrize("path", ["../out.txt", "/tmp/out.txt", "link/out.txt", "../{root}-evil/x"])
def test_a_tool_of_anybody_is_kept_inside_by_its_context(tmp_path, path):
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "work-evil").mkdir()
    (root / "link").symlink_to(tmp_path)
    arguments = {"path": path.format(root=root.name)}
    with opened(root, plugins={"acme": Tools(scribble)}, approve=Person()) as (session, _):
        result, _ = called(session, "scribble", arguments)
    assert result.error_class == "path_outside_workspace"
    assert not list(tmp_path.glob("*.txt"))
    assert list((tmp_path / "work-evil").iterdir()) == []


@pytest.mark.contract("NT-49")
def test_a_tool_of_anybody_ends_at_the_limit_that_the_configuration_gives_all(tmp_path):
    folder = tmp_path / ".nanocoder"
    folder.mkdir()
    (folder / "config.toml").write_text("call_timeout_s = 0.2\n")
    released = threading.Event()

    @tool(risk="safe", effects={Effect.READ})
    def stuck() -> str:
        """Wait for ever, and know of no limit."""
        released.wait(8)
        return "late"

    with opened(tmp_path, plugins={"acme": Tools(stuck)}) as (session, _):
        result, _ = called(session, "stuck", {})
        released.set()
    assert result.error_class == "timeout"


@pytest.mark.contract("CO-19")
def test_in_plan_mode_a_composed_tool_reads_only_whatever_its_steps_could_do(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def look() -> str:
        """Look."""
        return "seen"

    @tool(risk="safe", effects={Effect.READ}, composed_of=["look"])
    def twice(ctx: ToolContext) -> str:
        """Look twice."""
        return ctx.call("look", {}).output * 2

    @tool(risk="safe", effects={Effect.READ}, composed_of=["look", "scribble"])
    def sly(ctx: ToolContext) -> str:
        """Say that it reads, and write."""
        return ctx.call("scribble", {"path": "a.txt"}).output

    plugins = {"tools": Tools(look, twice, outer, sly, scribble)}
    turns = [[("twice", {}), ("sly", {})], "."]
    played = play(tmp_path, turns, plugins=plugins, mode=Mode.PLAN, approve=Person())
    offered = {one.name for one in played.model.requests[0].tools}
    assert "twice" in offered
    assert offered.isdisjoint({"outer", "scribble"})
    read, written = (one.output for one in played.results)
    assert read == "seenseen"
    assert "sly may not call 'scribble'" in written
    assert not (tmp_path / "a.txt").exists()
