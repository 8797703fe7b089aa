"""Globs of every dialect become expressions that match in linear time."""

import re
import time

import pytest
from nanocoder_kit_files.glob.expressions import glob_expression


def matches(tokens, text):
    return re.fullmatch(glob_expression(tokens), text, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("tokens", "text", "fits"),
    [
        (["a", "*", "b"], "axxb", True),
        (["a", "*", "b"], "ax/b", False),
        (["**/", "a"], "x/y/a", True),
        (["**/", "a"], "a", True),
        (["**/", "a"], "xa", False),
        (["a", "/", "**/", "b"], "a/b", True),
        (["a", "/", "**/", "**/", "b"], "a/x/y/b", True),
        (["a", "**/", "*", "b"], "ax/yb", True),
        (["a", "**/", "*", "b"], "ab", True),
        (["**/", "*", "a", "*", "/", "b", "*"], "x/ca/bc", True),
        (["**/", "*", "a", "*", "/", "b", "*"], "x/a/c/b", False),
        (["*", "[ab]", "*"], "x\nb", True),
        (["*"], "", True),
    ],
)
def test_stars_stay_in_a_name_and_folders_are_any_number(tokens, text, fits):
    assert matches(tokens, text) is fits


def test_the_end_of_a_name_may_be_another_sign_than_a_slash():
    expression = glob_expression(["a", "*", "b"], in_name="[^\n]")
    assert re.fullmatch(expression, "a/b")
    assert not re.fullmatch(expression, "a\nb")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["*", "a"] * 14 + ["b"], "a" * 20_000),
        (["**/", "a", "/"] * 12 + ["b"], "a/" * 20_000),
        (["**/", "*", "a", "*", "b"] * 8 + ["c"], "a" * 20_000),
        (["**/", "*", "a", "*", "b"] * 8 + ["c"], "a/" * 20_000),
        (["**/", *(["*", "a"] * 6), "/", "b"], "aaaaaaaa/" * 4_000),
    ],
)
def test_no_pattern_takes_long(tokens, text):
    started = time.process_time()
    assert not matches(tokens, text)
    assert time.process_time() - started < 1
