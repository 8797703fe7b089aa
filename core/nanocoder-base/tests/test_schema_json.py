"""The JSON Schema of a signature: what a model reads."""

import enum
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import attrs
import pytest
from nanocoder_schema import Param, Signature
from nanocoder_schema.json_schema import describe


class Colour(enum.StrEnum):
    """Two of many."""

    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Edit:
    """One replacement."""

    old_string: Annotated[str, Param("The text to find, exactly.", min_length=1)]
    new_string: Annotated[str, "The text to put in its place."] = ""


@attrs.frozen
class Node:
    """A folder or a file."""

    name: Annotated[str, "The last part of its path."]
    children: Annotated[list["Node"], "Its content."] = attrs.field(factory=list)


@attrs.frozen
class Link:
    """One link of a chain."""

    after: Annotated["Link | None", "The next link."] = None


def edit_file(
    ctx: "ToolContext",  # noqa: F821 - as in a plugin, where it exists for the type checker only
    path: Annotated[str, "File, relative to the workspace."],
    edits: Annotated[list[Edit], Param("What to replace.", min_length=1, max_length=9)],
    limit: Annotated[int | None, Param("Lines to show.", ge=1)] = None,
    *,
    colour: Annotated[Colour, "How to show it."] = Colour.RED,
    dry_run: Annotated[bool, "Only say what would change."] = False,
) -> str:
    """Replace text in a file."""
    return f"{path} {edits} {limit} {colour} {dry_run}"


def schema_of(annotation: Any, **default: Any) -> dict[str, Any]:
    """Return the schema of one parameter with this annotation."""
    fields = {"it": attrs.field(type=annotation, **default)}
    return Signature.of_class(attrs.make_class("One", fields)).json_schema["properties"]["it"]


@pytest.mark.contract("NA-01")
@pytest.mark.contract("NA-06")
def test_a_function_becomes_an_object_with_properties_and_ctx_stays_out():
    schema = Signature.of_function(edit_file).json_schema
    assert schema["type"] == "object"
    assert list(schema["properties"]) == ["path", "edits", "limit", "colour", "dry_run"]


@pytest.mark.contract("NA-01")
def test_an_attrs_class_and_a_function_of_the_same_parameters_have_the_same_schema():
    def find(text: Annotated[str, "What to find."], *, limit: Annotated[int, "At most."] = 5): ...

    cls = attrs.make_class(
        "Find",
        {
            "text": attrs.field(type=Annotated[str, "What to find."]),
            "limit": attrs.field(type=Annotated[int, "At most."], default=5),
        },
    )
    assert Signature.of_class(cls).json_schema == Signature.of_function(find).json_schema


@pytest.mark.contract("NA-07")
def test_required_lists_what_has_no_default():
    assert Signature.of_function(edit_file).json_schema["required"] == ["path", "edits"]


@pytest.mark.contract("NA-07")
def test_without_required_parameters_there_is_no_required():
    def run_tests(pattern: Annotated[str, "Which tests to run."] = ""): ...

    def list_todos(): ...

    for function in (run_tests, list_todos):
        schema = Signature.of_function(function).json_schema
        assert schema["type"] == "object"
        assert "required" not in schema
        assert "properties" in schema


@pytest.mark.contract("NA-08")
def test_every_object_is_closed_however_deep():
    schema = Signature.of_function(edit_file).json_schema
    assert schema["additionalProperties"] is False
    assert schema["properties"]["edits"]["items"]["additionalProperties"] is False


@pytest.mark.contract("NA-09")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (list, {"type": "array"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
        (Literal["all", 3], {"enum": ["all", 3]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (NewType("Name", str), {"type": "string"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    ],
)
def test_types_have_their_json_form(annotation, expected):
    assert schema_of(annotation) == expected


@pytest.mark.contract("NA-09")
def test_a_nested_class_is_written_out_where_it_is_used():
    assert Signature.of_function(edit_file).json_schema["properties"]["edits"] == {
        "type": "array",
        "minItems": 1,
        "maxItems": 9,
        "description": "What to replace.",
        "items": {
            "type": "object",
            "description": "One replacement.",
            "properties": {
                "old_string": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The text to find, exactly.",
                },
                "new_string": {
                    "type": "string",
                    "description": "The text to put in its place.",
                    "default": "",
                },
            },
            "required": ["old_string"],
            "additionalProperties": False,
        },
    }


def test_two_classes_of_one_name_keep_their_own_fields():
    def pair(name: str) -> type:
        return attrs.make_class("Pair", {name: attrs.field(type=str)})

    both = attrs.make_class(
        "Both", {"a": attrs.field(type=pair("x")), "b": attrs.field(type=pair("y"))}
    )
    properties = Signature.of_class(both).json_schema["properties"]
    assert [list(properties[name]["properties"]) for name in "ab"] == [["x"], ["y"]]


def test_a_class_inside_itself_is_left_open_and_named():
    def tree(root: Annotated[Node, "Where to start."], after: Link | None = None): ...

    signature = Signature.of_function(tree)
    root = signature.json_schema["properties"]["root"]
    assert root["properties"]["children"] == {
        "type": "array",
        "description": "Its content.",
        "default": [],
    }
    assert root["additionalProperties"] is False
    assert describe(signature.parameters).untyped == ("root.children[]", "after.after")


@pytest.mark.contract("NA-10")
def test_every_parameter_keeps_its_description_the_optional_ones_too():
    properties = Signature.of_function(edit_file).json_schema["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "path": "File, relative to the workspace.",
        "edits": "What to replace.",
        "limit": "Lines to show.",
        "colour": "How to show it.",
        "dry_run": "Only say what would change.",
    }


def test_a_parameter_named_title_is_not_taken_for_a_schema_title():
    def note(title: Annotated[str, "The heading of the note."]): ...

    schema = Signature.of_function(note).json_schema
    assert schema["properties"]["title"]["type"] == "string"
    assert "title" not in schema


@pytest.mark.contract("NA-11")
@pytest.mark.parametrize(
    "annotation", [Path, bytes, dict[int, str], tuple[int, str], set[str], Edit | Node]
)
def test_an_unknown_type_is_left_open_and_named(annotation):
    fields = {"it": attrs.field(type=Annotated[annotation, "Something odd."])}
    signature = Signature.of_class(attrs.make_class("Odd", fields))
    assert signature.json_schema["properties"]["it"] == {"description": "Something odd."}
    assert describe(signature.parameters).untyped == ("it",)


@pytest.mark.contract("NA-12")
@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (int, 2000, 2000),
        (str | None, None, None),
        (Colour, Colour.BLUE, "blue"),
        (list[str], attrs.Factory(list), []),
        (Edit, Edit("x"), {"old_string": "x", "new_string": ""}),
    ],
)
def test_defaults_are_shown_as_json(annotation, default, expected):
    assert schema_of(annotation, default=default)["default"] == expected


def test_a_default_without_a_json_form_makes_the_parameter_optional_and_is_not_shown():
    fields = {"it": attrs.field(type=str, default=object())}
    schema = Signature.of_class(attrs.make_class("One", fields)).json_schema
    assert schema["properties"]["it"] == {"type": "string"}
    assert "required" not in schema


def test_bounds_on_an_optional_number_bind_the_number():
    assert Signature.of_function(edit_file).json_schema["properties"]["limit"] == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "description": "Lines to show.",
        "default": None,
    }


@pytest.mark.parametrize(
    ("function", "named"),
    [(lambda *paths: paths, "paths"), (lambda **rest: rest, "rest"), (lambda a, /: a, "a")],
)
def test_parameters_that_cannot_be_named_are_refused(function, named):
    with pytest.raises(TypeError, match=f"parameter .*{named}.* cannot be passed by name"):
        _ = Signature.of_function(function).json_schema


def test_a_method_keeps_its_self():
    class Tool:
        def run(self, path: Annotated[str, "File to run."]): ...

    assert list(Signature.of_function(Tool().run).json_schema["properties"]) == ["path"]


def written_as_text(path: "Annotated[str, 'File to read.']", limit: "int" = 5): ...


def test_a_partial_function_and_annotations_written_as_text_are_understood():
    signature = Signature.of_function(partial(written_as_text, limit=9))
    assert signature.json_schema["properties"] == {
        "path": {"type": "string", "description": "File to read."},
        "limit": {"type": "integer", "default": 9},
    }
