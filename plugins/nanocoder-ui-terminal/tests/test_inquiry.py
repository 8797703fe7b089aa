"""Questions that tools put to the person, in a real terminal."""

import pytest

pytestmark = pytest.mark.timeout(90)

DONE = {"text": "All done."}


def question(**more):
    arguments = {"question": "Which \x1b[2J database?", "choices": ["SQLite", "PostgreSQL"], **more}
    return {"calls": [{"name": "ask_user", "arguments": arguments}]}


def read_answer(state):
    (journal,) = (state / "sessions").glob("*.jsonl")
    return journal.read_text()


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("typed", "answer"), [("2", "PostgreSQL"), ("sqlite", "SQLite"), ("MySQL 8", "MySQL 8")]
)
def test_a_number_a_choice_or_own_words_answer(run, state, typed, answer):
    talk = run(question(), DONE).see("Answer? [1-2, or your own words]")
    assert "Which \\x1b[2J database?" in talk.text
    assert " 2. PostgreSQL" in talk.text
    talk.type(typed).see("All done.")
    assert talk.end() == 0
    assert f'"answer":"{answer}"' in read_answer(state).replace('": ', '":')


def test_a_number_beside_the_choices_is_asked_for_again_before_it_counts(run, state):
    talk = run(question(), DONE).see("Answer?").type("7")
    talk.see("there is no choice 7; type 7 again if that is your answer")
    talk.see("Answer?", times=2).type("2").see("All done.")
    assert talk.end() == 0
    assert '"answer":"PostgreSQL"' in read_answer(state).replace('": ', '":')


def test_a_number_that_is_meant_is_typed_twice(run, state):
    talk = run(question(), DONE).see("Answer?").type("7").see("Answer?", times=2).type("7")
    talk.see("All done.")
    assert talk.end() == 0
    assert '"answer":"7"' in read_answer(state).replace('": ', '":')


def test_where_only_choices_count_another_answer_is_asked_again(run):
    talk = run(question(custom=False), DONE).see("Answer? [1-2]").type("3")
    talk.see("Answer?", times=2).type("1").see("All done.")
    assert talk.end() == 0


@pytest.mark.parametrize("key", ["\x04", "\x1b"], ids=["Ctrl-D", "Esc"])
def test_leaving_the_question_is_no_answer_and_the_run_goes_on(run, key):
    talk = run(question(), DONE).see("Answer?").press(key).see("All done.")
    assert "no answer" in talk.text
    assert talk.end() == 0


def test_ctrl_c_at_the_question_ends_the_run(run):
    talk = run(question(), DONE).see("Answer?").press("\x03")
    assert talk.end() == 130
    assert "All done." not in talk.text


def test_silence_is_no_answer(run):
    talk = run(question(timeout=1), DONE).see("Answer?").see("All done.")
    assert "timeout" in talk.text
    assert talk.end() == 0
