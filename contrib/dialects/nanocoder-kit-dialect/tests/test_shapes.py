"""Shapes there and back; what happens to names and arguments that fit none."""

from typing import Annotated

import pytest
from nanocoder import BadArguments, Dialect, Param, ToolCall, ToolResult, UnknownTool, tool
from nanocoder_kit_dialect import TableDialect, cut, openai_tool, rename, replace_names, shape


@tool
def read_file(path: Annotated[str, "The file."]) -> str:
    """Read a file."""
    return path


@shape("FileRead", "read_file", render=lambda arguments, result: arguments["p"] + result.data["x"])
def file_read(
    p: Annotated[str, "A path."], limit: Annotated[int, Param("Lines.", ge=1)] = 5
) -> dict:
    """Read."""
    return {"path": p, "limit": limit * 1000}


@pytest.fixture
def dialect():
    shapes = [file_read, rename("Look", "look")]
    return TableDialect("mine", shapes, unknown="No {}", words={"path": "p"})


def call(name="FileRead", **arguments):
    return ToolCall("1", name, arguments)


def test_it_is_a_dialect(dialect):
    assert isinstance(dialect, Dialect)


def test_only_what_is_installed_is_offered(dialect):
    (offer,) = dialect.offer([read_file])
    assert (offer["name"], offer["description"]) == ("FileRead", "Read.")
    assert list(offer["parameters"]["properties"]) == ["p", "limit"]
    assert dialect.offer([]) == []


def test_a_renamed_tool_keeps_its_own_parameters():
    (offer,) = TableDialect("mine", [rename("FileRead", "read_file")]).offer([read_file])
    assert offer == {
        "name": "FileRead",
        "description": "Read a file.",
        "parameters": read_file.parameters,
    }


def test_an_offer_is_written_as_the_reference_writes_it(dialect):
    (offer,) = dialect.offer([read_file])
    assert dialect.wire(offer) == offer
    sent = TableDialect("mine", [file_read], write=openai_tool).wire(offer)
    assert sent["function"]["parameters"] == offer["parameters"]


@pytest.mark.parametrize(
    "arguments",
    [{"p": "a"}, {"params": {"p": "a"}}, {"arguments": '{"p": "a"}'}],
    ids=["plain", "wrapped", "text"],
)
def test_arguments_come_out_of_their_wrapper_with_their_defaults(dialect, arguments):
    translated = dialect.canonical(call(**arguments))
    assert (translated.id, translated.name) == ("1", "read_file")
    assert translated.arguments == {"path": "a", "limit": 5000}
    assert dialect.render(call(**arguments), ToolResult("own", data={"x": "!"})) == "a!"


def test_a_wrong_argument_is_named_as_the_model_knows_it(dialect):
    with pytest.raises(BadArguments, match=r"limit: .*0"):
        dialect.canonical(call(p="a", limit=0))


@pytest.mark.parametrize("name", ["read_file", "nothing"])
def test_names_that_are_not_of_the_dialect_are_unknown(dialect, name):
    with pytest.raises(UnknownTool, match=f"No {name}"):
        dialect.canonical(call(name))
    failed = ToolResult("whatever", is_error=True, error_class="invalid_arguments")
    assert dialect.render(call(name), failed) == f"No {name}"


def test_a_tool_that_is_not_installed_is_unknown_by_the_name_that_the_model_used(dialect):
    failed = ToolResult("there is no look", is_error=True, error_class="unknown_tool")
    assert dialect.render(call("Look"), failed) == "No Look"
    other = TableDialect("mine", [rename("Look", "look")], missing="{} is missing")
    assert other.render(call("Look"), failed) == "Look is missing"


def test_an_error_speaks_the_names_of_the_dialect(dialect):
    failed = ToolResult("use read_file with path", is_error=True, error_class="x")
    assert dialect.render(call(p="a"), failed) == "Error: use FileRead with p"


@pytest.mark.parametrize("data", [None, {}, [], "text"])
def test_without_the_expected_data_the_tools_own_text_stays(dialect, data):
    assert dialect.render(call(p="a"), ToolResult("own", data=data)) == "own"


def test_only_whole_words_of_ours_in_the_first_line_are_changed():
    text = "path: 'path' a/path path.py path; my-path\npath"
    assert replace_names(text, {"path": "P"}) == "P: 'path' a/path path.py P; my-path\npath"


def test_a_cut_text_is_as_long_as_allowed_with_its_mark():
    assert cut("abcdef", 5, "[x]") == "ab[x]"
    assert cut("abcde", 5, "[x]") == "abcde"
