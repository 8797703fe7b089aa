"""How ask_user gets its answer, and what it says when there is none."""

import time

import nanocoder_tool_ask
import pytest
from nanocoder import BadArguments
from nanocoder_testing import opened, play
from nanocoder_testing.playing import called
from nanocoder_tool_ask import ask_user

COLOURS = {"question": "Which colour?", "choices": ["Red", "Blue"]}


def ask(cwd, arguments, **options):
    with opened(cwd, plugins=[nanocoder_tool_ask], **options) as (session, _):
        return called(session, "ask_user", arguments)[0]


@pytest.mark.contract("MA-79")
def test_the_question_and_its_choices_reach_the_person(tmp_path):
    questions = []

    def answer(question):
        questions.append(question)
        return "Blue"

    result = ask(tmp_path, COLOURS, ask=answer)
    assert result.output == "Blue"
    assert result.data == {"answer": "Blue", "is_choice": True}
    [question] = questions
    assert (question.text, question.choices) == ("Which colour?", ("Red", "Blue"))
    assert (question.custom, question.timeout_s) == (True, 60)
    assert question.call_id == result.call_id


@pytest.mark.contract("MA-81")
def test_another_answer_is_fine_unless_it_is_not(tmp_path):
    result = ask(tmp_path, COLOURS, ask=lambda _: "  green, rather ")
    assert result.data == {"answer": "green, rather", "is_choice": False}
    result = ask(tmp_path, {**COLOURS, "custom": False}, ask=lambda _: "green")
    assert result.error_class == "no_answer"
    assert "'green' is not one of the choices" in result.output


def test_a_choice_is_found_whatever_its_case(tmp_path):
    assert ask(tmp_path, {**COLOURS, "custom": False}, ask=lambda _: " blue ").output == "Blue"


def test_an_empty_answer_is_none(tmp_path):
    assert ask(tmp_path, COLOURS, ask=lambda _: " \n").error_class == "no_answer"


@pytest.mark.contract("MA-81")
def test_without_a_person_it_is_refused_at_once(tmp_path):
    started = time.monotonic()
    result = ask(tmp_path, COLOURS)
    assert result.error_class == "nobody_to_ask"
    assert "decide yourself" in result.output
    assert time.monotonic() - started < 2


def test_a_person_who_gives_no_answer_is_no_timeout(tmp_path):
    assert ask(tmp_path, COLOURS, interactive=True).error_class == "no_answer"


@pytest.mark.contract("MA-81")
def test_time_that_is_over_is_a_timeout(tmp_path):
    def silent(question):
        time.sleep(question.timeout_s)

    result = ask(tmp_path, {**COLOURS, "timeout": 0.2}, ask=silent)
    assert result.error_class == "timeout"
    assert "0.2 s" in result.output


@pytest.mark.contract("MA-81")
@pytest.mark.parametrize("timeout", [0, -1, 301, "60"])
def test_a_limit_out_of_range_is_refused(timeout):
    with pytest.raises(BadArguments, match="timeout"):
        ask_user.signature.check({**COLOURS, "timeout": timeout})
    assert ask_user.signature.check({**COLOURS, "timeout": 300})["timeout"] == 300


@pytest.mark.contract("MA-80")
def test_each_answer_reaches_the_call_that_asked(tmp_path):
    turn = [("ask_user", {"question": f"Number {number}?"}) for number in range(8)]
    played = play(
        tmp_path,
        [turn, "done"],
        plugins=[nanocoder_tool_ask],
        ask=lambda question: f"{question.text} of {question.call_id}",
    )
    assert [result.output for result in played.results] == [
        f"Number {number}? of c1.{number + 1}" for number in range(8)
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"question": " "}, "the question is empty"),
        ({"question": "Sure?", "custom": False}, "give choices"),
        ({"question": "Sure?", "choices": [" "], "custom": False}, "give choices"),
        ({"question": "x" * 2_001}, "make it short"),
        ({"question": "?", "choices": list("abcdefghijk")}, "at most 10"),
        ({"question": "?", "choices": ["x" * 201]}, "explain it in the question"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(tmp_path, arguments, problem):
    result = ask(tmp_path, arguments, ask=lambda _: pytest.fail("it must not be asked"))
    assert result.error_class == "invalid_arguments"
    assert problem in result.output


def test_choices_are_single_lines_and_different(tmp_path):
    def first(question):
        assert question.choices == ("a b", "c")
        return question.choices[0]

    choices = ["a\n b", "c", "a b"]
    assert ask(tmp_path, {"question": "?", "choices": choices}, ask=first).output == "a b"


def test_the_model_cannot_claim_that_somebody_is_there(tmp_path):
    result = ask(tmp_path, {**COLOURS, "interactive": True})
    assert result.error_class == "invalid_arguments"
    assert (ask_user.risk, ask_user.is_read_only) == ("safe", True)
