"""What edit_file does and answers."""

import hashlib
import json
import re
import sys
import time
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import SessionInfo, ToolCall, ToolContext, ToolError, ToolInfo, Workspace
from nanocoder_kit_files.text import OBJECTIONS, Objections, read_text_file
from nanocoder_tool_edit import Settings, edit_file, nanocoder_render

CODE = """\
def first(value):
    if value:
        return value + 1
    return 0


def second(value):
    return first(value)
"""


@pytest.fixture
def ctx(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    with Workspace(root, backups=tmp_path / "backups") as workspace:
        yield ToolContext(
            session_id="s", message_id="c1", workspace=workspace, working_directory=root
        )


@pytest.fixture
def file(ctx):
    path = ctx.working_directory / "m.py"
    path.write_text(CODE)
    return path


def edit(ctx, old, new, path="m.py", **arguments):
    checked = edit_file.signature.check(
        {"path": path, "old_string": old, "new_string": new, **arguments}
    )
    return edit_file.invoke(ctx, checked)


def edit_all(ctx, *edits, path="m.py"):
    checked = edit_file.signature.check({"path": path, "edits": list(edits)})
    return edit_file.invoke(ctx, checked)


def edit_lines(ctx, start, end, new):
    return edit_all(ctx, {"start_line": start, "end_line": end, "new_string": new})


def error_of(ctx, old, new, path="m.py", **arguments):
    with pytest.raises(ToolError) as caught:
        edit(ctx, old, new, path, **arguments)
    return caught.value


@pytest.mark.contract("MA-30")
@pytest.mark.contract("NA-37")
@pytest.mark.contract("NA-40")
@pytest.mark.contract("LC-08")
def test_a_unique_text_is_replaced_and_the_place_is_told(ctx, file):
    result = edit(ctx, "return 0", "return -1")
    assert file.read_text() == CODE.replace("return 0", "return -1")
    assert result.output == "Edited m.py: 1 place, line 4"
    assert result.data == {"path": "m.py", "replacements": 1, "regions": [[4, 4]]}


@pytest.mark.contract("MA-36")
def test_the_diff_is_in_the_metadata(ctx, file):
    metadata = edit(ctx, "return 0", "return -1").metadata
    assert "-    return 0\n+    return -1" in metadata["diff"]
    assert (metadata["added"], metadata["removed"]) == (1, 1)


@pytest.mark.contract("MA-36")
def test_the_diff_has_three_lines_around_what_changed_and_no_line_that_stayed(ctx, file):
    file.write_text("".join(f"{number}\n" for number in range(1, 13)))
    metadata = edit(ctx, "6\n7\n8\n", "new\n7\n").metadata
    assert metadata["diff"].splitlines()[2:] == [
        *("@@ -3,9 +3,8 @@", " 3", " 4", " 5", "-6", "+new", " 7", "-8", " 9", " 10", " 11")
    ]


@pytest.mark.contract("NA-39")
@pytest.mark.contract("MA-35")
def test_several_matches_are_refused_with_their_lines(ctx, file):
    error = error_of(ctx, "return ", "yield ")
    assert error.error_class == "several_matches"
    assert "3 times in 'm.py', in lines 3, 4, 8;" in str(error)
    assert file.read_text() == CODE


@pytest.mark.contract("NA-39")
def test_matches_that_overlap_count(ctx, file):
    file.write_text("aaa\n")
    assert "2 times" in str(error_of(ctx, "aa", "b"))
    edit(ctx, "aa", "b", replace_all=True)
    assert file.read_text() == "ba\n"


@pytest.mark.contract("MA-32")
def test_replace_all_replaces_all(ctx, file):
    result = edit(ctx, "value", "number", replace_all=True)
    assert file.read_text() == CODE.replace("value", "number")
    assert result.metadata["replacements"] == 5
    assert result.output == "Edited m.py: 5 places, lines 1, 2, 3, 7, 8"


def test_of_many_places_the_first_are_named(ctx, file):
    file.write_text("x\n" * 30)
    output = edit(ctx, "x", "y", replace_all=True).output
    assert output == "Edited m.py: 30 places, lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \u2026"


@pytest.mark.contract("MA-31")
@pytest.mark.parametrize(
    ("start", "end", "new", "expected"),
    [
        (2, 2, "two", "one\ntwo\n3\n4"),
        (2, 0, "two\n", "one\ntwo\n3\n4"),
        (2, 3, "", "one\n4"),
        (1, 1, "a\nb\n", "a\nb\n2\n3\n4"),
        (4, 4, "four\n", "one\n2\n3\nfour"),
    ],
)
def test_a_range_of_lines_is_replaced(ctx, file, start, end, new, expected):
    file.write_text("one\n2\n3\n4")
    result = edit_lines(ctx, start, end, new)
    assert file.read_text() == expected
    assert result.metadata["strategy"] == "line_range"


@pytest.mark.contract("MA-31")
@pytest.mark.parametrize(("start", "end"), [(9, 9), (3, 2), (0, 2), (1, 99)])
def test_an_impossible_range_is_refused(ctx, file, start, end):
    with pytest.raises(ToolError) as caught:
        edit_lines(ctx, start, end, "x")
    assert caught.value.error_class == "invalid_arguments"
    assert file.read_text() == CODE


@pytest.mark.contract("MA-31")
def test_a_range_and_a_text_exclude_each_other(ctx, file):
    both = {"old_string": "value", "new_string": "x", "start_line": 1}
    with pytest.raises(ToolError, match="not both"):
        edit_all(ctx, both)


@pytest.mark.parametrize(
    ("old", "new", "strategy"),
    [
        ("    if value:  \n        return value + 1", "    pass", "line_trimmed"),
        ("        return  value  +  1", "    pass", "whitespace_normalised"),
        ("if value:\n    return value + 1", "if not value:\n    return 2", "indent_normalised"),
        ("\tif value:\n\t\treturn value + 1", "\tif not value:\n\t\treturn 2", "indent_normalised"),
        ("    return 0\n\ndef second(value):", "    return 1\n\ndef second(value):", "line_skip"),
        (
            "def first(value):\n    if valeu:\n        return value + 1\n    return 0",
            "def first(value):\n    return 7",
            "fuzzy_anchor",
        ),
    ],
)
@pytest.mark.contract("MA-33")
def test_each_strategy_finds_what_is_its_own_and_is_named(ctx, file, old, new, strategy):
    result = edit(ctx, old, new)
    assert result.metadata["strategy"] == strategy
    assert 0.8 <= result.metadata["confidence"] < 1
    assert f"found by {strategy}" in result.output
    assert file.read_text() != CODE


@pytest.mark.contract("MA-33")
def test_other_indentation_is_carried_over_to_the_new_text(ctx, file):
    edit(ctx, "if value:\n    return value + 1", "if value:\n    x = 1\n\n    return x")
    assert "    if value:\n        x = 1\n\n        return x\n    return 0" in file.read_text()


@pytest.mark.contract("MA-33")
def test_blanks_become_tabs_where_the_file_has_tabs(ctx, file):
    file.write_text("def f():\n\tif x:\n\t\treturn 1\n")
    edit(ctx, "    if x:\n        return 1", "    if x:\n        y()\n        return 2")
    assert file.read_text() == "def f():\n\tif x:\n\t\ty()\n\t\treturn 2\n"


@pytest.mark.contract("MA-34")
def test_a_middle_that_is_too_different_is_not_edited(ctx, file):
    old = "def first(value):\n    while everything_is_fine():\n        go_on()\n    return 0"
    assert error_of(ctx, old, "x").error_class == "text_not_found"
    assert file.read_text() == CODE


@pytest.mark.contract("MA-34")
@pytest.mark.parametrize(
    "old",
    [
        "    if valeu:\n        return value + 1",
        "def frist(value):\n    if value:\n        return value + 1\n    return 0",
        "def first(value):\n    if value:\n        return value + 1\n    retrun 0",
    ],
)
def test_a_similar_middle_needs_three_lines_with_the_first_and_last_right(ctx, file, old):
    assert error_of(ctx, old, "x").error_class == "text_not_found"
    assert file.read_text() == CODE


@pytest.mark.contract("MA-35")
@pytest.mark.parametrize(
    "old",
    ["go(  1 )", "  go( 1 )\nstop()", "start()\ngo(1)\nstop( )"],
)
def test_a_match_that_is_not_exact_must_be_unique(ctx, file, old):
    file.write_text("start()\ngo( 1 )\nstop()\n\nstart()\ngo( 1 )\nstop()\n")
    before = file.read_text()
    assert error_of(ctx, old, "x").error_class in {"several_matches", "text_not_found"}
    assert file.read_text() == before


def test_replace_all_takes_places_that_are_not_exact_but_alike(ctx, file):
    file.write_text("start()\ngo( 1 )\nstop()\n\nstart()\ngo( 1 )\nstop()\n")
    result = edit(ctx, "go(  1 )", "run()", replace_all=True)
    assert file.read_text() == "start()\nrun()\nstop()\n\nstart()\nrun()\nstop()\n"
    assert result.metadata["strategy"] == "whitespace_normalised"


@pytest.mark.contract("MA-35")
def test_two_fuzzy_places_are_refused_with_both(ctx, file):
    file.write_text("begin\n    value = 1000\nend\n\nbegin\n    value = 1001\nend\n")
    error = error_of(ctx, "begin\n    value = 1002\nend", "x")
    assert error.error_class == "several_matches"
    assert error.data["lines"] == [1, 5]


@pytest.mark.contract("MA-34")
def test_where_too_much_would_have_to_be_compared_nothing_is_guessed(ctx, file):
    file.write_text("{\n" * 3_000 + "x\n" + "}\n" * 3_000)
    old = "{\n" * 500 + "y\n" + "}\n" * 500
    assert error_of(ctx, old, "z").error_class == "text_not_found"


def test_tolerance_can_be_switched_off(ctx, file):
    ctx.settings = Settings(tolerant=False)
    assert error_of(ctx, "if value:  ", "x").error_class == "text_not_found"


@pytest.mark.contract("NA-38")
@pytest.mark.contract("MA-39")
@pytest.mark.parametrize(
    ("old", "says"),
    [
        ("    IF value:\n  RETURN value + 1", "upper and lower case differ"),
        ("2\t    if value:\n3\t        return value + 2", "line numbers"),
        ("if value:\\n        return value + 1", "escaped"),
        ("    if values :", "old_string has 'if values :' where the file has 'if value:'"),
        ("  return 0\n    return 9", "old_string has 'return 9' where the file has ''"),
    ],
)
def test_a_failure_names_the_nearest_region_and_the_difference(ctx, file, old, says):
    error = error_of(ctx, old, "x")
    assert error.error_class == "text_not_found"
    assert says in str(error)
    assert "The nearest are lines" in str(error)
    assert "(8 lines, 115 characters)" in str(error)
    assert file.read_text() == CODE


@pytest.mark.contract("MA-39")
@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("say('hello')\n", "say(\u2018hello\u2019)", "say(1)", "say(1)\n"),
        ("say \u201chello\u201d\n", 'say "hello"', 'say "hello!"', "say \u201chello!\u201d\n"),
        ("1\u20132 \u2014 x\n", "1-2 - x", "1-3 - x", "1\u20133 \u2014 x\n"),
        ("a\xa0b c\n", "a b c", "a b d", "a\xa0b d\n"),
        ("x\uff08\uff11\uff09\uff1b\n", "x(1);", "x(2);", "x\uff082\uff09\uff1b\n"),
        ("f(1)\n", "f\uff08\uff11\uff09", "f(2)", "f(2)\n"),
    ],
)
def test_signs_that_look_alike_are_one_and_those_of_the_file_stay(
    ctx, file, text, old, new, expected
):
    file.write_text(text)
    result = edit(ctx, old, new)
    assert file.read_text() == expected
    assert result.metadata["strategy"] == "lookalike"
    assert "found by lookalike" in result.output


def test_signs_may_differ_where_the_indentation_does(ctx, file):
    file.write_text("def f():\n    say(\u201chi\u201d)\n    stop()\n")
    edit(ctx, 'say("hi")\nstop()', 'say("hi")\ngo()')
    assert file.read_text() == "def f():\n    say(\u201chi\u201d)\n    go()\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ('a = "\u200b"\n', 'a = "<U+200B>"', 'a = ""', 'a = ""\n'),
        ('a = "\u200b"\n', r'a = "\u200b"', r'b = "\u200b"', 'b = "\u200b"\n'),
        ("ab\u200bc = 1\n", "abc = 1", "abc = 2", "ab\u200bc = 2\n"),
        ("\u0645\u06cc\u200c\u0634\u0648\u062f x\n", "\u0645\u06cc\u0634\u0648\u062f x",
         "\u0645\u06cc\u0634\u0648\u062f y", "\u0645\u06cc\u200c\u0634\u0648\u062f y\n"),
        ("abc = 1\n", "ab\u200bc = 1", "abc = 2", "abc = 2\n"),
        ("x\n\x0c\ny = 1\n", "x\n\ny = 1", "x\n\ny = 2", "x\n\x0c\ny = 2\n"),
    ],
)  # fmt: skip
def test_what_nobody_sees_is_matched_and_stays(ctx, file, text, old, new, expected):
    file.write_text(text)
    edit(ctx, old, new)
    assert file.read_text() == expected


def test_the_text_of_an_escape_is_no_invisible_character(ctx, file):
    file.write_text('a = "\u200b"\nb = "\\u200b"\n')
    edit(ctx, r'= "\u200b"', '= "x"')
    assert file.read_text() == 'a = "\u200b"\nb = "x"\n'


def test_a_form_feed_survives_a_tolerant_match(ctx, file):
    file.write_text("def f():\n    a = 1\n\x0c\n    b = 2\n")
    error_of(ctx, "  a = 1\n\n\n  b  =  2", "  c = 3")
    edit(ctx, "b  =  2", "b = 3")
    assert file.read_text() == "def f():\n    a = 1\n\x0c\n    b = 3\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2\tb", "2\tB"),
        ("2\tb", "B"),
        ("     2\u2192b", "     2\u2192B"),
        ("1\ta\n2\tb\n", "a\nB\n"),
    ],
)
def test_the_line_numbers_of_read_file_are_left_out(ctx, file, old, new):
    file.write_text("a\nb\nc\n")
    edit(ctx, old, new)
    assert file.read_text() == "a\nB\nc\n"


def test_the_line_numbers_say_which_of_several_places_is_meant(ctx, file):
    file.write_text("a\nb\na\n")
    edit(ctx, "3\ta", "3\tA")
    assert file.read_text() == "a\nb\nA\n"


def test_numbers_that_are_in_the_file_stay(ctx, file):
    file.write_text("1\tone\n2\ttwo\n")
    edit(ctx, "2\ttwo", "3\ttwo")
    assert file.read_text() == "1\tone\n3\ttwo\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("def f(self): pass", "    def g(self): pass", "    def g(self): pass\n"),
        ("\ndef f(self): pass", "\n    def g(self): pass", "    def g(self): pass\n"),
        ("def f(self): pass", "def g(self): pass", "    def g(self): pass\n"),
        ("def f(self): pass", "    def f(self): pass", "        def f(self): pass\n"),
        ("f(self):  pass", "f(self):\n        return 1", None),
    ],
)
def test_a_new_text_that_has_the_indentation_does_not_get_it_twice(ctx, file, old, new, expected):
    start = "class A:\n    x = 1\n\n"
    file.write_text(f"{start}    def f(self): pass\n")
    if expected is None:
        error_of(ctx, old, new)
    else:
        edit(ctx, old, new)
        assert file.read_text() == start + expected


@pytest.mark.parametrize(
    ("text", "old", "expected"),
    [
        ("a\n    b\nc\n", "    b", "a\nc\n"),
        ("a\n    b\nc\n", "b", "a\nc\n"),
        ("a\nb\nc\n", "b\n", "a\nc\n"),
        ("a\nb", "b", "a"),
        ("b", "b", ""),
        ("a\nb x\nc\n", " x", "a\nb\nc\n"),
        ("a\n\nb\nc\n", "b", "a\n\nc\n"),
        ("a\n  \nb\n", "  ", "a\n\nb\n"),
    ],
)
def test_a_line_that_is_deleted_leaves_no_empty_one(ctx, file, text, old, expected):
    file.write_text(text)
    edit(ctx, old, "")
    assert file.read_text() == expected


def test_a_blank_line_too_many_at_the_end_does_not_take_the_final_newline(ctx, file):
    file.write_text("a\nb\n")
    edit(ctx, "a\nb\n\n", "a\nc\n")
    assert file.read_text() == "a\nc\n"


NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "ab",
            "metadata": {},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": ["cell 1\n"]}],
            "source": ["import os\n", "print(1)"],
        }
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def sources(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"old_string": "print(1)", "new_string": 'print("two")\nx'},
            ['import os\nprint("two")\nx'],
        ),
        ({"old_string": "1", "new_string": "3", "replace_all": True}, ["import os\nprint(3)"]),
        ({"edits": [{"start_line": 3, "new_string": "print(3)"}]}, ["import os\nprint(3)"]),
        ({"old_string": "", "new_string": "y = 1"}, ["import os\nprint(1)\ny = 1"]),
        (
            {"old_string": "", "new_string": "[cell new: markdown]\nEnd"},
            ["import os\nprint(1)", "End"],
        ),
    ],
)
def test_a_notebook_is_edited_by_its_cells_and_stays_one(ctx, file, arguments, expected):
    path = file.with_name("n.ipynb")
    path.write_text(json.dumps(NOTEBOOK, indent=1))
    checked = edit_file.signature.check({"path": "n.ipynb", **arguments})
    result = edit_file.invoke(ctx, checked)
    assert sources(path) == expected
    cell = json.loads(path.read_text())["cells"][0]
    assert cell["outputs"] == NOTEBOOK["cells"][0]["outputs"]
    assert "+print" in result.metadata["diff"] or "+" in result.metadata["diff"]


def test_an_edit_that_breaks_a_file_of_a_known_form_is_made_when_it_is_sent_again(ctx, file):
    objections = Objections()
    ctx.session = SessionInfo("s", file.parent, model="m/large")
    ctx.resource = {OBJECTIONS: objections}.__getitem__
    path = file.with_name("c.json")
    path.write_text('{"a": 1}\n')
    error = error_of(ctx, "1", "", path="c.json")
    assert error.error_class == "invalid_form"
    assert path.read_text() == '{"a": 1}\n'
    assert "[c.json is not valid JSON: " in edit(ctx, "1", "", path="c.json").output


def test_a_character_that_the_encoding_lacks_is_refused(ctx, file):
    file.write_bytes("한국어 문서입니다\n".encode("cp949"))
    error = error_of(ctx, "한국어", "☃😀")
    assert "the file is cp949 and cannot hold" in str(error)
    assert "[written as cp949, which is a guess]" in edit(ctx, "한국어", "국어").output


@pytest.mark.contract("MA-39")
def test_indentation_of_a_part_of_a_block_is_named(ctx, file):
    error = error_of(ctx, "def first(value):\n  if value:\n  return value + 1", "x")
    assert "the indentation differs: the file has '    ' where old_string has '  '" in str(error)


def test_nothing_alike_says_so_without_a_region(ctx, file):
    error = error_of(ctx, "zzzzzzzzzzzzzzz", "x")
    assert str(error) == (
        "old_string (1 line, 15 characters) is not in 'm.py' (8 lines, 115 characters);"
        " read the file again"
    )


# FS-013, 017
@pytest.mark.contract("MA-38")
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "b\nc", "x\ny\nz", b"a\r\nx\r\ny\r\nz\r\n"),
        (b"a\r\nb\r\nc", "b\r\nc", "x\r\nc", b"a\r\nx\r\nc"),
        (b"a\rb\rc\r", "b\nc", "x\ny", b"a\rx\ry\r"),
        (b"a\nb\r\nc\nd\r\n", "c\n", "x\ny\n", b"a\nb\r\nx\ny\nd\r\n"),
        (b"a\nb\r\nc\nd\r\n", "b\nc", "x\ny", b"a\nx\r\ny\nd\r\n"),
        (b"\xef\xbb\xbfa\nb", "b", "c", b"\xef\xbb\xbfa\nc"),
        ("aé".encode("utf-16"), "é", "ü", "aü".encode("utf-16")),
        (b"caf\xe9 \x80", "caf\xe9", "th\xe9", b"th\xe9 \x80"),
        (b"\xe9t\na\n", "a", "b", b"\xe9t\nb\n"),  # FS-017
        (b"\tif x:\n\t\ty\n", "\ty", "\tz", b"\tif x:\n\t\tz\n"),
    ],
)
def test_line_ends_marks_and_encodings_stay(ctx, file, before, old, new, after):
    file.write_bytes(before)
    edit(ctx, old, new)
    assert file.read_bytes() == after


_lines = st.lists(
    st.tuples(
        st.text(st.sampled_from("ab \t\u00e9\u2028\x0c"), max_size=4),
        st.sampled_from(["\n", "\r\n", "\r\r\n", "\r"]),
    ),
    max_size=8,
)


# FS-018
@pytest.mark.contract("MA-38")
@given(
    before=_lines,
    after=_lines,
    end=st.sampled_from(["", "z"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_no_other_byte_changes(ctx, file, before, after, end, mark):
    def joined(lines):
        return "".join(text + ending for text, ending in lines)

    head, tail = mark + joined(before), joined(after) + end
    file.write_bytes(f"{head}<old>{tail}".encode())
    edit(ctx, "<old>", "<new>")
    assert file.read_bytes() == f"{head}<new>{tail}".encode()


@given(ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=3, max_size=8), data=st.data())
def test_no_other_line_end_changes_when_lines_come_and_go(ctx, file, ends, data):
    file.write_bytes("".join(f"{n}{end}" for n, end in enumerate(ends)).encode())
    first = data.draw(st.integers(1, len(ends)))
    last = data.draw(st.integers(first, len(ends)))
    new = data.draw(st.sampled_from(["", "x\n", "x\ny\nz\nz\n"]))
    edit_lines(ctx, first, last, new)
    after = file.read_bytes()
    assert after.startswith("".join(f"{n}{e}" for n, e in enumerate(ends[: first - 1])).encode())
    assert after.endswith("".join(f"{n}{e}" for n, e in list(enumerate(ends))[last:]).encode())
    assert after.replace(b"\r\n", b"\n").count(b"\n") == len(ends) - (last - first + 1) + new.count(
        "\n"
    )


def test_the_mode_stays_and_the_old_content_is_kept(ctx, file):
    file.chmod(0o755)
    metadata = edit(ctx, "return 0", "return 1").metadata
    assert file.stat().st_mode & 0o777 == 0o755
    assert Path(metadata["backup"]).read_text() == CODE


@pytest.mark.contract("MA-37")
def test_an_edit_replaces_the_file_whole_and_leaves_nothing_but_its_backup(ctx, file, tmp_path):
    with file.open() as reader:
        backup = Path(edit(ctx, "return 0", "return 1").metadata["backup"])
        assert reader.read() == CODE  # who was reading never sees half of the new content
    assert file.read_text() == CODE.replace("return 0", "return 1")
    assert backup.read_text() == CODE
    assert backup.is_relative_to(tmp_path / "backups")
    assert list(ctx.working_directory.iterdir()) == [file]


@pytest.mark.parametrize("before", [None, ""])
def test_an_empty_old_string_fills_a_missing_or_empty_file(ctx, file, before):
    if before is None:
        file.unlink()
    else:
        file.write_text(before)
    result = edit(ctx, "", "x = 1\n")
    assert file.read_text() == "x = 1\n"
    assert result.metadata["created"] == (before is None)


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [("a\n", "b\n", "a\nb\n"), ("a\n", "b", "a\nb\n"), ("a", "b", "a\nb")],
)
def test_an_empty_old_string_appends_on_a_line_of_its_own(ctx, file, before, new, after):
    file.write_text(before)
    edit(ctx, "", new)
    assert file.read_text() == after


def test_a_missing_file_says_which_tool_creates_one(ctx, file):
    error = error_of(ctx, "a", "b", path="n.py")
    assert error.error_class == "file_not_found"
    assert "'m.py'" in str(error)
    assert "write_file creates a new file" in str(error)


def test_an_edit_that_changes_nothing_is_an_error(ctx, file):
    assert "equal" in str(error_of(ctx, "value", "value"))
    assert "nothing would change" in str(error_of(ctx, "", ""))


def test_a_nul_is_refused(ctx, file):
    assert "NUL" in str(error_of(ctx, "return 0", "\0"))


# FS-019
def test_a_binary_file_is_refused(ctx, file):
    file.write_bytes(b"\0value")
    assert error_of(ctx, "value", "x").error_class == "binary_file"


def test_outside_the_workspace_nothing_is_edited(ctx, file):
    assert error_of(ctx, "root", "x", path="/etc/passwd").error_class == "path_outside_workspace"


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...",
        "    // rest of the code remains unchanged",
        "... rest of the file ...",
        "/* \u2026 other methods */",
    ],
)
def test_a_placeholder_is_no_code(ctx, file, line):
    error = error_of(ctx, "    return 0", f"    return 1\n{line}\n")
    assert error.error_class == "placeholder"
    assert line.strip() in str(error)
    assert file.read_text() == CODE


@pytest.mark.parametrize("line", ["def f(): ...", "x[..., 0]", "# wait... then go", "print('...')"])
def test_dots_that_are_code_pass(ctx, file, line):
    edit(ctx, "    return 0", line)
    assert line in file.read_text()


def test_a_placeholder_that_the_file_has_already_passes(ctx, file):
    file.write_text("# ... existing code ...\nx = 1\n")
    edit(ctx, "code ...\nx = 1", "code ...\nx = 2")
    edit(ctx, "# ... existing code ...\nx = 2", "# ... existing code ...\nx = 3")
    assert "x = 3" in file.read_text()


def test_the_old_name_that_still_stands_elsewhere_is_named(ctx, file):
    result = edit(ctx, "def first(", "def start(")
    assert result.output.endswith("['first' is still in line 8]")
    assert "is still in" not in edit(ctx, "return 0", "return 1").output


def test_a_large_region_that_was_fitted_is_shown_in_part(ctx, file):
    result = edit(ctx, "    return  0", "\n".join(f"    x = {n}" for n in range(100)))
    assert result.output.count("\n") < 50
    assert "\n[up to line 103]\n" in result.output


def preview(ctx, **arguments):
    call = ToolCall("c1", "edit_file", {"path": "m.py", **arguments})
    session = SessionInfo("s", ctx.working_directory)
    return nanocoder_render(call, edit_file, None, session, None)


@pytest.mark.contract("NT-23")
def test_the_diff_is_visible_before_anything_is_written(ctx, file):
    text = preview(ctx, old_string="return 0", new_string="return 1")
    assert "-    return 0\n+    return 1" in text
    assert "found by" not in text
    assert file.read_text() == CODE


def test_a_preview_says_how_the_place_was_found_or_why_it_will_fail(ctx, file):
    assert preview(ctx, old_string="    return  0", new_string="x").endswith(
        "[found by whitespace_normalised]"
    )
    with pytest.raises(ToolError, match="old_string"):
        preview(ctx, old_string="zzzzzz", new_string="x")


def test_five_megabytes_are_edited_quickly(ctx, file):
    file.write_text("".join(f"line number {n} of a large file\n" for n in range(150_000)))
    started = time.process_time()
    edit(ctx, "line number 75000 of", "LINE NUMBER 75000 of")
    assert time.process_time() - started < 0.5


def test_its_risk_is_that_of_a_write():
    assert edit_file.risk == "medium"
    assert not edit_file.is_read_only


def test_several_edits_are_made_together(ctx, file):
    result = edit_all(
        ctx,
        {"old_string": "return 0", "new_string": "return -1"},
        {"old_string": "value", "new_string": "number", "replace_all": True},
        {"start_line": 7, "new_string": "def third(number):"},
        {"old_string": "    return  -1", "new_string": "    return -2"},
    )
    expected = CODE.replace("return 0", "return -2").replace("value", "number")
    assert file.read_text() == expected.replace("def second", "def third")
    assert result.output.startswith("Edited m.py: 4 edits, 8 places, lines 1, 2, ")
    assert (
        "[edit 4: old_string is not in the file exactly; found by whitespace_norm" in result.output
    )
    metadata = result.metadata
    assert [edit["strategy"] for edit in metadata["edits"]] == [
        "exact",
        "exact",
        "line_range",
        "whitespace_normalised",
    ]
    assert (metadata["replacements"], metadata["confidence"]) == (8, 0.95)
    assert metadata["strategy"] == "exact, line_range, whitespace_normalised"


def test_several_edits_are_one_write_one_backup_and_one_diff(ctx, file, tmp_path):
    metadata = edit_all(
        ctx,
        {"old_string": "first(value):", "new_string": "start(value):"},
        {"old_string": "first(value)", "new_string": "start(value)"},
    ).metadata
    assert [path.read_text() for path in (tmp_path / "backups").glob("*/*")] == [CODE]
    assert metadata["diff"].count("--- a/m.py") == 1
    assert (metadata["added"], metadata["removed"]) == (2, 2)


def test_a_later_edit_may_change_what_an_earlier_one_wrote(ctx, file):
    edit_all(
        ctx,
        {"old_string": "    return 0\n", "new_string": "    a()\n    b()\n    c()\n"},
        {"old_string": "a()\n    b()", "new_string": "ab()"},
        {"old_string": "1\n    ab()", "new_string": "2"},
    )
    assert file.read_text() == CODE.replace("1\n    return 0\n", "2\n    c()\n")


@pytest.mark.parametrize(
    ("failing", "error_class", "says"),
    [
        ({"old_string": "value", "new_string": "x"}, "several_matches", "occurs 5 times in 'm.py'"),
        ({"old_string": "return 3", "new_string": "x"}, "text_not_found", "The nearest are lines"),
        ({"old_string": "a", "new_string": "a"}, "invalid_arguments", "equal"),
        (
            {"start_line": 99, "new_string": "x"},
            "invalid_arguments",
            "lines 99 to 99 are not a range",
        ),
    ],
)
def test_one_edit_that_fails_is_named_and_none_is_made(ctx, file, failing, error_class, says):
    good = {"old_string": "def first", "new_string": "def start"}
    with pytest.raises(ToolError) as caught:
        edit_all(ctx, good, failing, good)
    error = caught.value
    assert str(error).startswith("edit 2 of 3: ")
    assert says in str(error)
    assert "none of the 3 was made" in str(error)
    assert (error.error_class, error.data["edit"]) == (error_class, 2)
    assert file.read_text() == CODE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"old_string": "a", "new_string": "b", "edits": [{"new_string": ""}]}, "not both"),
        ({"replace_all": True, "edits": [{"old_string": "a", "new_string": ""}]}, "not both"),
        ({"old_string": "a"}, "new_string: required, but missing; or give edits"),
        ({"new_string": "a"}, "old_string: required, but missing; or give edits"),
        ({"edits": []}, "old_string: required, but missing; or give edits"),
        ({"edits": [{"old_string": "a"}]}, "edits[0].new_string: required, but missing"),
        ({"edits": [{"new_strin": ""}]}, "did you mean 'new_string'?"),
        ({"edits": ["a"]}, "edits[0]: expected an object"),
        ({"edits": [{"new_string": "x"}] * 101}, "edits: expected at most 100 items, got 101"),
    ],
)
def test_either_one_edit_or_several_are_given(ctx, file, arguments, says):
    with pytest.raises(ToolError) as caught:
        edit_file.invoke(ctx, edit_file.signature.check({"path": "m.py", **arguments}))
    assert says in str(caught.value)
    assert caught.value.error_class == "invalid_arguments"
    assert file.read_text() == CODE


def test_empty_strings_beside_several_edits_count_as_not_given(ctx, file):
    edits = [{"old_string": "return 0", "new_string": "return 1"}]
    arguments = {"path": "m.py", "old_string": "", "new_string": "", "edits": edits}
    edit_file.invoke(ctx, edit_file.signature.check(arguments))
    assert "return 1\n" in file.read_text()


@pytest.mark.contract("A10")
def test_the_model_is_told_what_an_edit_may_have():
    item = edit_file.parameters["properties"]["edits"]["items"]
    assert set(item["properties"]) == {
        *("new_string", "old_string", "start_line", "end_line", "replace_all")
    }
    assert item["required"] == ["new_string"]
    assert item["properties"]["start_line"]["description"] == "First, from 1."


def test_no_option_is_named_that_the_model_does_not_have(ctx, file):
    """As a small model is told of edit_file."""
    few = {"path": {}, "old_string": {}, "new_string": {}}
    info = ToolInfo("edit_file", "", {"properties": few})
    small = evolve(ctx, tools=lambda: (info,))
    error = error_of(small, "return", "x")
    assert str(error).endswith("; add lines around it until it is unique")
    assert "replace_all" in str(error_of(ctx, "return", "x"))
    assert "start_line" not in str(error_of(small, "z" * 300_000, "x"))


def test_several_edits_can_start_a_file(ctx, file):
    result = edit_all(
        ctx,
        {"old_string": "", "new_string": "a\nb\n"},
        {"old_string": "b", "new_string": "c"},
        path="new.py",
    )
    assert (ctx.working_directory / "new.py").read_text() == "a\nc\n"
    assert result.metadata["created"]


def test_changes_that_lie_far_apart_are_shown_without_what_is_between(ctx, file):
    lines = [f"line {n}\n" for n in range(1, 1_001)]
    file.write_text("".join(lines))
    metadata = edit_all(
        ctx,
        {"old_string": "line 10\n", "new_string": "ten\nand more\n"},
        {"old_string": "line 900\n", "new_string": ""},
    ).metadata
    assert metadata["diff"].split("\n") == [
        *("--- a/m.py", "+++ b/m.py", "@@ -7,7 +7,8 @@", " line 7", " line 8", " line 9"),
        *("-line 10", "+ten", "+and more", " line 11", " line 12", " line 13"),
        *("@@ -897,7 +898,6 @@", " line 897", " line 898", " line 899", "-line 900"),
        *(" line 901", " line 902", " line 903"),
    ]
    assert (metadata["added"], metadata["removed"]) == (2, 2)


def test_thousands_of_places_are_one_block(ctx, file):
    file.write_text("a\nb\n" * 3_000)
    metadata = edit(ctx, "a", "c", replace_all=True).metadata
    assert (metadata["replacements"], metadata["diff"].count("@@ -")) == (3_000, 1)
    assert file.read_text() == "c\nb\n" * 3_000


def test_the_preview_shows_all_edits_in_one_diff(ctx, file):
    edits = [
        {"old_string": "return 0", "new_string": "return 1"},
        {"old_string": "first(value)\n", "new_string": "0\n"},
    ]
    text = preview(ctx, edits=edits)
    assert "-    return 0\n+    return 1" in text
    assert "-    return first(value)\n+    return 0" in text
    assert file.read_text() == CODE
    with pytest.raises(ToolError, match="edit 3 of 3"):
        preview(ctx, edits=[*edits, {"old_string": "zzz", "new_string": ""}])


@pytest.mark.contract("A14")
def test_an_edit_after_which_the_file_no_longer_parses_says_so(ctx, file):
    output = edit(ctx, "def second(value):", "def second(value:").output
    assert re.search(
        r"\n\[this change broke m\.py: Python 3\.\d+ cannot parse line 7: .+\]$", output
    )
    assert "broke" not in edit(ctx, "return 0", "return 1").output, "it was broken before"
    assert "broke" not in edit(ctx, "def second(value:", "def second(value):").output


def test_tabs_among_spaces_are_told_where_the_text_was_exact(ctx, file):
    output = edit(ctx, "    return 0\n", "    return 0\n\tpass\n").output
    assert "cannot parse line 5: " in output


def test_the_content_is_digested_once(ctx, file, monkeypatch):
    digested = []
    sha256 = hashlib.sha256

    class Counting:
        def __init__(self, data=b""):
            self.found = sha256()
            self.update(data)

        def update(self, data):
            digested.append(len(data))
            self.found.update(data)

        def hexdigest(self):
            return self.found.hexdigest()

    monkeypatch.setattr(hashlib, "sha256", Counting)
    edit(ctx, "return 0", "return 10")
    path_of_the_backup = len("m.py")
    assert sum(digested) == path_of_the_backup + len(CODE) + 1


def test_without_the_grammar_nothing_is_said_of_the_syntax(ctx, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    file.with_name("m.go").write_text("package a\n")
    assert "broke" not in edit(ctx, "package a", "package (", path="m.go").output


def test_what_changed_meanwhile_is_not_overwritten(ctx, file, monkeypatch):
    plain = type(ctx.workspace).write_bytes

    def late(self, *args, **options):
        file.write_text(CODE + "# somebody else\n")
        return plain(self, *args, **options)

    monkeypatch.setattr(type(ctx.workspace), "write_bytes", late)
    assert error_of(ctx, "return 0", "return 1").error_class == "stale_read"
    assert file.read_text() == CODE + "# somebody else\n"


def test_a_text_of_absurd_size_is_looked_for_exactly_and_no_otherwise(ctx, file):
    """Anything else takes seconds for ten megabytes."""
    lines = "".join(f"line {number}\n" for number in range(20_000))
    file.write_text(lines)
    read_text_file(ctx.workspace, "m.py")
    assert len(lines) > 200_000
    error = error_of(ctx, lines.replace("\n", " \n"), "x")
    assert error.error_class == "text_not_found"
    assert "more than 200,000 characters are looked for exactly as they are" in str(error)
    assert file.read_text() == lines
    edit(ctx, lines, "x\n")
    assert file.read_text() == "x\n"
