"""Tools that are tried again, limited in time, or replaced where they fail."""

from types import SimpleNamespace

import pytest
from nanocoder import (
    Cancel,
    Cancelled,
    Denied,
    Effect,
    PluginError,
    Risk,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    hookimpl,
    tool,
)
from nanocoder_testing.playing import called, opened
from nanocoder_tool_wrap import (
    Settings,
    nanocoder_tools,
    with_fallback,
    with_retry,
    with_timeout,
)


class Shaky:
    """Makes a tool that fails some times, as told."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.calls = 0

    def tool(self, **fields):
        @tool(**{"risk": "safe", "effects": {Effect.READ}, **fields})
        def look(path: str) -> object:
            """Look at something."""
            self.calls += 1
            failure = self.failures.pop(0) if self.failures else None
            if isinstance(failure, BaseException):
                raise failure
            return failure or f"saw {path}"

        return look


FAILED = ToolError("not yet")


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext("s", "c", workspace, tmp_path, progress=print)


@pytest.mark.contract("CO-02")
def test_a_call_that_fails_is_tried_again(ctx, capsys):
    shaky = Shaky(FAILED, ToolResult("no", is_error=True, error_class="busy"))
    result = with_retry(shaky.tool()).invoke(ctx, {"path": "a"})
    assert (result.output, shaky.calls) == ("saw a", 3)
    assert capsys.readouterr().out == "attempt 1 of 3 failed\nattempt 2 of 3 failed\n"


def test_the_last_failure_is_what_comes_back(ctx):
    shaky = Shaky(FAILED, FAILED, ToolError("never"), FAILED)
    with pytest.raises(ToolError, match="never"):
        with_retry(shaky.tool(), 3).invoke(ctx, {"path": "a"})
    assert shaky.calls == 3


@pytest.mark.parametrize("final", [Denied("no"), Cancelled("stop")])
def test_what_somebody_decided_is_not_tried_again(ctx, final):
    shaky = Shaky(final)
    with pytest.raises(type(final)):
        with_retry(shaky.tool()).invoke(ctx, {"path": "a"})
    assert shaky.calls == 1


def test_an_interruption_ends_the_waiting(ctx):
    ctx.cancelled = Cancel()
    ctx.cancelled.set()
    shaky = Shaky(FAILED)
    with pytest.raises(Cancelled):
        with_retry(shaky.tool(), wait_s=60.0).invoke(ctx, {"path": "a"})
    assert shaky.calls == 1


def test_only_what_may_happen_twice_is_tried_twice():
    writing = Shaky().tool(risk="medium", effects={Effect.WRITE})
    with pytest.raises(PluginError, match="change it twice"):
        with_retry(writing)
    same = Shaky().tool(risk="medium", effects={Effect.WRITE, Effect.IDEMPOTENT})
    assert with_retry(same).name == "look"


@pytest.mark.contract("B8")
def test_a_tool_that_changes_is_tried_again_where_the_person_says_it_does_no_harm(tmp_path):
    shaky = Shaky(FAILED)
    writing = shaky.tool(risk="medium", effects={Effect.WRITE})
    assert with_retry(writing, repeatable=True).name == "look"
    tools = nanocoder_tools({"look": writing}, Settings(retry={"look": 2}, repeatable=("look",)))
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext("s", "c", workspace, tmp_path)
        assert tools[0].real().invoke(ctx, {"path": "a"}).output == "saw a"
    assert shaky.calls == 2
    with pytest.raises(PluginError, match="name it in `repeatable`"):
        nanocoder_tools({"look": writing}, Settings(retry={"look": 2}))


@pytest.mark.contract("CO-02")
def test_a_fallback_takes_over_where_a_call_fails(ctx):
    broken, sound = Shaky(FAILED), Shaky(ToolResult("from the other"))
    both = with_fallback(broken.tool(), sound.tool())
    assert both.invoke(ctx, {"path": "a"}).output == "from the other"
    assert both.invoke(ctx, {"path": "a"}).output == "saw a"
    assert (broken.calls, sound.calls) == (2, 1)


def test_a_fallback_is_as_risky_as_both():
    quiet = Shaky().tool(effects={Effect.READ, Effect.IDEMPOTENT})
    loud = Shaky().tool(risk="dangerous", effects={Effect.EXECUTE, Effect.IDEMPOTENT})
    both = with_fallback(quiet, loud)
    assert both.risk is Risk.DANGEROUS
    assert both.effects == {Effect.READ, Effect.EXECUTE, Effect.IDEMPOTENT}
    assert not with_fallback(quiet, Shaky().tool()).effects & {Effect.IDEMPOTENT}


def test_a_fallback_takes_the_same_arguments():
    @tool(risk="safe", effects={Effect.READ})
    def other(name: str) -> str:
        """Look at something else."""
        return name

    with pytest.raises(PluginError, match="does not take path"):
        with_fallback(Shaky().tool(), other)


@pytest.mark.contract("CO-02")
def test_wrapped_tools_take_the_whole_path(tmp_path):
    @tool(name="slow", risk="safe", effects={Effect.READ})
    def slow(ctx: ToolContext) -> str:
        """Wait."""
        ctx.cancelled.wait(8)
        return f"ended: {ctx.cancelled.reason}"

    shaky = Shaky(FAILED)
    offered = [with_timeout(slow, 0.1), with_retry(shaky.tool())]
    mine = SimpleNamespace(nanocoder_tools=hookimpl(lambda: offered))
    with opened(tmp_path, plugins={"mine": mine}) as (session, _):
        assert called(session, "slow", {})[0].output == "ended: timeout"
        assert called(session, "look", {"path": "a"})[0].output == "saw a"
