import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_schema.clipping import OutputLimit, brief, clip, clip_output, count_tokens

LIMIT = OutputLimit(40, 40, 4, 4)


def test_clip_says_what_is_missing():
    assert clip("short", head=5, tail=0) == "short"
    assert clip("a" * 10 + "b" * 5_000 + "c" * 10, head=10, tail=10) == (
        "aaaaaaaaaa\n[5,000 characters left out]\ncccccccccc"
    )
    assert clip("abc", head=1, tail=0) == "a\n[2 characters left out]\n"


def test_two_commands_on_two_lines_do_not_look_like_one():
    assert brief({"command": "cd build\n  rm -r out\n"}) == "command=cd build ⏎ rm -r out"
    assert brief({"n": [1], "c": "x\n" * 1_000_000}) == f"n=[1], c={'x ⏎ ' * 14}x ⏎…"


def test_an_output_is_clipped_to_whole_lines_that_are_counted():
    text = "".join(f"{number}\n" for number in range(1, 1_001))
    assert clip_output(text, LIMIT, where="/x") == (
        "1\n2\n3\n4\n[992 lines left out; whole output: /x]\n997\n998\n999\n1000\n"
    )
    wide = OutputLimit(1_000, 1_000, 50, 50)
    assert clip_output("a\n" * 105, wide) == "a\n" * 105, "a note for so little helps nobody"
    assert clip_output("x" * 1_080, LIMIT) == (
        f"{'x' * 40}\n[1,000 characters left out]\n{'x' * 40}"
    )


def test_what_is_clipped_twice_is_counted_once_and_named():
    wide = OutputLimit(10_000, 10_000, 20, 20)
    once = clip_output("line\n" * 1_000, wide, where="/all")
    assert clip_output(once, OutputLimit(20, 20, 4, 4)) == (
        "line\n" * 4 + "[992 lines left out; whole output: /all]\n" + "line\n" * 4
    )


@given(st.text("ab\n", max_size=400), st.integers(1, 40), st.integers(1, 40), st.integers(1, 20))
def test_the_count_is_what_is_missing(text, head, tail, lines):
    short = clip_output(text * 3, OutputLimit(head, tail, lines, lines))
    if short == text * 3:
        return
    first, count, unit, last = re.fullmatch(
        r"(?s)(.*?)\[(\d+) (line|char)[a-z]* left out\]\n(.*)", short
    ).groups()
    if unit == "char" and not (text * 3).startswith(first):
        first = first.removesuffix("\n")  # the note is on a line of its own
    assert (text * 3).startswith(first)
    assert (text * 3).endswith(last)
    middle = (text * 3)[len(first) : len(text * 3) - len(last)]
    missing = middle.count("\n") if unit == "line" else len(middle)
    assert abs(missing - int(count)) <= (unit == "char")


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("", 0),
        ("def add(first, second):\n    return first + second\n" * 20, 240),
        ("The quick brown fox jumps over the lazy dog, and nobody minds. " * 20, 281),
        ("漢字かな交じり文を書く。" * 20, 180),
    ],
)
def test_tokens_are_estimated_within_a_quarter(text, exact):
    # What o200k counts.
    assert abs(count_tokens(text) - exact) <= exact / 4


def test_of_a_long_text_nothing_is_kept_when_it_was_counted():
    short, long = "a few words" + " more" * 100, "a few words" + " more" * 10_000
    before = [sys.getrefcount(text) for text in (short, long)]
    assert count_tokens(short) == count_tokens(short)
    assert count_tokens(long) == count_tokens(long) > 50 * count_tokens(short)
    after = [sys.getrefcount(text) for text in (short, long)]
    assert after[0] > before[0]
    assert after[1] == before[1]
