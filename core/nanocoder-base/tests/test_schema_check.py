"""Checking what a model sent: taken as it is, or refused in words it can act on."""

import enum
import subprocess
import sys
from typing import Annotated, Any, Literal

import attrs
import pytest
from nanocoder_schema import BadArguments, Param, SchemaSignature, Signature, structure


class Colour(enum.StrEnum):
    """Two of many."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """A scale."""

    LOW = 1
    HIGH = 2


@attrs.frozen
class Edit:
    """One replacement."""

    old_string: Annotated[str, Param(min_length=1)]
    new_string: str = ""


@attrs.frozen
class Node:
    """A thing with things in it."""

    name: str
    children: list["Node"] = attrs.field(factory=list)


def edit_file(ctx, path: str, edits: list[Edit], limit: Annotated[int, Param(ge=1)] = 10) -> str:
    """Replace text in a file."""
    return f"{path}: {len(edits)} edits, {limit} lines, for {ctx}"


def check(annotation: Any, value: Any) -> Any:
    """Check *value* for a parameter of this type."""
    cls = attrs.make_class("One", {"it": attrs.field(type=annotation)})
    return Signature.of_class(cls).check({"it": value})["it"]


def problems(function: Any, arguments: Any) -> list[str]:
    """Return what is wrong with *arguments*."""
    with pytest.raises(BadArguments) as caught:
        Signature.of_function(function).check(arguments)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


@pytest.mark.contract("LC-05")
def test_a_handler_is_the_one_place_where_its_arguments_are_described():
    def first(path: Annotated[str, "The file."]): ...

    def second(path: Annotated[str, "A folder."], depth: Annotated[int, Param(ge=1)] = 2): ...

    before, after = (Signature.of_function(each) for each in (first, second))
    assert before.json_schema["properties"] == {
        "path": {"type": "string", "description": "The file."}
    }
    assert after.json_schema["properties"]["path"]["description"] == "A folder."
    assert after.json_schema["properties"]["depth"]["minimum"] == 1
    assert after.check({"path": "a"}) == {"path": "a", "depth": 2}
    assert problems(first, {"path": "a", "depth": 1})
    assert problems(second, {"path": "a", "depth": 0})


@pytest.mark.contract("LC-03")
def test_checked_arguments_are_the_keyword_arguments_of_the_handler():
    arguments = {"path": "a.py", "edits": [{"old_string": "x"}]}
    checked = Signature.of_function(edit_file).check(arguments)
    assert checked == {"path": "a.py", "edits": [Edit("x", "")], "limit": 10}
    assert edit_file("me", **checked) == "a.py: 1 edits, 10 lines, for me"


def test_the_arguments_of_a_class_build_that_class():
    checked = Signature.of_class(Edit).check({"old_string": "x"})
    assert Edit(**checked) == Edit("x")


@pytest.mark.contract("NA-12")
@pytest.mark.contract("NA-14")
def test_defaults_are_filled_in_and_never_shared_between_calls():
    def collect(items: list[str] = []): ...  # noqa: B006 - a plugin may well write this

    signature = Signature.of_function(collect)
    first, second = signature.check({})["items"], signature.check({})["items"]
    first.append("mine")
    assert second == []
    assert signature.check({})["items"] == []
    assert signature.json_schema["properties"]["items"]["default"] == []


@pytest.mark.contract("NA-13")
def test_all_problems_come_at_once_one_line_each_with_their_place():
    sent = {
        "edits": [{"old_string": "x"}, {"old_string": None}, {"old_strin": "y"}],
        "limit": 0,
        "pth": "a.py",
    }
    assert problems(edit_file, sent) == [
        "path: required, but missing",
        "edits[1].old_string: expected a string, got null",
        "edits[2].old_string: required, but missing",
        "edits[2].old_strin: no such name; did you mean 'old_string'?",
        "limit: expected at least 1, got 0",
        "pth: no such name; did you mean 'path'?",
    ]


@pytest.mark.contract("NA-13")
def test_an_unknown_name_near_nothing_lists_what_there_is():
    sent = {"path": "a", "edits": [], "zzz": 1}
    assert problems(edit_file, sent) == ["zzz: no such name; there are path, edits, limit"]
    assert problems(lambda: 0, {"a": 1}) == ["a: no such name; there are none"]


@pytest.mark.contract("NA-13")
@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (str, None, "expected a string, got null"),
        (str, 5, "expected a string, got 5"),
        (str, {"a": 1}, "expected a string, got an object"),
        (str, ["a"], "expected a string, got a list of 1"),
        (int, "abc", "expected an integer, got 'abc'"),
        (int, "5", "expected an integer, got '5'"),
        (int, 1.5, "expected an integer, got 1.5"),
        (int, True, "expected an integer, got true"),
        (int, None, "expected an integer, got null"),
        (int, float("inf"), "expected an integer, got inf"),
        (float, False, "expected a number, got false"),
        (float, "1.5", "expected a number, got '1.5'"),
        (float, float("nan"), "expected a number, got nan"),
        (float, 10**400, "expected a number of ordinary size, got a huge number"),
        (bool, 1, "expected true or false, got 1"),
        (bool, "True", "expected true or false, got 'True'"),
        (type(None), 0, "expected null, got 0"),
        (list[str], "abc", "expected a list, got 'abc'"),
        (list, "abc", "expected a list, got 'abc'"),
        (list[str], {"a": 1}, "expected a list, got an object"),
        (tuple[str, ...], "abc", "expected a list, got 'abc'"),
        (dict[str, int], [["a", 1]], "expected an object, got a list of 1"),
        (Literal["a", "b"], "c", "expected one of 'a', 'b', got 'c'"),
        (Literal["a"], ["a"], "expected 'a', got a list of 1"),
        (Literal[1, 2], True, "expected one of 1, 2, got true"),
        (Colour, "green", "expected one of 'red', 'blue', got 'green'"),
        (Colour, "RED", "expected one of 'red', 'blue', got 'RED'"),
        (Level, 3, "expected one of 1, 2, got 3"),
        (Level | None, True, "expected one of 1, 2 or null, got true"),
        (int | None, "x", "expected an integer or null, got 'x'"),
        (int | str, 1.5, "expected an integer or a string, got 1.5"),
        (Edit, "x", "expected an object, got 'x'"),
        (Edit | None, [], "expected an object or null, got a list of 0"),
        (Annotated[int, Param(ge=1, lt=5)], 5, "expected less than 5, got 5"),
        (Annotated[float, Param(gt=0, le=1)], 0, "expected more than 0, got 0"),
        (Annotated[float, Param(gt=0, le=1)], 1.5, "expected at most 1, got 1.5"),
        (Annotated[int | None, Param(ge=1)], 0, "expected at least 1, got 0"),
        (Annotated[str, Param(min_length=2)], "a", "expected at least 2 characters, got 1"),
        (Annotated[list[int], Param(max_length=1)], [1, 2], "expected at most 1 items, got 2"),
        (Annotated[dict, Param(min_length=1)], {}, "expected at least 1 entries, got 0"),
        (Annotated[str, Param(pattern="^a+$")], "b", "expected text that matches ^a+$, got 'b'"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_message_says_why(annotation, value, message):
    with pytest.raises(BadArguments) as caught:
        check(annotation, value)
    assert caught.value.problems == (f"it: {message}",)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 2.0, 2),
        (float, 2, 2.0),
        (int | float, 2.0, 2.0),
        (Any, {"a": [1, None]}, {"a": [1, None]}),
        (object, None, None),
        (tuple[int, ...], [1, 2], (1, 2)),
        (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
        (Literal["a"] | None, None, None),
        (Colour, "red", Colour.RED),
        (Level, 1.0, Level.LOW),
        (str | list[str], ["a"], ["a"]),
        (Edit | None, {"old_string": "a"}, Edit("a")),
        (Edit | Node, {"name": "n"}, Node("n")),
        (Annotated[int | None, Param(ge=1)], None, None),
        (Annotated[str, Param(pattern="b")], "abc", "abc"),
    ],
)
def test_what_fits_is_taken_in_its_python_form(annotation, value, expected):
    checked = check(annotation, value)
    assert checked == expected
    assert type(checked) is type(expected)


def test_the_number_behind_an_integral_float_is_an_integer():
    assert isinstance(check(int, 2.0), int)


@pytest.mark.parametrize("sent", [None, "x", 5, [], [["path", "a"]], True])
def test_arguments_that_are_no_object_are_refused(sent):
    (problem,) = problems(edit_file, sent)
    assert problem.startswith("the arguments: expected an object, got ")


def test_places_inside_maps_lists_and_trees_are_spelt_out():
    def tool(env: dict[str, int], pair: tuple[int, ...], tree: Node): ...

    sent = {
        "env": {"HOME": "x", "two words": 1.5},
        "pair": [True, "a"],
        "tree": {"name": "a", "children": [{"name": "b", "children": [{}]}]},
    }
    assert problems(tool, sent) == [
        "env.HOME: expected an integer, got 'x'",
        "env['two words']: expected an integer, got 1.5",
        "pair[0]: expected an integer, got true",
        "pair[1]: expected an integer, got 'a'",
        "tree.children[0].children[0].name: required, but missing",
    ]


def test_a_flood_of_problems_is_cut_and_counted():
    def tool(items: list[int]): ...

    lines = problems(tool, {"items": ["x"] * 1_000})
    assert lines[0] == "items[0]: expected an integer, got 'x'"
    assert len(lines) == 51
    assert lines[-1] == "… and 950 more problems"


def test_control_characters_and_length_of_what_came_do_not_reach_the_message():
    def tool(count: int): ...

    (problem,) = problems(tool, {"count": "\x1b[31m" + "x" * 10_000})
    assert "\x1b" not in problem
    assert len(problem) < 200


@pytest.mark.contract("NA-13")
def test_the_rules_of_a_class_keep_their_words_and_all_are_asked():
    def absolute(_instance, _attribute, value):
        if not value.startswith("/"):
            raise ValueError("must be an absolute path")

    @attrs.frozen
    class Move:
        source: str = attrs.field(validator=absolute)
        target: str = attrs.field(validator=absolute)
        count: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    with pytest.raises(BadArguments) as caught:
        Signature.of_class(Move).check({"source": "a", "target": "b", "count": 0})
    assert caught.value.problems == (
        "source: must be an absolute path",
        "target: must be an absolute path",
        "count: 'count' must be >= 1: 0",
    )


def test_a_rule_about_two_fields_is_asked_when_both_are_there():
    @attrs.frozen
    class Range:
        first: int
        last: int = attrs.field()

        @last.validator
        def _ordered(self, _attribute, value):
            if value < self.first:
                raise ValueError("last must not be before first")

    signature = Signature.of_class(Range)
    assert signature.check({"first": 1, "last": 2}) == {"first": 1, "last": 2}
    with pytest.raises(BadArguments, match="last must not be before first"):
        signature.check({"first": 2, "last": 1})


def test_a_table_of_settings_becomes_its_class_and_says_where_it_is_wrong():
    @attrs.frozen
    class Settings:
        timeout_s: float = 60.0
        shells: tuple[str, ...] = ("bash",)

    assert structure(Settings, {"timeout_s": 5, "shells": ["sh"]}) == Settings(5.0, ("sh",))
    with pytest.raises(BadArguments) as caught:
        structure(Settings, {"timeout": 5, "shells": "sh"}, where="plugins.tool-bash")
    assert caught.value.problems == (
        "plugins.tool-bash.shells: expected a list, got 'sh'",
        "plugins.tool-bash.timeout: no such name; did you mean 'timeout_s'?",
    )


def test_a_tree_deeper_than_the_stack_is_refused():
    tree: dict[str, Any] = {"name": "leaf"}
    for _ in range(5_000):
        tree = {"name": "n", "children": [tree]}
    with pytest.raises(BadArguments, match="nested too deeply"):
        structure(Node, tree)


def test_an_annotation_that_means_nothing_fails_loudly():
    def tool(path: "Pth"): ...  # noqa: F821

    with pytest.raises(NameError, match="Pth"):
        Signature.of_function(tool).check({"path": "a"})


def output_of(code: str) -> str:
    """Return what *code* prints in an interpreter of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_importing_schema_and_making_a_signature_imports_nothing_slow():
    code = (
        "import sys\n"
        "from nanocoder_schema import Signature, Param, normalise\n"
        "def tool(path: str): ...\n"
        "Signature.of_function(tool)\n"
        "slow = {'inspect', 'attrs', 'cattrs', 'difflib', 'asyncio'}\n"
        "print(sorted(slow & set(sys.modules)))\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


def test_a_schema_imports_no_cattrs():
    code = (
        "import sys\n"
        "from nanocoder_schema import Signature\n"
        "def tool(path: str): ...\n"
        "signature = Signature.of_function(tool)\n"
        "signature.json_schema\n"
        "print('cattrs' in sys.modules)\n"
        "signature.check({'path': 'a'})\n"
        "print('cattrs' in sys.modules)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "False\nTrue\n"


def test_the_first_member_of_a_union_that_fits_is_taken_in_each_signature():
    @attrs.frozen
    class Left:
        name: str

    @attrs.frozen
    class Right:
        name: str

    assert check(Left | Right, {"name": "n"}) == Left("n")
    assert check(Right | Left, {"name": "n"}) == Right("n")


def test_a_schema_from_elsewhere_is_judged_by_who_brought_it():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    signature = SchemaSignature(schema, lambda values: ["n: too large"] if values["n"] > 1 else [])
    assert signature.json_schema == schema
    assert signature.check({"n": 1}) == {"arguments": {"n": 1}}
    for arguments, problem in (({"n": 2}, "n: too large"), ([], "expected an object")):
        with pytest.raises(BadArguments, match=problem):
            signature.check(arguments)
