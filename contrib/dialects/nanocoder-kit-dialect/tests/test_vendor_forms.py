"""One definition of a tool, written in the form of each vendor."""

from typing import Annotated

import pytest
from nanocoder import Param, Tool, tool
from nanocoder_kit_dialect import anthropic_tool, openai_tool


@tool
def edit_file(
    path: Annotated[str, "File, relative to the workspace."],
    limit: Annotated[int | None, Param("Lines to show.", ge=1)] = None,
) -> str:
    """Replace text in a file."""
    return f"{path} {limit}"


@tool
def run_tests(pattern: Annotated[str, "Which tests to run."] = "") -> str:
    """Run the tests."""
    return pattern


@tool
def list_todos() -> str:
    """List what is to be done."""
    return ""


@pytest.mark.contract("NT-01")
@pytest.mark.contract("NA-21")
def test_the_openai_form_of_a_tool():
    assert openai_tool("edit_file", "Replace text in a file.", edit_file.parameters) == {
        "type": "function",
        "function": {
            "name": "edit_file",
            "description": "Replace text in a file.",
            "parameters": edit_file.parameters,
        },
    }


@pytest.mark.contract("LC-17")
@pytest.mark.contract("NA-21")
def test_the_anthropic_form_of_a_tool():
    assert anthropic_tool("edit_file", "Replace text in a file.", edit_file.parameters) == {
        "name": "edit_file",
        "description": "Replace text in a file.",
        "input_schema": edit_file.parameters,
    }


@pytest.mark.contract("NA-07")
@pytest.mark.contract("NT-48")
@pytest.mark.parametrize("without_required", [run_tests, list_todos])
def test_without_required_parameters_there_is_no_required_in_any_form(
    without_required: Tool[..., str],
):
    definition = ("t", "d", without_required.parameters)
    openai = openai_tool(*definition)["function"]["parameters"]
    for parameters in (openai, anthropic_tool(*definition)["input_schema"]):
        assert parameters["type"] == "object"
        assert parameters["additionalProperties"] is False
        assert "required" not in parameters
        assert "properties" in parameters
