"""Answers as lines: the same however they arrive, inside the edges, nothing hidden."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_ui_terminal.answer_text import Answer
from nanocoder_ui_terminal.terminal import columns_of

PARTS = [
    "# ", "- ", "1. ", "> ", "```py\n", "```\n", "\n", "\n\n", "|a|b|\n", "|-|-|\n", "**", "*",
    "_", "`", "[x](http://e.org)", "![i](u)", "<b>", "&lt;", "&#x202e;", "\x1b[31m", "\u202e",
    "word ", "\u6f22\u5b57 ", "    ", "\t", "---\n", "~~", "\\", "[r]: x\n", "\r\n", "\r", "\xe9",
    "$" * 30, "x" * 120, "==\n", "<!-- c -->\n", "\U0001f469\u200d\U0001f467 ",
]  # fmt: skip
STYLE = re.compile(r"\x1b\[[\d;]*m")


def drawn(text, width, piece):
    """Return the lines that stay when *text* arrives in pieces of *piece* characters."""
    answer = Answer(colour=True)
    lines = []
    for start in range(0, len(text), piece):
        answer.feed(text[start : start + piece])
        lines += answer.draw(width)[0]
    return [line for line in lines + answer.finish(width) if line]


@pytest.mark.timeout(60)
@given(st.lists(st.sampled_from(PARTS), max_size=30), st.sampled_from([19, 40, 79]))
def test_pieces_come_to_the_same_lines_as_the_whole_inside_the_edges(parts, width):
    text = "".join(parts)
    at_once = drawn(text, width, len(text) or 1)
    assert drawn(text, width, 3) == at_once
    for line in at_once:
        plain = STYLE.sub("", line)
        assert plain.isprintable()
        assert columns_of(plain) <= width


@pytest.mark.parametrize("count", [160, 1_500], ids=["several screens", "too long to parse"])
@pytest.mark.parametrize("mark", ["Line", "- item"])
@pytest.mark.parametrize("piece", [7_000, 100_000])
def test_a_long_block_has_no_gap_where_it_was_cut(mark, count, piece):
    text = "".join(f"{mark} {number}: {'word ' * 12}\n" for number in range(count))
    answer = Answer(colour=False)
    lines = []
    for start in range(0, len(text), piece):
        answer.feed(text[start : start + piece])
        lines += answer.draw(79)[0]
    lines += answer.finish(79)
    assert len(lines) == count
    assert all(lines)


@pytest.mark.parametrize(
    "text",
    [
        "> " * 300 + "hidden",
        "- " * 300 + "hidden",
        "<div style='display:none'>hidden</div>",
        "<!-- hidden -->",
        "[label]: http://hidden",
        "| a | b |\n|---|---|\n| " + "x" * 300 + "hidden | y |",
    ],
    ids=["quotes", "lists", "html", "comment", "definition", "table"],
)
def test_nothing_of_an_answer_is_hidden(text):
    assert "hidden" in STYLE.sub("", "".join(drawn(text, 79, 1_000))).replace(" ", "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "A" * 2_000_000,
        "[" * 50_000,
        "```python\n" + "x = [1]  # c\n" * 3_000 + "```",
        "*a " * 15_000,
        "|" * 20_000 + "\n" + "|-" * 10_000,
    ],
    ids=["line", "brackets", "code", "stars", "bars"],
)
def test_odd_and_long_answers_are_drawn_in_time(text):
    import time

    started = time.perf_counter()
    assert drawn(text, 79, len(text) // 3)
    assert time.perf_counter() - started < 10


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [2_000, 1_000_000], ids=["streamed", "whole"])
@pytest.mark.parametrize("sign", ["-", "1."])
def test_what_follows_a_very_long_list_is_drawn_as_markdown_too(sign, piece):
    items = "".join(f"{sign} item {n} has a **bold** word\n" for n in range(2_000))
    text = f"Intro.\n\n{items}\nThen **bold** words.\n\n```python\nx = 1\n```\n\nThe `end`.\n"
    lines = [STYLE.sub("", line) for line in drawn(text, 79, piece)]
    assert len([line for line in lines if " item " in line]) == 2_000
    assert lines[-3:] == ["Then bold words.", "  x = 1", "The end."]
    assert not [line for line in lines if "**" in line or "```" in line]
    if sign == "1.":
        assert lines[2_000].startswith(" 2000. item 1999")


def test_lines_of_a_very_long_paragraph_stay_while_it_arrives():
    answer = Answer(colour=True)
    lines = []
    for start in range(0, 2_000, 50):
        answer.feed("".join(f"line {start + number} is **bold**\n" for number in range(50)))
        stay, still_open = answer.draw(79)
        lines += stay
        assert len(still_open) < 600
    answer.feed("\nThe `end`.\n")
    lines = [STYLE.sub("", line) for line in [*lines, *answer.draw(79)[0], *answer.finish(79)]]
    texts = [line for line in lines if line]
    assert texts == [*(f"line {number} is bold" for number in range(2_000)), "The end."]
