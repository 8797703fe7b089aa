"""Thinking in tags is thinking, and an answer may speak of tags."""

import pytest
from nanocoder import TextDelta, ThinkingDelta
from nanocoder_kit_llm.http.thinking_tags import ThinkingTags, without_thinking

THOUGHTS = [
    "<think>plan</think>\n\nFour",
    "\n<think>\nplan\n</think>\nFour",
    "<thinking>plan</thinking>Four",
    "<thought>plan</thought>Four",
    "[THINK]plan[/THINK]Four",
    "<seed:think>plan</seed:think>Four",
    "<think>pl</think>\n<think>an</think>\nFour",
    "<think>plan</think></think>Four",
    (
        "<|channel|>analysis<|message|>plan<|end|><|start|>assistant"
        "<|channel|>final<|message|>Four<|return|>"
    ),
    (
        "<|channel|>analysis<|message|>plan<|end|><|start|>assistant"
        "<|channel|>commentary<|message|>Fo<|end|><|start|>assistant"
        "<|channel|>final<|message|>ur<|return|>"
    ),
    "<think>a `</div>` plan</think>Four",
]
LONE = ["plan\n</think>\n\nFour", "plan</think>Four", "plan[/THINK]Four", "</think>\nFour"]
ANSWERS = [
    "Four",
    "  Four",
    "<div>Four</div>",
    "<thinker>Four",
    "Write `</think>` at the end.",
    "The tags are <think> and </think>; both are needed.",
    "```html\n<think>\n</think>\n```\nFour",
    "```\n</think>\n```\nFour",
    "A [T] and a < b",
    "Ends with </thin",
    "",
]


def cut(text, size, *, is_thinking=False):
    """Return thinking and text of *text* in pieces of *size*, and the object."""
    tags = ThinkingTags(is_thinking=is_thinking)
    deltas = []
    for start in range(0, len(text), size):
        deltas += tags.feed([TextDelta(text[start : start + size])])
    deltas += tags.finish()
    parts = {ThinkingDelta: "", TextDelta: ""}
    for delta in deltas:
        parts[type(delta)] += delta.text
    return parts[ThinkingDelta].strip(), parts[TextDelta], tags


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
@pytest.mark.parametrize("text", THOUGHTS)
def test_thinking_in_tags_is_no_text_however_it_is_cut(text, size):
    thinking, answer, _ = cut(text, size)
    assert answer == "Four"
    assert "plan" in thinking.replace("\n", "")
    assert without_thinking(text) == "Four"


@pytest.mark.parametrize("text", LONE)
def test_an_end_alone_makes_what_stands_before_it_thinking(text):
    thinking, answer, tags = cut(text, 1_000)
    assert (answer, thinking in {"plan", ""}, tags.is_lone_end) == ("Four", True, True)
    assert without_thinking(text) == "Four"


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("text", LONE)
def test_once_an_end_stood_alone_replies_begin_with_thinking(text, size):
    assert cut(text, size, is_thinking=True)[1] == "Four"
    assert without_thinking(text, is_thinking=True) == "Four"
    assert cut("<think>plan</think>Four", size, is_thinking=True)[:2] == ("plan", "Four")
    _, answer, _ = cut("an answer", size, is_thinking=True)
    assert (answer, without_thinking("an answer", is_thinking=True)) == ("an answer", "an answer")


@pytest.mark.parametrize("size", [1, 4, 1_000])
@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_may_speak_of_tags(text, size):
    assert cut(text, size)[:2] == ("", text)
    assert without_thinking(text) == text


def test_thinking_without_an_end_is_no_answer():
    assert cut("<think>plan", 3)[:2] == ("plan", "")
    assert without_thinking("<think>plan") == ""


@pytest.mark.parametrize("piece", ["</think>", "<think>", "x", "<", "`</think>` "])
def test_a_long_text_is_taken_in_linear_time(piece):
    text = "An answer: " + piece * (1_000_000 // len(piece))
    _, answer, _ = cut(text, 4_096)
    assert len(answer) <= len(text)


@pytest.mark.parametrize("text", ["Use <|im_end|>", "<|im_end|> ends a turn", "<br>", "</ul>"])
def test_a_special_token_in_an_answer_stays(text):
    assert without_thinking(text) == text
