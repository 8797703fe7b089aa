"""A block that is not written exactly as it stands in the file is indented as the file is."""

import ast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from nanocoder import ToolContext, Workspace
from nanocoder_tool_edit import edit_file

CASES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
# 10,000 cases take a minute.
pytestmark = pytest.mark.timeout(3_600)
UNITS = st.sampled_from(["\t", "  ", "    ", "        "])


@pytest.fixture
def ctx(tmp_path):
    with Workspace(tmp_path) as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=tmp_path
        )


def edited(ctx, before, old, new, name="m.py"):
    (ctx.working_directory / name).write_text(before)
    arguments = {"path": name, "old_string": old, "new_string": new}
    result = edit_file.invoke(ctx, edit_file.signature.check(arguments))
    return (ctx.working_directory / name).read_text(), result.metadata["strategy"]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (  # the first line is indented alike in both
            "def f():\n\ta = 1\n\tb = 2\n\treturn a + b\n",
            "def f():\n    a = 1\n",
            "def f():\n    a = 3\n",
            "def f():\n\ta = 3\n\tb = 2\n\treturn a + b\n",
        ),
        (
            "def f():\n    a = 1\n    b = 2\n",
            "def f():\n\ta = 1\n",
            "def f():\n\ta = 3\n",
            "def f():\n    a = 3\n    b = 2\n",
        ),
        (  # a level that the replaced lines do not have
            "class A:\n\tdef f(self):\n\t\treturn 1\n",
            "class A:\n  def f(self):\n    return 1",
            "class A:\n  def f(self):\n    if self:\n      return 2\n    return 1",
            "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn 2\n\t\treturn 1\n",
        ),
        (  # from a deeper level back to the outermost
            "if a:\n\tb()\n",
            "    b()",
            "    b()\nelse:\n    c()",
            "if a:\n\tb()\nelse:\n\tc()\n",
        ),
        (  # the model left out what the whole block is indented by
            "class A:\n\tdef f(self):\n\t\treturn 1\n",
            "def f(self):\n    return 1",
            "def f(self):\n    x = 2\n    return x",
            "class A:\n\tdef f(self):\n\t\tx = 2\n\t\treturn x\n",
        ),
        (  # other white space between words, at the same level
            "x = 1\ndef f():\n\treturn 1\n",
            "x  =  1\n",
            "if y:\n    x = 1\n",
            "if y:\n\tx = 1\ndef f():\n\treturn 1\n",
        ),
        (  # eight columns of spaces for one tab
            "def f():\n\tif a:\n\t\treturn 1\n",
            "def f():\n        if a:\n                return 1\n",
            "def f():\n        if b:\n                return 2\n",
            "def f():\n\tif b:\n\t\treturn 2\n",
        ),
        (  # a line that goes on, aligned by some more columns
            "def f():\n\ta = 1\n\treturn a\n",
            "def f():\n    a = 1\n",
            "def f():\n    a = g(1,\n          2)\n",
            "def f():\n\ta = g(1,\n\t\t  2)\n\treturn a\n",
        ),
    ],
)
def test_every_line_is_indented_as_the_file_is(ctx, before, old, new, after):
    assert edited(ctx, before, old, new)[0] == after


def test_text_that_is_there_exactly_is_replaced_exactly(ctx):
    after, strategy = edited(ctx, "a:\n\tb\n", "a:", "a:\n    c", name="notes.txt")
    assert (after, strategy) == ("a:\n    c\n\tb\n", "exact")


def test_a_file_that_mixes_tabs_and_spaces_keeps_what_the_model_wrote(ctx):
    before = "all:\n\tmake x\nif a\n    b\nendif\n"
    after, _ = edited(ctx, before, "if  a\n    b", "if a\n    c\n        d", name="Makefile")
    assert after == "all:\n\tmake x\nif a\n    c\n        d\nendif\n"


@st.composite
def programs(draw):
    """Draw the lines of a Python program as pairs of level and words."""
    lines, level = [], 0
    for number in range(draw(st.integers(2, 12))):
        level = draw(st.integers(0, level))
        opens = draw(st.booleans())
        lines.append((level, f"if v{number}:" if opens else f"v{number} = {number}"))
        if opens:
            level += 1
            lines.append((level, f"w{number}()"))
    return lines


def text_of(lines, unit, less=0):
    return "".join(f"{unit * (level - less)}{words}\n" for level, words in lines)


@CASES
@given(program=programs(), data=st.data(), file_unit=UNITS, model_unit=UNITS)
def test_python_that_parses_still_does(ctx, program, data, file_unit, model_unit):
    start = data.draw(st.integers(0, len(program) - 1))
    old = program[start : data.draw(st.integers(start + 1, len(program)))]
    at = data.draw(st.integers(0, len(old) - 1))
    level = old[at][0]
    new = [*old[:at], (level, "if new:"), (level + 1, "new()"), *old[at:]]
    less = data.draw(st.sampled_from([0, min(level for level, _ in old)]))
    before = text_of(program, file_unit)
    sought = text_of(old, model_unit, less)
    assume(sought not in before)  # what is there exactly is replaced exactly
    after, strategy = edited(ctx, before, sought, text_of(new, model_unit, less))
    assert strategy != "exact"
    assert after == text_of([*program[:start], *new, *program[start + len(old) :]], file_unit)
    ast.parse(after)
