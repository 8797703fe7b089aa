"""Problems of a definition: what a model would not understand of a tool."""

from pathlib import Path
from typing import Annotated

import attrs
import pytest
from nanocoder import tool
from nanocoder_testing import definition_problems


@attrs.frozen
class Edit:
    """One replacement."""

    old_string: Annotated[str, "The text to find, exactly."]
    new_string: Annotated[str, "The text to put in its place."] = ""


def edit_file(
    path: Annotated[str, "File, relative to the workspace."],
    edits: Annotated[list[Edit], "Replacements, in their order."],
) -> str:
    """Replace text in a file."""
    return f"{path} {edits}"


@pytest.mark.contract("NT-03")
@pytest.mark.contract("NA-15")
@pytest.mark.parametrize(
    ("description", "fault"),
    [
        ("", "no description"),
        ("Edits it.", "too short"),
        ("The edit file tool", "only repeats the name"),
    ],
)
def test_a_description_that_tells_nothing_is_a_problem(description, fault):
    definition = attrs.evolve(tool(edit_file), description=description)
    (problem,) = definition_problems(definition)
    assert fault in problem


@pytest.mark.contract("NT-03")
@pytest.mark.contract("NA-15")
def test_each_parameter_that_says_nothing_is_named_however_deep():
    inner = attrs.make_class("Inner", {"deep": attrs.field(type=str)})

    @tool
    def change(
        bare, plain: str, path: Annotated[str, "The path"], deep: Annotated[list[inner], "Many."]
    ):
        """Do a thing with all of these."""

    assert [problem.split(":")[0] for problem in definition_problems(change)] == [
        "bare", "bare", "plain", "path", "deep[].deep",
    ]  # fmt: skip


@pytest.mark.contract("NA-11")
def test_a_type_without_a_json_form_is_a_problem():
    @tool
    def show(file: Annotated[Path, "The one to show."]):
        """Show a file to the person."""

    (problem,) = definition_problems(show)
    assert problem.startswith("file: its type has no JSON form; use str, int")


def test_a_described_tool_has_no_problems():
    assert definition_problems(tool(edit_file)) == []
