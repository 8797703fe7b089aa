"""Forms and prompts are questions, and their answers are choices or objects."""

import pytest
from attrs import evolve
from nanocoder import Question
from nanocoder_kit_ui.questions import DECLINE, Folders, Form, Prompt, Several, ask_all, object_of

FIELDS = {"type": "object", "properties": {"name": {"type": "string"}}}


def test_a_form_stays_one_on_its_way_to_the_host():
    form = Form("Who?", ("answer", DECLINE), custom=False, fields=FIELDS)
    sent = evolve(form, call_id="7")
    assert isinstance(sent, Question)
    assert (type(sent), sent.fields, sent.call_id) == (Form, FIELDS, "7")
    assert evolve(Prompt("Ask it?", prompt="hi"), call_id="7").prompt == "hi"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"name": "Ada"}', {"name": "Ada"}),
        ("{}", {}),
        (None, None),
        (DECLINE, None),
        ("[1]", None),
        ("{name", None),
    ],
)
def test_an_object_is_told_from_a_choice(answer, expected):
    assert object_of(answer) == expected


BOTH = Several(
    "Two questions?",
    ("answer", DECLINE),
    custom=False,
    questions=(Folders("Which folder?", name="where"), Prompt("Ask it?", name="what")),
)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"Two questions?": '{"where": "/a", "what": 5}'}, {"where": "/a", "what": None}),
        ({"Two questions?": DECLINE, "Ask it?": "no"}, {"where": None, "what": None}),
        ({"Ask it?": "no"}, {"where": None, "what": None}),
        ({"Two questions?": "answer", "Ask it?": "no"}, {"where": None, "what": "no"}),
    ],
)
def test_several_questions_are_answered_at_once_or_in_turn(answers, expected):
    assert ask_all(lambda question: answers.get(question.text), BOTH) == expected
