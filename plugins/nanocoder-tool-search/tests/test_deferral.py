"""Which definitions a request has: the everyday ones, and what the model found or called."""

import json
from itertools import pairwise

import nanocoder_tool_search as plugin
import pytest
from nanocoder import (
    Effect,
    ProviderSpec,
    ToolCall,
    ToolResult,
    hookimpl,
    message_tokens,
    tool,
)
from nanocoder_kit_sessions import testing
from nanocoder_testing import Scripted, opened, play

EVERYDAY = ["grep", "read_file"]
FIRST = [*EVERYDAY, "tool_search"]


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

    definition = {"description": f"Do what {name} does.", "effects": {Effect.READ}}
    return tool(name=name, risk="safe", **{**definition, **fields})(handler)


@tool(risk="medium", effects=set(Effect) - {Effect.IDEMPOTENT}, composed_of=["*"])
def delegate(ctx) -> str:
    """Let another session do it, which only reads."""
    with ctx.child(tools=lambda offered: offered.is_read_only) as child:
        list(child.run("look"))
    return "looked"


class Tools:
    """Two tools that are always listed, and three others."""

    @hookimpl
    def nanocoder_tools(self):
        alter = reading("alter", effects={Effect.WRITE}, short="Alter it.")
        others = [alter, reading("beta"), reading("gamma", short="Look at it.")]
        return [*(reading(name, always_listed=True) for name in EVERYDAY), *others]


def both(**more):
    return {"tools": Tools(), "tool-search": plugin, **more}


def asked(tmp_path, *turns, **options):
    """Play *turns* and return the requests that were made."""
    plugins = both(**options.pop("plugins", {}))
    return play(tmp_path, [*turns, "Done."], plugins=plugins, **options).model.requests


def names(request):
    return [definition.name for definition in request.tools]


def search(request):
    """Return the description of the search."""
    (definition,) = (item for item in request.tools if item.name == "tool_search")
    return definition.description


def sent(request):
    """Return what a provider makes of the tools, as the bytes that a cache compares."""
    wire = [[item.name, item.description, dict(item.parameters)] for item in request.tools]
    return json.dumps(wire).encode()


def finding(*names):
    return [("tool_search", {"query": f"select:{','.join(names)}"})]


def test_the_everyday_tools_are_listed_and_the_others_are_named(tmp_path):
    (request,) = asked(tmp_path)
    assert names(request) == FIRST
    assert search(request).startswith("Find more tools by what they do")
    assert search(request).endswith("\nDeferred: alter, beta, gamma.")


def test_found_tools_are_added_behind_the_others_in_the_order_in_which_they_are_found(tmp_path):
    requests = asked(tmp_path, finding("gamma"), [("grep", {})], finding("beta", "gamma"))
    first, second, third, fourth = requests
    assert names(first) == FIRST
    assert names(second) == [*names(first), "gamma"]
    assert third.tools is second.tools, "nothing was found, so nothing is made anew"
    assert names(fourth) == [*names(first), "gamma", "beta"]
    for before, after in pairwise(requests):
        assert sent(after).startswith(sent(before)[:-1]), "a cache holds what stood there before"


def test_a_deferred_tool_that_is_called_by_its_name_works_and_is_listed_from_then_on(tmp_path):
    turns = [[("beta", {})], "Done."]
    played = play(tmp_path, turns, plugins=both())
    assert [result.output for result in played.results] == ["beta was here"]
    assert names(played.model.requests[1]) == [*FIRST, "beta"]


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
    assert names(requests[1]) == [*FIRST, "odd", "flat", "bad"]


def test_in_plan_mode_nothing_is_named_or_found_that_changes_something(tmp_path):
    turns = [finding("alter", "beta"), "Done."]
    played = play(tmp_path, turns, plugins=both(), mode="plan")
    first, second = played.model.requests
    assert search(first).endswith("Deferred: beta, gamma.")
    assert names(second) == [*FIRST, "beta"]
    assert played.results[0].data == {"tools": ["beta"]}


def test_what_was_found_stays_when_the_mode_changes(tmp_path):
    turns = [[*finding("beta"), ("alter", {})], "Planned.", "Done."]
    with opened(tmp_path, turns, plugins=both(), mode="plan") as (session, model):
        list(session.run("plan"))
        session.set_mode("auto")
        list(session.run("go"))
    assert names(model.requests[2]) == [*FIRST, "alter", "beta"]


def test_what_was_found_is_there_again_after_a_turn_with_a_small_model(tmp_path):
    small = Scripted(["Done."], profile="small")

    class Other:
        @hookimpl
        def nanocoder_providers(self):
            return [ProviderSpec("small", lambda _model, _settings: small, default_model="s")]

    plugins = both(other=Other())
    with opened(tmp_path, [finding("beta"), ".", "."], plugins=plugins) as (session, model):
        list(session.run("go"))
        for chosen in ("small/s", "script/play"):
            session.set_model(chosen)
            list(session.run("go on"))
    assert names(small.requests[0]) == ["alter", "gamma"]
    assert sent(model.requests[2]) == sent(model.requests[1])


def test_a_hidden_tool_is_neither_named_nor_found(tmp_path):
    with opened(tmp_path, [finding("beta"), "."], plugins=both()) as (session, model):
        session.plugins.configure(lambda _, cls: cls(), hidden={"beta"})
        list(session.run("go"))
    assert "beta" not in search(model.requests[0])
    assert names(model.requests[1]) == FIRST


@pytest.mark.parametrize("how", ["found", "called"])
def test_a_resumed_session_knows_what_was_found_or_called(tmp_path, work, how):
    kept = {"persist": True, "environment": at_home(tmp_path)}
    turn = finding("beta") if how == "found" else [("beta", {})]
    turns = [turn, "Done."]
    with opened(work, turns, plugins=both(files=testing), **kept) as (session, before):
        list(session.run("go"))
    resumed = {"resume": session.id, **kept}
    with opened(work, ["Done."], plugins=both(files=testing), **resumed) as (session, after):
        list(session.run("go on"))
    assert sent(after.requests[0]) == sent(before.requests[1])


def test_a_session_inside_a_session_finds_its_own_tools(tmp_path):
    class Delegates:
        @hookimpl
        def nanocoder_tools(self):
            return [delegate]

    turns = [finding("gamma"), [("delegate", {})], finding("alter", "beta"), "Done.", "Done."]
    plugins = both(delegates=Delegates())
    requests = play(tmp_path, turns, plugins=plugins, mode="auto").model.requests
    first, second, child, child_again, last = map(names, requests)
    assert second == [*first, "gamma"]
    assert child == FIRST, "nothing is found when it begins"
    assert search(requests[2]).endswith("Deferred: beta, gamma.")
    assert child_again == [*child, "beta"], "it does not have the tool alter"
    assert last == [*second, "delegate"]


def test_a_compacted_transcript_forgets_no_tool(tmp_path):
    class Shortens:
        @hookimpl
        def nanocoder_compact(self, window):
            messages = window.request.messages
            return messages[-1:] if message_tokens(messages[-1]) > window.tokens else None

    model = Scripted([finding("beta"), "Done.", "Again."], context=1_000)
    plugins = both(shortens=Shortens())
    with opened(tmp_path, model=model, plugins=plugins) as (session, _):
        list(session.run("go"))
        list(session.run("word " * 4_000))
    assert len(model.requests[2].messages) == 1
    assert model.requests[2].tools is model.requests[1].tools


def test_the_tools_that_are_always_listed_are_a_setting(tmp_path):
    settings = {"tool-search": plugin.Settings(always=("gamma",))}
    (request,) = asked(tmp_path, settings=settings)
    assert names(request) == ["gamma", "tool_search"]
    assert search(request).endswith("Deferred: alter, beta, grep, read_file.")


def test_a_dialect_offers_what_it_always_offers(tmp_path):
    class Loud:
        name = "loud"

        def offer(self, tools):
            return [
                {"name": item.name.upper(), "description": "Loud.", "parameters": {}}
                for item in tools
            ]

        def canonical(self, call):
            return ToolCall(call.id, call.name.lower(), call.arguments)

        def render(self, call, result):
            return result.output

        @hookimpl
        def nanocoder_dialects(self):
            return [self]

    turn = [("TOOL_SEARCH", {"query": "beta"})]
    requests = asked(tmp_path, turn, plugins={"loud": Loud()}, dialect="loud")
    offered = ["ALTER", "BETA", "GAMMA", "GREP", "READ_FILE", "TOOL_SEARCH"]
    assert [names(request) for request in requests] == [offered, offered]


def test_a_search_without_a_match_names_what_is_still_deferred(tmp_path):
    turns = [finding("beta"), [("tool_search", {"query": "quantum"})], "Done."]
    played = play(tmp_path, turns, plugins=both())
    assert (
        played.results[1].output
        == "No tool found. There are, each to be called by its name: alter, gamma"
    )


def test_a_search_under_another_name_defers_all_the_same(tmp_path):
    with opened(tmp_path, ["."], plugins=both()) as (session, model):
        session.plugins.configure(lambda _, cls: cls(), names={"tool_search": "more"})
        list(session.run("go"))
    assert names(model.requests[0]) == ["grep", "more", "read_file"]


def test_without_the_search_all_tools_are_listed(tmp_path):
    with opened(tmp_path, ["."], plugins=both()) as (session, model):
        session.plugins.configure(lambda _, cls: cls(), hidden={"tool_search"})
        list(session.run("go"))
    assert names(model.requests[0]) == ["alter", "beta", "gamma", "grep", "read_file"]
