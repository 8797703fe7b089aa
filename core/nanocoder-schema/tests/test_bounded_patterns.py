"""Patterns that a plugin gives for its arguments cannot hold a session up."""

import pytest
from nanocoder_schema.bounds import matches

SLOW = [r"^(a+)+$", r"^(a|a)*$", r"(x+x+)+y", r"^(\w+\s?)*$", r"(a*)*b", r"(?:a|aa)+$"]


@pytest.mark.finding("H4")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_takes_years_is_given_up(pattern):
    letter = "x" if "x" in pattern else "a"
    assert matches(pattern, letter * 60 + "!") in {None, False}


@pytest.mark.finding("H4")
@pytest.mark.timeout(60)
def test_a_text_of_a_million_letters_is_given_up_or_matched():
    assert matches(r"a*a*a*b", "a" * 1_000_000) is None
    assert matches(r"^[a-z]+$", "a" * 1_000_000) is True


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        (r"^[a-z]+(-[a-z]+)*$", "one-two", True),
        (r"^[a-z]+(-[a-z]+)*$", "one two", False),
        (r"^\d{4}-\d{2}$", "2026-11", True),
        (r"b", "abc", True),
        (r"^(a)\1$", "aa", True),
        (r"^[\]*+]+$", "]*+", True),
        (r"(?i)YES", "yes", True),
    ],
)
def test_patterns_mean_what_they_mean_to_python(pattern, text, is_match):
    assert matches(pattern, text) is is_match
