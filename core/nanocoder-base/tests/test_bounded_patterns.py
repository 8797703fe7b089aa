"""Patterns that a plugin gives for its arguments cannot hold a session up."""

from typing import Annotated, Any

import attrs
import pytest
from nanocoder_schema import BadArguments, Param, Signature

SLOW = [r"^(a+)+$", r"^(a|a)*$", r"(x+x+)+y", r"^(\w+\s?)*$", r"(a*)*b", r"(?:a|aa)+$", r"^(a+)\1$"]
# By a name, or in a pattern that may have spaces and comments in it.
HIDDEN = [r"(?P<a>x)(?P=a)", "(?x)^(a+) +$", "(?ix)^(a+)#\n+$", "(?x:^(a+) +$)"]


def signature_of(pattern: str) -> Signature:
    """Return the signature of a tool with one text, `it`."""
    annotation: Any = Annotated[str, Param(pattern=pattern)]
    return Signature.of_class(attrs.make_class("One", {"it": attrs.field(type=annotation)}))


@pytest.mark.parametrize("pattern", [*SLOW, *HIDDEN])
def test_a_pattern_that_may_take_years_is_refused_where_it_is_declared(pattern):
    signature = signature_of(pattern)
    with pytest.raises(TypeError, match="repeats a group"):
        _ = signature.json_schema
    with pytest.raises(BadArguments, match="takes too long"):
        signature.check({"it": "a" * 60 + "!"})


@pytest.mark.timeout(60)
def test_a_text_of_a_million_letters_is_refused_or_matched():
    with pytest.raises(BadArguments, match="takes too long"):
        signature_of(r"a*a*a*b").check({"it": "a" * 1_000_000})
    assert signature_of(r"^[a-z]+$").check({"it": "a" * 1_000_000})


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        (r"^[a-z]+(-[a-z]+)?$", "one-two", True),
        (r"^[a-z]+(-[a-z]+)?$", "one two", False),
        (r"^\d{4}-\d{2}$", "2026-11", True),
        (r"b", "abc", True),
        (r"^[\]*+]+$", "]*+", True),
        (r"(?i)YES", "yes", True),
        (r"^(?!no)(?:yes|maybe)", "maybe", True),
    ],
)
def test_patterns_mean_what_they_mean_to_python(pattern, text, is_match):
    signature = signature_of(pattern)
    assert signature.json_schema["properties"]["it"]["pattern"] == pattern
    if is_match:
        assert signature.check({"it": text}) == {"it": text}
    else:
        with pytest.raises(BadArguments, match="expected text that matches"):
            signature.check({"it": text})
