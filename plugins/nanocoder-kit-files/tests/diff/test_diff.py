"""What a diff says, and that it says it quickly."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_files.diff import Part, changed, clip_lines, unified, unified_parts

lines = st.lists(st.sampled_from(["a", "b", "", "  a", "\x0c", "c\r", "\u2028"]), max_size=12)
texts = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n"]))


def patched(old: str, diff: str) -> str:
    """Apply a unified diff by its own rules, without any fuzz."""
    result: list[str] = []
    at = 0
    source = re.findall(r"[^\n]*\n|[^\n]+", old)
    body = diff.split("\n")[2:]
    for number, line in enumerate(body):
        bare = number + 1 < len(body) and body[number + 1].startswith("\\")
        text = line[1:] + ("" if bare else "\n")
        if line.startswith("@@"):
            start, length = re.match(r"@@ -(\d+)(?:,(\d+))?", line).groups()
            begin = int(start) - (length != "0")
            result += source[at:begin]
            at = begin
        elif line.startswith("+"):
            result.append(text)
        elif line.startswith(("-", " ")):
            assert source[at] == text
            at += 1
            result += [text] if line.startswith(" ") else []
    return "".join(result + source[at:])


@given(texts, texts)
def test_the_diff_turns_the_old_text_into_the_new_one(old, new):
    assert patched(old, unified(old, new, "f").text) == new


@given(texts, texts, texts, texts)
def test_common_head_and_tail_change_nothing_about_that(head, old, new, tail):
    before, after = head + old + tail, head + new + tail
    assert patched(before, unified(before, after, "f").text) == after


@given(texts, texts)
def test_equal_texts_have_an_empty_diff_and_others_have_not(old, new):
    assert bool(unified(old, new, "f").text) == (old != new)


def test_one_changed_line_is_shown_with_three_lines_around_it():
    old = "".join(f"{n}\n" for n in range(1, 21))
    diff = unified(old, old.replace("10\n", "ten\n"), "numbers.txt")
    assert diff.text.split("\n") == [
        "--- a/numbers.txt",
        "+++ b/numbers.txt",
        "@@ -7,7 +7,7 @@",
        " 7",
        " 8",
        " 9",
        "-10",
        "+ten",
        " 11",
        " 12",
        " 13",
    ]
    assert (diff.added, diff.removed) == (1, 1)


def test_a_missing_final_newline_is_said():
    assert unified("a\n", "a", "f").text.endswith("-a\n+a\n\\ No newline at end of file")


def test_a_new_file_comes_from_dev_null():
    assert unified("", "a\n", "f").text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a"


def test_a_line_that_looks_like_a_header_is_counted_as_what_it_is():
    assert unified("-- x\n", "++ y\n", "f").removed == 1


def test_a_megabyte_of_changed_lines_becomes_one_block():
    old = "".join(f"old {n}\n" for n in range(50_000))
    new = "".join(f"new {n}\n" for n in range(50_000))
    diff = unified(f"head\n{old}tail\n", f"head\n{new}tail\n", "f")
    assert (diff.added, diff.removed, diff.text.count("@@ -")) == (50_000, 50_000, 1)


def test_one_line_of_five_megabytes_costs_little():
    old = "".join(f"line number {n}, with some text behind it\n" for n in range(125_000))
    new = old.replace("number 60000,", "NUMBER 60000,")
    started = time.process_time()
    diff = unified(old, new, "big.txt")
    assert (diff.added, diff.removed) == (1, 1)
    assert time.process_time() - started < 0.25  # difflib over everything takes several seconds


def test_the_change_knows_its_line_and_its_surroundings():
    change = changed("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n")
    assert change.first == 4
    assert (change.head, change.old, change.new) == (("a\n", "b\n", "c\n"), ("d\n",), ("D\n",))
    assert change.tail == ("e\n", "f\n")


@pytest.mark.parametrize("limit", [1, 2])
def test_a_long_text_is_clipped_with_a_count(limit):
    assert clip_lines("a\nb\nc", limit).endswith(f"[{3 - limit} more lines]")
    assert clip_lines("a\nb\nc", 3) == "a\nb\nc"


def test_parts_of_a_text_give_the_diff_of_the_whole():
    lines = [f"{n}\n" for n in range(100)]
    after = [*lines[:10], "ten\n", "more\n", *lines[11:80], *lines[81:]]
    parts = [
        Part("".join(lines[7:14]), "".join(after[7:15]), 8, 8),
        Part("".join(lines[77:84]), "".join(after[78:84]), 78, 79),
    ]
    assert unified_parts(parts, "n") == unified("".join(lines), "".join(after), "n")


def test_a_diff_of_many_equal_lines_shows_only_what_changes():
    old = "".join(f"value_{n} = old\n\n" if n % 5 else f"value_{n} = 1\n\n" for n in range(300))
    diff = unified(old, old.replace("= old", "= new"), "a.py")
    assert (diff.added, diff.removed) == (240, 240)
    assert not [line for line in diff.text.split("\n") if line in {"+", "-"}]
