"""The page of each tool shows a call and what comes of it; the tests of the pages run it."""

import re

import pytest
import repository

WRAPS = "def nanocoder_tools(tools: Tools"
"""So begins the hook of a plugin that only wraps tools of others."""
CALLED = re.compile(r"^\$ nanocoder call (\w+) .*\n(?![$`])\S", re.MULTILINE)
FROM_PYTHON = re.compile(r"session\.call\(\s*\"\w+\".*?assert ", re.DOTALL)
NOT_RUN = "<!-- not run"


def wraps(package):
    """Return True if *package* has no tool of its own."""
    return WRAPS in (package.source / "__init__.py").read_text(encoding="utf-8")


def pages():
    tools = (package for package in repository.plugins() if package.kind == "tool")
    return [package for package in tools if not wraps(package)]


@pytest.mark.contract("NT-78")
@pytest.mark.parametrize("package", pages(), ids=lambda package: package.name)
def test_the_page_of_a_tool_has_an_input_and_its_output_that_a_test_runs(package):
    text = (package.folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(<!--[^>]*-->\n)?```(console|python)\n(.*?)```", text, re.DOTALL)
    shown = [
        block
        for comment, language, block in blocks
        if not comment.startswith(NOT_RUN)
        and (CALLED if language == "console" else FROM_PYTHON).search(block)
    ]
    assert shown, f"{package.label}/README.md: no block has a call and its output"
