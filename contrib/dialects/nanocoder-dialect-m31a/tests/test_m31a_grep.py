"""Patterns that Grep refuses, those that only look like them, and what it answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_dialect_m31a.quantifiers import problem

NESTED = "a quantifier stands within what another repeats"
ADJACENT = "two quantifiers follow each other"


@pytest.mark.contract("MA-52")
@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        *(
            (pattern, NESTED)
            for pattern in ("(a+)+", "(a*)*$", "(?:a|b+)*", "((x+)y)+", "(a+){2,}")
        ),
        *((pattern, NESTED) for pattern in ("(a+?)*", "(?P<n>a+)+", "([)]+)*", "(a{1,})+")),
        *(
            (pattern, ADJACENT)
            for pattern in ("a**", "a+*", "a++", "a{2}{3}", "a??+", "a+{2}", "[+]**")
        ),
    ],
)
def test_nested_and_adjacent_quantifiers_are_refused(answers, tmp_path, pattern, problem):
    (tmp_path / "a.txt").write_text("aaaa\n")
    (text,) = answers(("Grep", {"pattern": pattern}))
    assert text == f"Error: pattern: {problem}; with fixed_string it is plain text"


@pytest.mark.contract("MA-52")
@pytest.mark.parametrize(
    "pattern",
    [
        *("a+?b*?c??", "(ab)+c+", "(a+)?b", "(a?b)*", "(a{2})+", "(a+) +", "a+b+", "a{2,3}?"),
        *(r"\(a+\)+", r"\++", r"(\+)+", "[a+]+", "([*+])*", "[]*]+", "(?:x)+", "(?<=a)b+", "(?i)a"),
        *("(?=a+)b", "(", "a)", "[", "{", "a{", "{}", "\\", ")+", "func (a"),
    ],
)
def test_others_are_searched_for(pattern):
    assert problem(pattern) == ""


@pytest.mark.contract("MA-52")
def test_plain_text_may_look_like_it(answers, tmp_path):
    (tmp_path / "a.txt").write_text("i++ and (a+)+\n")
    texts = answers(
        ("Grep", {"pattern": "i++", "fixed_string": True}),
        ("Grep", {"pattern": "(a+)+", "fixed_string": True}),
    )
    assert texts == ["1 line matches:\na.txt:1: i++ and (a+)+"] * 2


@pytest.mark.contract("MA-45")
def test_a_hundred_lines_are_shown_and_all_are_counted(answers, tmp_path):
    (tmp_path / "a.txt").write_text("x\n" * 101)
    (text,) = answers(("Grep", {"pattern": "x"}))
    assert text.startswith("101 lines match; the first 100:\na.txt:1: x\n")
    assert text.count("\n") == 100


@given(st.text(st.sampled_from("a()[]{}?*+\\^2,:P<>=!|"), max_size=30))
def test_no_pattern_is_too_odd_to_be_looked_at(pattern):
    assert problem(pattern) in {"", NESTED, ADJACENT}
