"""What tool_search finds, by words and by name, and that a session offers it from then on."""

from typing import Annotated

import attrs
import nanocoder_tool_search as plugin
import pytest
from nanocoder import Effect, hookimpl, tool
from nanocoder_testing import opened, play


def make_tool(name, description, *, effects=(Effect.READ,), **parameters):
    fields = {key: attrs.field(type=Annotated[str, text]) for key, text in parameters.items()}
    definition = {"name": name, "description": description, "risk": "safe", "effects": set(effects)}
    definition["always_listed"] = name == "read_file"
    return tool(parameters=attrs.make_class(name, fields), **definition)(lambda **_: "done")


TOOLS = [
    make_tool("read_file", "Read a file.", path="File."),
    make_tool(
        "delete_file", "Delete one file. A copy is kept.", effects=[Effect.WRITE], path="File."
    ),
    make_tool("move_file", "Move or rename a file.", effects=[Effect.WRITE], path="From where."),
    make_tool(
        "web_fetch", "Fetch a public web page.", url="Address.", format="As markdown, or html."
    ),
    make_tool("web_search", "Search the web.", query="What to look for."),
    make_tool("ask_user", "Ask the person what only they can decide.", question="What to ask."),
]


class Others:
    @hookimpl
    def nanocoder_tools(self):
        return TOOLS


def searched(tmp_path, *queries, **options):
    """Play one search after the other; return what was played."""
    turns = [*([("tool_search", {"query": query})] for query in queries), "Done."]
    return play(tmp_path, turns, plugins={"tool-search": plugin, "others": Others()}, **options)


def found(tmp_path, query, **options):
    (result,) = searched(tmp_path, query, **options).results
    assert not result.is_error
    return result.data["tools"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("delete a file", ["delete_file"]),
        ("rename", ["move_file"]),
        ("renaming files", ["move_file"]),
        ("page as markdown", ["web_fetch"]),
        ("the web", ["web_fetch", "web_search"]),
        ("QUESTION for a person", ["ask_user"]),
        ("quantum", []),
        ("of the", []),
    ],
)
def test_words_find_the_tools_whose_definitions_they_fit(tmp_path, query, expected):
    assert found(tmp_path, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select:move_file,ask_user", ["move_file", "ask_user"]),
        ("select: move_file, nothing", ["move_file"]),
        ("web_fetch delete_file", ["web_fetch", "delete_file"]),
        ("read_file", ["read_file"]),
        ("select:", []),
    ],
)
def test_names_find_exactly_these_tools(tmp_path, query, expected):
    assert found(tmp_path, query) == expected


def test_the_model_reads_a_line_for_each_and_can_call_them_from_then_on(tmp_path):
    played = searched(tmp_path, "delete a file", "select:web_search")
    first, second = played.results
    assert first.output == "You can call these from now on:\n- delete_file: Delete one file."
    assert first.metadata["reveals"] == ["delete_file"]
    assert second.output.endswith("- web_search: Search the web.")
    offered = [[tool.name for tool in request.tools] for request in played.model.requests]
    everyday = ["read_file", "tool_search"]
    assert offered == [
        everyday,
        [*everyday, "delete_file"],
        [*everyday, "delete_file", "web_search"],
    ]


def test_the_definition_ends_with_the_names_of_what_can_be_found(tmp_path):
    (_, definition) = searched(tmp_path, "rename").model.requests[0].tools
    names = "ask_user, delete_file, move_file, web_fetch, web_search"
    assert definition.description.endswith(f"\nDeferred: {names}.")


def test_a_query_that_fits_nothing_is_answered_with_all_names(tmp_path):
    (result,) = searched(tmp_path, "quantum").results
    beginning = "No tool found. There are, each to be called by its name: "
    assert result.output.startswith(f"{beginning}ask_user, delete_file,")


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path):
    (result,) = searched(tmp_path, "select:delete_fil,zzz").results
    assert "There is no tool delete_fil; did you mean 'delete_file'?" in result.output
    assert "There is no tool zzz." in result.output


def test_in_plan_mode_only_what_reads_is_found(tmp_path):
    assert found(tmp_path, "file", mode="plan") == ["read_file"]
    assert found(tmp_path, "select:move_file,web_fetch", mode="plan") == ["web_fetch"]


def test_a_search_finds_no_more_than_the_setting_says(tmp_path):
    settings = {"tool-search": plugin.Settings(max_results=1)}
    assert found(tmp_path, "the web", settings=settings) == ["web_fetch"]


def test_where_nothing_waits_it_says_so(tmp_path):
    turns = [[("tool_search", {"query": "quantum"})], "Done."]
    with opened(tmp_path, turns, plugins={"tool-search": plugin}) as (session, _):
        list(session.run("go"))
    (result,) = session.messages[2].results
    assert result.output == "No tool found: you have all the tools that there are."
