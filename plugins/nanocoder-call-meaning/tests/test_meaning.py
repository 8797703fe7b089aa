"""Names and values that a tool does not take, read where they have one meaning."""

from typing import Annotated, Any, Literal

import pytest
from attrs import frozen
from nanocoder import BadArguments, Param, Signature
from nanocoder_call_meaning.meaning import find_tool, read_arguments

OFFERED = (
    *("read_file", "write_file", "edit_file", "bash", "bash_job", "grep", "glob", "list_files"),
    *("todo_read", "todo_write", "task", "ask_user", "web_fetch", "apply_patch", "mcp_shop_search"),
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Read", "read_file"),
        ("ReadFile", "read_file"),
        ("readfile", "read_file"),
        ("view", "read_file"),
        ("Write", "write_file"),
        ("create_file", "write_file"),
        ("Edit", "edit_file"),
        ("str_replace", "edit_file"),
        ("BASH", "bash"),
        ("shell", "bash"),
        ("run_shell_command", "bash"),
        ("functions.bash", "bash"),
        ("bash<|channel|>commentary", "bash"),
        ("functions.Read<|constrain|>json", "read_file"),
        ("LS", "list_files"),
        ("TodoWrite", "todo_write"),
        ("update_plan", "todo_write"),
        ("Agent", "task"),
        ("AskUserQuestion", "ask_user"),
        ("WebFetch", "web_fetch"),
        ("applyPatch", "apply_patch"),
        ("grep_search", "grep"),
        # Nothing, or more than one thing, is meant.
        ("deploy", ""),
        ("file", ""),
        ("", ""),
    ],
)
def test_the_tool_of_another_agent_is_the_one_that_does_the_same(name, meant):
    assert find_tool(name, OFFERED) == meant


def test_a_name_that_two_offered_tools_may_have_is_neither():
    assert find_tool("search", ("grep", "glob")) == "grep"
    assert find_tool("read", ("read_file", "view_file")) == ""


@frozen
class Edit:
    old_string: str
    new_string: str = ""


def edit(  # noqa: PLR0913, PLR0917 - one of each
    path: str,
    old_string: str = "",
    new_string: str = "",
    offset: Annotated[int, Param(ge=1)] = 1,
    depth: int | None = None,
    ratio: float = 1.0,
    edits: list[Edit] | None = None,
    names: list[str] | None = None,
    lines: list[int] | None = None,
    everywhere: bool = False,  # noqa: FBT001, FBT002
    output: Literal["content", "files", "count"] = "content",
    command: str = "",
) -> None:
    """Take one of each."""


SIGNATURE = Signature.of_function(edit)


def read(arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    schema = SIGNATURE.json_schema
    return read_arguments(arguments, schema, SIGNATURE.check, ("command",))


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"file_path": "a"}, {"path": "a"}),
        ({"filePath": "a"}, {"path": "a"}),
        ({"Path": "a"}, {"path": "a"}),
        ({"path": "a", "old_str": "x", "newString": "y"}, {"old_string": "x", "new_string": "y"}),
        ({"path": "a", "offset": "2"}, {"offset": 2}),
        ({"path": "a", "start_line": "2"}, {"offset": 2}),
        ({"path": "a", "ratio": "0.5"}, {"ratio": 0.5}),
        ({"path": "a", "everywhere": "False"}, {"everywhere": False}),
        ({"path": "a", "everywhere": "true"}, {"everywhere": True}),
        ({"path": "a", "edits": '[{"old_str": "x"}]'}, {"edits": [{"old_string": "x"}]}),
        ({"path": "a", "edits": {"old_string": "x"}}, {"edits": [{"old_string": "x"}]}),
        ({"path": "a", "edits": '{"old_string": "x"}'}, {"edits": [{"old_string": "x"}]}),
        ({"path": "a", "names": "x"}, {"names": ["x"]}),
        ({"path": "a", "lines": ["1", 2]}, {"lines": [1, 2]}),
        ({"path": "a", "lines": "[1, 2]"}, {"lines": [1, 2]}),
        ({"path": ["a"]}, {"path": "a"}),
        ({"path": 5}, {"path": "5"}),
        ({"path": "a", "output": "Files"}, {"output": "files"}),
        ({"path": "a", "output_mode": "files_with_matches"}, {"output": "files"}),
        ({"path": "a", "command": ["ls", "a b"]}, {"command": "ls 'a b'"}),
        ({"path": "a", "command": ["bash", "-lc", "ls | wc"]}, {"command": "ls | wc"}),
        ({"path": "a", "cmd": "ls"}, {"command": "ls"}),
        # Options that are not given, and labels.
        ({"path": "a", "new_string": None}, {}),
        ({"path": "a", "offset": 0, "output": "", "depth": ""}, {}),
        ({"path": "a", "description": "List", "activeForm": "Listing", "-n": True}, {}),
    ],
)
def test_what_has_one_meaning_is_taken(arguments, meant):
    understood, remarks = read(arguments)
    assert {"path": "a", **meant} == understood
    SIGNATURE.check(understood)
    assert bool(remarks) == (set(meant) != set())


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "a", "file_path": "b"},
        {"path": None},
        {"path": ["a", "b"]},
        {"path": 1.5},
        {"path": True},
        {"path": "a", "offset": "two"},
        {"path": "a", "offset": True},
        {"path": "a", "offset": float("inf")},
        {"path": "a", "offset": float("nan")},
        {"path": "a", "offset": -1},
        {"path": "a", "everywhere": 1},
        {"path": "a", "everywhere": "yes"},
        {"path": "a", "edits": "[{"},
        {"path": "a", "edits": "x"},
        {"path": "a", "lines": "one"},
        {"path": "a", "output": "co"},
        {"path": "a", "description": {"text": "List"}},
        {"path": "a", "n": 5},
        {"path": "a", "where": "b"},
        {"path": "a", "command": [["ls"]]},
    ],
)
def test_what_has_none_or_two_is_refused(arguments):
    with pytest.raises(BadArguments):
        SIGNATURE.check(read(arguments)[0])


def wait(seconds: Annotated[float, Param("Seconds; at most 100.", gt=0, le=100)] = 5) -> str:
    """Wait."""
    return str(seconds)


@pytest.mark.parametrize(
    ("given", "meant"), [(20_000, 20.0), (101, 0.101), (1e9, 1e9), (100, 100), (7.5, 7.5)]
)
def test_a_time_beyond_the_limit_is_in_milliseconds(given, meant):
    signature = Signature.of_function(wait)
    understood, remarks = read_arguments({"seconds": given}, signature.json_schema, signature.check)
    assert understood == {"seconds": meant}
    assert remarks == ([f"seconds as {meant:g} s"] if given != meant else [])
    in_text = read_arguments({"seconds": f"{given}"}, signature.json_schema, signature.check)[0]
    assert in_text == {"seconds": meant}


def test_what_fits_is_left_alone():
    arguments = {"path": "1", "names": ["[1]"], "depth": None, "command": '["ls"]'}
    assert read(arguments) == (arguments, [])


def test_what_was_read_is_said_in_words():
    _, remarks = read({"file_path": "a", "offset": "2", "edits": '[{"old_str": "x"}]'})
    assert remarks == [
        "file_path as path",
        "offset as 2",
        "edits as a list of 1",
        "edits[0].old_str as old_string",
    ]


def test_an_object_that_may_have_any_names_is_read_for_those_that_it_needs():
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    }

    def check(arguments):
        if "path" not in arguments:
            raise BadArguments(["path: missing"])

    arguments = {"file_path": "a", "head_limit": 5, "description": "x"}
    meant, remarks = read_arguments(arguments, schema, check)
    assert meant == {"path": "a", "head_limit": 5, "description": "x"}
    assert remarks == ["file_path as path"]
