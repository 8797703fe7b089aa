import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_llm.actions.answer_text import AnswerText


def fed(pieces, answer="answer"):
    text = AnswerText(answer)
    return [text.feed(piece) for piece in pieces], text


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(1, 7),
    st.booleans(),
)
def test_any_answer_cut_anywhere_comes_out_whole(answer, width, ascii_only):
    reply = json.dumps({"action": "answer", "text": answer}, ensure_ascii=ascii_only)
    pieces, text = fed(reply[at : at + width] for at in range(0, len(reply), width))

    assert "".join(pieces) == answer
    assert text.text == answer
    assert text.reply == reply


def test_text_comes_as_soon_as_it_is_there():
    pieces, _ = fed(['{"action": "answer", "te', 'xt": "He', "llo", '"}'])

    assert pieces == ["", "He", "llo", ""]


def test_either_way_to_end_a_request_shows_its_text():
    text = AnswerText("answer", "chat")

    assert text.feed('{"action": "chat", "text": "Hello."}') == "Hello."


def test_half_an_escape_waits():
    pieces, _ = fed(['{"action": "answer", "text": "a\\', "n", "\\u00", "e4", "\\\\", '"}'])

    assert pieces == ["a", "\n", "", "ä", "\\", ""]


def test_half_a_surrogate_pair_waits_and_a_lone_one_is_replaced():
    start = '{"action": "answer", "text": "'

    assert fed([start, "\\ud83d", "\\ude00"])[0] == ["", "", "😀"]
    assert fed([start, "\\ud83d", "x"])[0] == ["", "", "\ufffdx"]
    assert fed([start, "\\ude00"])[0] == ["", "\ufffd"]


@pytest.mark.parametrize(
    "reply",
    [
        '{"action": "write_file", "path": "a", "content": "\\"answer\\", \\"text\\": \\"x\\""}',
        '{"action": "answers", "text": "x"}',
        "",
    ],
)
def test_a_call_shows_nothing(reply):
    assert "".join(fed(reply)[0]) == ""


def test_space_between_the_parts_does_not_matter():
    assert "".join(fed('{\n  "action" : "answer",\n  "text":"x y"\n}')[0]) == "x y"
