"""The page of each hook and of each tool says what goes in, what comes out and what may fail."""

import ast
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

import pages
import pytest
import repository
from nanocoder.hooks import specs

PARTS = ("Called", "Results", "Raises", "Example")
CLASS = re.compile(r"[a-z]+(_[a-z]+)+")


def hook_sections() -> dict[str, str]:
    """Return the section of each hook on the page of hooks, by its name."""
    text = pages.HOOKS_PAGE.read_text(encoding="utf-8")
    sections = re.split(r"^## `(nanocoder_\w+)", text, flags=re.MULTILINE)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))


def owned(tools) -> Iterator[tuple[str, str, dict]]:
    """Yield each first-party tool with the page of its package."""
    readmes = {package.name: package.folder / "README.md" for package in repository.plugins()}
    for tool in tools:
        if (page := readmes.get(f"nanocoder-{tool['plugin']}")) is not None:
            yield tool["name"], page.read_text(encoding="utf-8"), tool


@pytest.mark.contract("NT-51")
@pytest.mark.parametrize("hook", sorted(specs.STYLES))
def test_the_page_of_hooks_says_of_each_hook_when_what_and_how_it_fails(hook):
    section = hook_sections()[hook]
    for part in PARTS[:3]:
        words = re.search(rf"^\*\*{part}:\*\* (.+)", section, re.MULTILINE)
        assert words, f"{hook} has no {part}"
        assert words[1] == "none." or len(words[1].split()) > 2, f"{hook}: {part} says nothing"
    source = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert source, f"{hook} has no example"
    names = {node.name for node in ast.walk(ast.parse(source[1])) if hasattr(node, "name")}
    assert hook in names, f"the example of {hook} does not implement it"


@pytest.mark.contract("NT-51")
def test_the_arguments_of_each_hook_on_its_page_are_those_of_the_code():
    for hook, section in hook_sections().items():
        shown = re.match(r"(.*?)`\n", section, re.DOTALL)[1]
        for name in getattr(specs, hook).__annotations__:
            assert name == "return" or f"{name}:" in shown, (hook, name)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """All tools that this installation offers, as `nanocoder tools` prints them."""
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "nanocoder", "tools", "--output", "json"],
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
        timeout=100,
    )
    return json.loads(done.stdout)


def rows_of(page: str) -> dict[str, str]:
    """Return by name the rest of each row of a table whose first or second cell has that name."""
    rows = defaultdict[str, str](str)
    for line in re.findall(r"^\|(.+)\|$", page, re.MULTILINE):
        cells = [cell.strip() for cell in line.split(" | ")]
        for cell in cells[:2]:
            if re.fullmatch(r"(`\w+`(, )?)+", cell):
                for name in re.findall(r"\w+", cell):
                    rows[name] += f"{line}|"
    return rows


def complaint(
    parameter: str, schema: dict, row: str, *, is_required: bool, has_column: bool
) -> str:
    """Return what is wrong with the *row* of a parameter; a table may have a column of defaults."""
    default = schema.get("default")
    if not row:
        return f"no row of {parameter}"
    if is_required:
        is_clear = "required" in row if has_column else "default" not in row
        return "" if is_clear else f"{parameter} is required"
    if default in (None, "", [], {}):
        return ""
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    is_shown = shown.removesuffix(".0") in row.replace(",", "")
    return "" if is_shown else f"the default of {parameter} is {default}"


@pytest.mark.contract("NT-51")
def test_the_page_of_each_tool_has_its_parameters_with_the_defaults_of_the_code(tools):
    complaints, number = [], 0
    for name, page, tool in owned(tools):
        rows, schema = rows_of(page), tool["parameters"]
        for parameter, declared in schema.get("properties", {}).items():
            is_required = parameter in schema.get("required", [])
            has_column = "| type | default |" in page
            flags = {"is_required": is_required, "has_column": has_column}
            complaints.append((name, complaint(parameter, declared, rows[parameter], **flags)))
            number += 1
    assert number > 60
    wrong_ones = [f"{name}: {text}" for name, text in complaints if text]
    assert not wrong_ones, "\n".join(wrong_ones)


@pytest.mark.contract("NT-51")
def test_the_page_of_each_tool_says_its_risk_and_effects_as_the_code_has_them(tools):
    complaints = []
    for name, page, tool in owned(tools):
        paragraphs = re.findall(r"^\W*Risk\b.*?(?:\n\n|\Z)", page, re.MULTILINE | re.DOTALL)
        said = "".join(paragraphs).lower()
        complaints += [
            f"{name}: {each}" for each in (tool["risk"], *tool["effects"]) if each not in said
        ]
    assert not complaints, "\n".join(complaints)


def error_classes(package) -> set[str]:
    """Return the identifiers of errors that the source of *package* raises itself."""
    classes = set()
    for path in package.files:
        for node in ast.walk(repository.tree(path)):
            if not isinstance(node, ast.keyword) or node.arg != "error_class":
                continue
            if isinstance(node.value, ast.Constant) and CLASS.fullmatch(str(node.value.value)):
                classes.add(node.value.value)
    return classes


@pytest.mark.contract("NT-51")
@pytest.mark.parametrize("package", [p for p in repository.plugins() if p.kind == "tool"], ids=str)
def test_the_page_of_a_tool_names_the_errors_that_its_source_raises(package):
    page = (package.folder / "README.md").read_text(encoding="utf-8")
    general = (repository.ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    missing = {each for each in error_classes(package) if f"`{each}`" not in page + general}
    assert not missing, f"{package.label}/README.md does not name {sorted(missing)}"
