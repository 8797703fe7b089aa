"""What a model is told of the tools: all of them, or the everyday ones and what it found."""

from itertools import pairwise
from typing import Annotated

import pytest
from nanocoder import Effect, Param, ProviderSpec, ToolCall, ToolResult, hookimpl, tool
from nanocoder_schema import canonical_json
from nanocoder_testing import Scripted, opened, play

EVERYDAY = ["grep", "read_file"]


@pytest.fixture
def work(tmp_path):
    """Return a folder to work in with a home beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def at_home(tmp_path):
    return {"HOME": str(tmp_path / "home")}


def reading(name, **fields):
    def handler() -> str:
        return f"{name} was here"

    told = {"description": f"Do what {name} does.", "effects": {Effect.READ}}
    return tool(name=name, risk="safe", **{**told, **fields})(handler)


@tool(risk="safe", effects={Effect.READ}, reveals=True)
def find_tools(ctx, names: Annotated[str, "Which."]) -> ToolResult:
    """Find more tools."""
    offered = [one.name for one in ctx.tools]
    waiting = [one.name for one in ctx.tools if one.deferred]
    return ToolResult("found", data=[offered, waiting], metadata={"reveals": names.split()})


@tool(risk="medium", effects=set(Effect) - {Effect.IDEMPOTENT}, composed_of=["*"])
def delegate(ctx) -> str:
    """Let another session do it, which only reads."""
    with ctx.child(tools=lambda one: one.is_read_only) as inner:
        list(inner.run("look"))
    return "looked"


class Tools:
    """The everyday tools, three others, and unless *finder* is False one that finds them."""

    def __init__(self, *, finder=True):
        alter = reading("alter", effects={Effect.WRITE}, short="Alter it.")
        others = [alter, reading("beta"), reading("gamma", short="Look at it.")]
        self.tools = [*map(reading, EVERYDAY), *others, *([find_tools] if finder else [])]

    @hookimpl
    def nanocoder_tools(self):
        return self.tools


def asked(tmp_path, *turns, finder=True, **options):
    """Play *turns* and return the requests that were made."""
    plugins = {"tools": Tools(finder=finder), **options.pop("plugins", {})}
    return play(tmp_path, [*turns, "Done."], plugins=plugins, **options).model.requests


def names(request):
    return [one.name for one in request.tools]


def sent(request):
    """Return what a provider makes of the tools, as the bytes that a cache compares."""
    wire = [[one.name, one.description, dict(one.parameters)] for one in request.tools]
    return canonical_json(wire).encode()


def finding(*wanted):
    return [("find_tools", {"names": " ".join(wanted)})]


def test_without_a_tool_that_finds_others_all_are_told(tmp_path):
    (request,) = asked(tmp_path, finder=False)
    assert names(request) == ["alter", "beta", "gamma", "grep", "read_file"]


def test_the_everyday_tools_are_told_and_the_others_are_named(tmp_path):
    (request,) = asked(tmp_path)
    assert names(request) == ["find_tools", *EVERYDAY]
    assert request.tools[0].description == "Find more tools.\nDeferred: alter, beta, gamma."


def test_found_tools_are_added_behind_the_others_in_the_order_in_which_they_are_found(tmp_path):
    requests = asked(tmp_path, finding("gamma"), [("grep", {})], finding("beta", "gamma"))
    first, second, third, fourth = requests
    assert names(first) == ["find_tools", *EVERYDAY]
    assert names(second) == [*names(first), "gamma"]
    assert third.tools is second.tools, "nothing was found, so nothing is made anew"
    assert names(fourth) == [*names(first), "gamma", "beta"]
    for before, after in pairwise(requests):
        assert sent(after).startswith(sent(before)[:-1]), "a cache holds what stood there before"


def test_a_deferred_tool_that_is_called_by_its_name_works_and_is_told_from_then_on(tmp_path):
    turns = [[("beta", {})], "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools()})
    assert [one.output for one in played.results] == ["beta was here"]
    assert names(played.model.requests[1]) == ["find_tools", *EVERYDAY, "beta"]


def test_names_that_no_tool_has_reveal_nothing(tmp_path):
    class Wrong:
        @hookimpl
        def nanocoder_tools(self):
            odd = [7, {"a": 1}, "delta", "read_file"]
            return [
                tool(name=name, risk="safe", effects={Effect.READ})(handler)
                for name, handler in (
                    ("odd", lambda: ToolResult("", metadata={"reveals": odd})),
                    ("flat", lambda: ToolResult("", metadata={"reveals": "beta"})),
                    ("bad", lambda: ToolResult("", metadata={"reveals": ["beta"]}, is_error=True)),
                )
            ]

    calls = [("odd", {}), ("flat", {}), ("bad", {}), ("zeta", {})]
    requests = asked(tmp_path, calls, plugins={"wrong": Wrong()})
    assert names(requests[1]) == ["find_tools", *EVERYDAY, "odd", "flat", "bad"]


def test_a_tool_knows_which_tools_are_on_offer_and_which_of_them_wait(tmp_path):
    turns = [finding("beta"), finding("gamma"), "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools()})
    offered = ["alter", "beta", "find_tools", "gamma", "grep", "read_file"]
    waiting = [["alter", "beta", "gamma"], ["alter", "gamma"]]
    assert [one.data for one in played.results] == [[offered, one] for one in waiting]


def test_in_plan_mode_nothing_is_named_or_found_that_changes_something(tmp_path):
    turns = [finding("alter", "beta"), "Done."]
    played = play(tmp_path, turns, plugins={"tools": Tools()}, mode="plan")
    first, second = played.model.requests
    assert first.tools[0].description.endswith("Deferred: beta, gamma.")
    assert names(second) == ["find_tools", *EVERYDAY, "beta"]
    assert "alter" not in played.results[0].data[0]


def test_what_was_found_stays_when_the_mode_changes(tmp_path):
    turns = [finding("alter", "beta"), "Planned.", "Done."]
    with opened(tmp_path, turns, plugins={"tools": Tools()}, mode="plan") as (session, model):
        list(session.run("plan"))
        session.set_mode("auto")
        list(session.run("go"))
    assert names(model.requests[2]) == ["find_tools", *EVERYDAY, "alter", "beta"]


def test_what_was_found_is_there_again_after_a_turn_with_a_small_model(tmp_path):
    small = Scripted(["Done."], profile="small")

    class Other:
        @hookimpl
        def nanocoder_providers(self):
            return [ProviderSpec("small", lambda _model, _settings: small, default_model="s")]

    plugins = {"tools": Tools(), "other": Other()}
    with opened(tmp_path, [finding("beta"), ".", "."], plugins=plugins) as (session, model):
        list(session.run("go"))
        for chosen in ("small/s", "script/play"):
            session.set_model(chosen)
            list(session.run("go on"))
    assert names(small.requests[0]) == ["alter", "gamma"]
    assert sent(model.requests[2]) == sent(model.requests[1])


def test_a_hidden_tool_is_neither_named_nor_found(tmp_path):
    with opened(tmp_path, [finding("beta"), "."], plugins={"tools": Tools()}) as (session, model):
        session.plugins.configure(lambda _, cls: cls(), hidden={"beta"})
        list(session.run("go"))
    assert "beta" not in model.requests[0].tools[0].description
    assert names(model.requests[1]) == ["find_tools", *EVERYDAY]


@pytest.mark.parametrize("how", ["found", "called"])
def test_a_resumed_session_knows_what_was_found_or_called(tmp_path, work, how):
    kept = {"persist": True, "environment": at_home(tmp_path)}
    turn = finding("beta") if how == "found" else [("beta", {})]
    turns = [turn, "Done."]
    with opened(work, turns, plugins={"tools": Tools()}, **kept) as (session, before):
        list(session.run("go"))
    resumed = {"resume": session.id, **kept}
    with opened(work, ["Done."], plugins={"tools": Tools()}, **resumed) as (session, after):
        list(session.run("go on"))
    assert sent(after.requests[0]) == sent(before.requests[1])


def test_a_session_inside_a_session_finds_its_own_tools(tmp_path):
    class Delegates:
        @hookimpl
        def nanocoder_tools(self):
            return [delegate]

    turns = [finding("gamma"), [("delegate", {})], finding("alter", "beta"), "Done.", "Done."]
    plugins = {"tools": Tools(), "delegates": Delegates()}
    requests = play(tmp_path, turns, plugins=plugins, mode="auto").model.requests
    first, second, inner, inner_again, last = map(names, requests)
    assert second == [*first, "gamma"]
    assert inner == ["find_tools", *EVERYDAY], "nothing is found when it begins"
    assert requests[2].tools[0].description.endswith("Deferred: beta, gamma.")
    assert inner_again == [*inner, "beta"], "it does not have the tool alter"
    assert last == [*second, "delegate"]


def test_a_compacted_transcript_forgets_no_tool(tmp_path):
    class Shortens:
        @hookimpl
        def nanocoder_compact(self, messages):
            return messages[-1:]

    model = Scripted([finding("beta"), "Done.", "Again."], context=1_000)
    plugins = {"tools": Tools(), "shortens": Shortens()}
    with opened(tmp_path, model=model, plugins=plugins) as (session, _):
        list(session.run("go"))
        list(session.run("word " * 4_000))
    assert len(model.requests[2].messages) == 1
    assert model.requests[2].tools is model.requests[1].tools


def test_the_tools_that_are_always_told_are_a_setting(tmp_path, work):
    folder = tmp_path / "home/.config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[tools]\nalways = ["gamma"]\n', encoding="utf-8")
    (request,) = asked(work, environment=at_home(tmp_path))
    assert names(request) == ["find_tools", "gamma"]
    assert request.tools[0].description.endswith("Deferred: alter, beta, grep, read_file.")


def test_a_small_model_is_told_the_short_texts_as_ever(tmp_path):
    (request,) = asked(tmp_path, model=Scripted(["Done."], profile="small"))
    told = [(one.name, one.description) for one in request.tools]
    assert told == [("alter", "Alter it."), ("gamma", "Look at it.")]


def test_a_small_model_must_give_what_every_example_gives(tmp_path):
    @tool(
        risk="safe",
        effects={Effect.READ},
        examples=[{"a": "x", "b": "y"}, {"a": "x"}],
        short="Look.",
    )
    def look(
        a: Annotated[str, "One."] = "",
        b: Annotated[str, "Two."] = "",
        n: Annotated[int, "Many."] = 0,
        form: Annotated[str, Param("Some.", pattern="^[xyz]?$")] = "",
    ) -> str:
        """Look at things."""
        return f"{a}{b}{n}{form}"

    class Looking:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    model = Scripted(["Done."], profile="small")
    (request,) = asked(tmp_path, model=model, plugins={"looking": Looking()})
    (told,) = [one.parameters for one in request.tools if one.name == "look"]
    assert (list(told["properties"]), told["required"]) == (["a", "b"], ["a"])


def test_a_dialect_offers_what_it_always_offers(tmp_path):
    class Loud:
        name = "loud"

        def offer(self, tools):
            return [
                {"name": one.name.upper(), "description": "Loud.", "parameters": {}}
                for one in tools
            ]

        def canonical(self, call):
            return ToolCall(call.id, call.name.lower(), call.arguments)

        def render(self, call, result):
            return result.output

        @hookimpl
        def nanocoder_dialects(self):
            return [self]

    turn = [("FIND_TOOLS", {"names": "beta"})]
    requests = asked(tmp_path, turn, plugins={"loud": Loud()}, dialect="loud")
    offered = ["ALTER", "BETA", "FIND_TOOLS", "GAMMA", "GREP", "READ_FILE"]
    assert [names(one) for one in requests] == [offered, offered]


def test_a_definition_leaves_out_what_the_check_says_anyway(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def measure(
        unit: Annotated[str, Param("In cm, or in m.", min_length=1)],
        depth: Annotated[int, Param("Levels, up to 9.", ge=1, le=9)] = 2,
        *,
        whole: Annotated[bool, "Everything."] = False,
        again: Annotated[bool, "Twice."] = True,
    ) -> str:
        """Measure it."""
        return "1"

    class Measures:
        @hookimpl
        def nanocoder_tools(self):
            return [measure]

    plugins = {"measures": Measures()}
    played = play(tmp_path, [[("measure", {"unit": "", "deep": 1})], "."], plugins=plugins)
    assert dict(played.model.requests[0].tools[0].parameters) == {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "description": "In cm, or in m"},
            "depth": {"type": "integer", "description": "Levels, up to 9"},
            "whole": {"type": "boolean", "description": "Everything"},
            "again": {"type": "boolean", "description": "Twice", "default": True},
        },
        "required": ["unit"],
    }
    assert played.results[0].error_class == "invalid_arguments"
    assert measure.parameters["additionalProperties"] is False


def test_a_phrase_is_told_without_its_full_stop(tmp_path):
    @tool(risk="safe", effects={Effect.READ})
    def look(path: Annotated[str, "A file."], how: Annotated[str, "Twice. Then once."]) -> str:
        """Look at it."""
        return path + how

    class Looking:
        @hookimpl
        def nanocoder_tools(self):
            return [look]

    (one,) = play(tmp_path, ["ok"], plugins={"tool-look": Looking()}).model.requests[0].tools
    told = {name: field["description"] for name, field in one.parameters["properties"].items()}
    assert told == {"path": "A file", "how": "Twice. Then once."}
