"""One definition of a tool, and the set of plugins that offers it."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from attrs import evolve, frozen
from nanocoder import (
    Decision,
    Effect,
    Param,
    PluginError,
    Plugins,
    Risk,
    ToolContext,
    ToolError,
    ToolResult,
    UnknownTool,
    Verdict,
    hookimpl,
    tool,
)
from nanocoder_testing import opened, play
from nanocoder_testing.playing import called


@tool(risk="safe", effects={Effect.READ}, examples=[{"path": "a.txt"}])
def head(
    ctx: ToolContext,
    path: Annotated[str, "File, relative to the workspace."],
    lines: Annotated[int, Param("How many lines.", ge=1)] = 10,
) -> ToolResult:
    """Show the first lines of a file. Use it where the whole would be too long."""
    shown = ctx.workspace.read_text(path).splitlines()[:lines]
    return ToolResult("\n".join(shown), title=path, metadata={"path": path, "lines": len(shown)})


@tool(risk="medium", effects={Effect.WRITE})
def clear(ctx: ToolContext, path: Annotated[str, "The file."]) -> str:
    """Make a file empty."""
    ctx.workspace.write_text(path, "")
    return "cleared"


class Offers:
    def __init__(self, *tools: Any) -> None:
        self._tools = list(tools)

    @hookimpl
    def nanocoder_tools(self):
        return self._tools


def plugins_with(**offers: Offers) -> Plugins:
    plugins = Plugins()
    for name, one in offers.items():
        plugins.add(one, name)
    return plugins


@pytest.mark.contract("NT-05")
@pytest.mark.contract("NT-45")
def test_a_definition_with_its_handler_is_added_and_needs_consent_unless_it_only_reads(tmp_path):
    plugins = plugins_with(mine=Offers(head, clear))
    assert set(plugins.tools()) == {"clear", "head"}
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with opened(tmp_path, plugins=plugins) as (session, _):
        assert called(session, "head", {"path": "a.txt"})[0].output == "one\ntwo"
        assert called(session, "clear", {"path": "a.txt"})[0].error_class == "approval_needed"


@pytest.mark.contract("NT-06")
@pytest.mark.contract("NA-18")
def test_tools_are_listed_by_name_and_not_by_chance(tmp_path):
    first = plugins_with(a=Offers(head), b=Offers(clear))
    second = plugins_with(b=Offers(clear), a=Offers(head))
    assert list(first.tools()) == list(second.tools()) == ["clear", "head"]


@pytest.mark.contract("NT-09")
@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_a_second_tool_of_one_name_is_refused_until_somebody_chooses_it(first, second):
    plugins = Plugins()
    plugins.add(Offers(head), first)
    plugins.add(Offers(head), second)
    assert plugins.tools()["head"].plugin == first
    (report,) = plugins.reports
    assert report.plugin == second
    assert f"{first} came first and keeps it" in str(report)
    assert f'[tools.owner] head = "{second}"' in str(report)
    plugins.configure(lambda _, cls: cls(), owners={"head": second})
    assert plugins.tools()["head"].plugin == second


def test_one_plugin_cannot_offer_two_tools_of_one_name_unseen():
    plugins = plugins_with(a=Offers(head, head))
    assert plugins.tools() == {}
    assert "head" in str(plugins.reports[0])


def test_a_second_plugin_of_one_name_is_refused():
    plugins = plugins_with(a=Offers(head))
    with pytest.raises(PluginError, match="already there"):
        plugins.add(Offers(clear), "a")
    assert set(plugins.tools()) == {"head"}


@pytest.mark.contract("LC-02")
@pytest.mark.contract("NA-22")
def test_a_tool_is_found_by_its_name_and_an_unknown_one_raises():
    plugins = plugins_with(a=Offers(head))
    assert plugins.tool("head").name == "head"
    with pytest.raises(UnknownTool, match="did you mean 'head'"):
        plugins.tool("hed")


@pytest.mark.contract("NA-03")
@pytest.mark.contract("CO-04")
def test_a_tool_says_what_it_is():
    assert (head.name, head.risk) == ("head", Risk.SAFE)
    assert head.description.startswith("Show the first lines")
    assert head.parameters["required"] == ["path"]
    assert head.is_read_only
    assert not clear.is_read_only


@pytest.mark.contract("LC-03")
@pytest.mark.contract("LC-18")
def test_a_handler_can_be_called_by_itself(ctx, workspace):
    (workspace.root / "a.txt").write_text("one\ntwo\n")
    assert head(ctx, "a.txt", lines=1).output == "one"


@pytest.mark.contract("NA-17")
def test_metadata_tells_scripts_about_the_call(ctx, workspace):
    (workspace.root / "a.txt").write_text("one\ntwo\n")
    assert head(ctx, "a.txt").metadata == {"path": "a.txt", "lines": 2}


@pytest.mark.contract("NA-55")
def test_the_example_of_a_definition_runs(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with opened(tmp_path, plugins={"mine": Offers(head)}) as (session, _):
        [example] = head.examples
        assert called(session, "head", example)[0].output == "one"


@pytest.mark.timeout(60)
@pytest.mark.contract("NA-01")
@pytest.mark.contract("NA-02")
def test_the_types_of_a_handler_survive_the_decorator(tmp_path):
    source = tmp_path / "typed.py"
    source.write_text(
        "from typing import Annotated\n"
        "from nanocoder import tool\n\n"
        "@tool(risk='safe')\n"
        "def double(number: Annotated[int, 'A number.']) -> int:\n"
        "    '''Double a number.'''\n"
        "    return number * 2\n\n"
        "right: int = double(2)\n"
        "wrong: str = double(2)\n"
        "double('two')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*command, str(source)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert ["typed.py:10" in lines[0], "typed.py:11" in lines[1], len(lines)] == [True, True, 2]


@pytest.mark.contract("CO-07")
@pytest.mark.contract("NA-04")
def test_the_context_says_whom_it_serves(tmp_path):
    seen: list[ToolContext] = []

    @tool(risk="safe", effects={Effect.READ})
    def see(ctx: ToolContext) -> str:
        """Look at the context."""
        seen.append(ctx)
        return str(ctx.tmp_dir)

    with opened(tmp_path, plugins={"mine": Offers(see)}) as (session, _):
        called(session, "see", {})
        [ctx] = seen
        assert (ctx.session_id, ctx.message_id) == (session.id, "call-1")
        assert ctx.working_directory == tmp_path
        assert ctx.workspace.root == tmp_path
        assert not ctx.cancelled.is_set()


OLD_PLUGIN = '''
from nanocoder import hookimpl, tool


@tool
def shout(text: str) -> str:
    """Say a text in capitals."""
    return text.upper()


@hookimpl
def nanocoder_tools():
    return [shout]
'''
"""As plugins looked on the first day: it must work as long as there is a version 1."""


@pytest.mark.contract("CO-08")
def test_a_plugin_that_knows_none_of_the_later_fields_still_works(tmp_path):
    import types

    module = types.ModuleType("old_plugin")
    exec(OLD_PLUGIN, vars(module))
    agree = _agree()
    with opened(tmp_path, plugins={"old": module}, approve=agree) as (session, _):
        assert called(session, "shout", {"text": "hello"})[0].output == "HELLO"


def _agree():
    from nanocoder import ApprovalAnswer

    return lambda request: ApprovalAnswer(request.id, request.digest, approved=True)


@pytest.mark.contract("CO-02")
def test_any_tool_can_be_wrapped_with_a_retry_and_a_fallback(tmp_path):
    tries: list[int] = []

    @tool(risk="safe", effects={Effect.READ})
    def shaky() -> str:
        """Fail twice, then work."""
        tries.append(1)
        if len(tries) < 3:
            raise ToolError("not yet")
        return "at last"

    @tool(risk="safe", effects={Effect.READ}, composed_of=["shaky", "head"])
    def patient(ctx: ToolContext, times: Annotated[int, "How often to try."]) -> str:
        """Try the shaky one some times, then read a file instead."""
        for _ in range(times):
            result = ctx.call("shaky", {})
            if not result.is_error:
                return result.output
        return ctx.call("head", {"path": "a.txt"}).output

    (tmp_path / "a.txt").write_text("fallback\n")
    with opened(tmp_path, plugins={"mine": Offers(shaky, patient, head)}) as (session, _):
        assert called(session, "patient", {"times": 2})[0].output == "fallback"
        tries.clear()
        assert called(session, "patient", {"times": 3})[0].output == "at last"


class Adds:
    """A plugin whose tools depend on the folder and are known only in a session."""

    @hookimpl
    def nanocoder_tools(self, tools, settings, trusted_folder):
        own = [evolve(head, name=f"head_of_{trusted_folder.name}"), evolve(head, name="hidden")]
        return [tool.owned("adds", "1") for tool in own] if "head" in tools else []


def test_a_plugin_adds_tools_that_only_the_configuration_knows(tmp_path):
    plugins = Plugins()
    plugins.add(Offers(head), "mine")
    plugins.add(Adds(), "adds")
    folder = tmp_path / "shop"
    plugins.configure(lambda _, cls: cls(), hidden=["hidden"], trusted_folder=folder)
    assert list(plugins.tools()) == ["head", "head_of_shop"]
    assert plugins.tool("head_of_shop").plugin == "adds"
    plugins.configure(lambda _, cls: cls(), wrapping=["mine"], trusted_folder=folder)
    assert list(plugins.tools()) == ["head"]


def composed(name: str, *steps: str) -> Any:
    def handler(ctx: ToolContext) -> str:
        return "done"

    return tool(name=name, description=name, risk="safe", composed_of=steps)(handler)


@pytest.mark.contract("CO-20")
def test_tools_that_lead_back_to_themselves_are_not_offered_and_named():
    alone = composed("alone", "alone")
    circle = [composed("one", "two"), composed("two", "head", "three"), composed("three", "one")]
    plugins = plugins_with(mine=Offers(head, alone), yours=Offers(*circle, composed("any", "one")))
    assert set(plugins.tools()) == {"any", "head"}
    said = [str(report) for report in plugins.reports]
    assert said == [
        "plugin 'mine': tool 'alone' leads back to itself: alone -> alone",
        "plugin 'yours': tool 'one' leads back to itself: one -> two -> three -> one",
        "plugin 'yours': tool 'three' leads back to itself: three -> one -> two -> three",
        "plugin 'yours': tool 'two' leads back to itself: two -> three -> one -> two",
    ]


@pytest.mark.contract("CO-20")
def test_a_tool_that_nests_too_deep_is_not_offered_and_named(tmp_path):
    tower = [composed(f"level_{n}", f"level_{n - 1}", "head") for n in range(1, 6)]
    plugins = plugins_with(mine=Offers(head, composed("level_0"), *tower))
    assert set(plugins.tools()) == {"head", *(f"level_{n}" for n in range(5))}
    [report] = plugins.reports
    assert "plugin 'mine': tool 'level_5' nests deeper than 4" in str(report)
    with opened(tmp_path, plugins=plugins) as (session, _):
        assert called(session, "level_5", {})[0].error_class == "unknown_tool"


@pytest.mark.contract("CO-20")
def test_many_tools_that_share_their_steps_are_looked_at_in_no_time():
    rows = [[f"t{row}_{n}" for n in range(40)] for row in range(4)]
    tools = [
        composed(name, *below) for row, below in zip(rows[1:], rows, strict=False) for name in row
    ]
    plugins = plugins_with(mine=Offers(*tools, *(composed(name) for name in rows[0])))
    assert len(plugins.tools()) == 160
    assert plugins.reports == []


# PLUG-016
@pytest.mark.parametrize(
    "change",
    [{"risk": "dangerous"}, {"effects": {"read", "write"}}, {"description": "Now it removes."}],
)
def test_a_tool_that_changes_in_a_session_is_not_run(tmp_path, change):
    ran = []

    def make(**fields):
        @tool(**{"risk": "safe", "effects": {"read"}, "description": "Search.", **fields})
        def search() -> str:
            ran.append(fields)
            return "done"

        return search

    offers = [make()]
    plugins = Plugins()
    plugins.add(SimpleNamespace(nanocoder_tools=hookimpl(lambda: offers)), "mcp-bridge")
    offers[:] = [make(**change)]
    run = play(tmp_path, [[("search", {})], "Done."], plugins=plugins)
    assert not ran
    assert run.results[0].is_error
    field = next(iter(change))
    assert f"'search' has another {field} now than when it was described" in run.results[0].output


# PLUG-020
@pytest.mark.contract("CO-04")
@pytest.mark.parametrize("confirm", [lambda arguments: True, lambda arguments: arguments["gone"]])
def test_a_tool_that_wants_consent_or_cannot_say_is_asked_about(tmp_path, confirm):
    @tool(risk="safe", effects={Effect.READ}, confirm=confirm)
    def careful(path: Annotated[str, "The file."]) -> str:
        """Read with care, for tests."""
        return path

    with opened(tmp_path, plugins={"mine": Offers(careful)}) as (session, _):
        assert called(session, "careful", {"path": "x"})[0].error_class == "approval_needed"


@frozen
class Wanted:
    """A parameter set as a class."""

    path: Annotated[str, "The file."]
    depth: Annotated[int, Param("How deep.", ge=0)] = 1


def test_a_larger_set_of_parameters_may_be_a_class(tmp_path):
    @tool(risk="safe", effects={Effect.READ}, parameters=Wanted)
    def dig(path: str, depth: int) -> str:
        """Dig in a place, as deep as wanted."""
        return f"{path} {depth}"

    with opened(tmp_path, plugins={"mine": Offers(dig)}) as (session, _):
        assert called(session, "dig", {"path": "x"})[0].output == "x 1"
        assert called(session, "dig", {"path": "x", "depth": -1})[0].is_error


# PLUG-011
@pytest.mark.parametrize("name", ["Read", "read-file", "", "é", "a" * 65, "1st"])
def test_a_name_that_no_provider_takes_is_refused(name):
    with pytest.raises(PluginError, match="not a tool name"):
        tool(name=name or " ")(lambda: "x")


@pytest.mark.contract("NA-23")
@pytest.mark.parametrize("way", ["by hand", "by the model", "by another tool"])
def test_no_way_to_a_tool_leads_around_the_policies(tmp_path, way):
    ran = []

    @tool(risk="safe", effects={Effect.READ})
    def forbidden() -> str:
        """Run, for tests."""
        ran.append(way)
        return ""

    @tool(risk="safe", effects={Effect.READ}, composed_of=("forbidden",))
    def around(ctx: ToolContext) -> ToolResult:
        """Call it, for tests."""
        return ctx.call("forbidden", {})

    class Never:
        @hookimpl
        def nanocoder_before_execute(self, call):
            return Verdict(Decision.DENY, "never") if call.name == "forbidden" else None

    plugins = {"mine": Offers(forbidden, around), "never": Never()}
    if way == "by the model":
        [result] = play(tmp_path, [[("forbidden", {})], "done"], plugins=plugins).results
    else:
        with opened(tmp_path, plugins=plugins) as (session, _):
            result, _ = called(session, "forbidden" if way == "by hand" else "around", {})
    assert result.is_error
    assert "never" in result.output
    assert ran == []


@pytest.mark.contract("NA-25")
def test_a_settings_object_reaches_its_own_plugin_only(tmp_path):
    @frozen
    class Settings:
        word: str = "default"

    @tool(risk="safe", effects={Effect.READ})
    def say(ctx: ToolContext) -> str:
        """Say the word that is set."""
        return ctx.settings.word if ctx.settings else "none"

    class WithSettings(Offers):
        @hookimpl
        def nanocoder_settings(self):
            return Settings

    from nanocoder.tools.tool import Tool

    other: Tool[..., Any] = tool(name="other", risk="safe", effects={Effect.READ})(say.handler)
    plugins = {"mine": WithSettings(say), "yours": Offers(other)}
    settings = {"mine": Settings("set")}
    with opened(tmp_path, plugins=plugins, settings=settings) as (session, _):
        assert called(session, "say", {})[0].output == "set"
        assert called(session, "other", {})[0].output == "none"


@pytest.mark.parametrize(("rank", "text"), [(10, "mine"), (50, "its own"), (90, "its own")])
def test_a_rank_says_who_is_asked_first_where_the_first_answer_wins(tmp_path, rank, text):
    class Own:
        @hookimpl
        def nanocoder_tools(self):
            return [head]

        @hookimpl
        def nanocoder_render(self, call):
            return "its own"

    class Renderer:
        @hookimpl(rank=rank)
        def nanocoder_render(self, call):
            return "mine"

    plugins = plugins_with(**{"tool-head": Own(), "x-render": Renderer()})
    found = plugins.implementations("nanocoder_render")
    assert found[0]({"call": None}) == text


def test_a_rank_is_a_whole_number():
    class Renderer:
        @hookimpl(rank="first")
        def nanocoder_render(self, call):
            return "mine"

    with pytest.raises(PluginError, match="expected a whole number"):
        plugins_with(mine=Renderer())


@pytest.mark.parametrize("name", ["__class__", "_", "_private", "__init__"])
def test_a_tool_is_not_called_like_a_part_of_python(name):
    with pytest.raises(PluginError, match="is not a tool name"):
        tool(name=name, risk="safe", effects={"read"})(lambda: "x")
    odd = evolve(head, name=name)
    with pytest.raises(PluginError, match="is not a tool name"):
        plugins_with(mine=Offers(odd))
