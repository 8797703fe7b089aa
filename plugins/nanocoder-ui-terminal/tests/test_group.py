"""The calls of one turn in one question, in a real terminal."""

import pytest

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("D8")]

ASKED = "Approve? [y/n/e(dit)/a(lways)/q(uit)]"
ALL = "Approve all 3? [y/n/o(ne by one)/1-3(show)/q(uit)]"
DONE = {"text": "All done."}
COMMAND = "touch made && touch made_too"


def write(path, content="x = 1\n"):
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


THREE = {
    "calls": [
        write("a.py"),
        {"name": "bash", "arguments": {"command": COMMAND}},
        write("b.py", "".join(f"line {n}\n" for n in range(300))),
    ]
}
FILES = ("a.py", "made", "b.py")


def exist(workspace):
    return [(workspace / name).exists() for name in FILES]


@pytest.mark.contract("NT-40")
def test_all_calls_of_a_turn_are_shown_and_approved_at_once(run, workspace):
    talk = run(THREE, DONE).see(ALL)
    assert "3 calls of this turn need your approval" in talk.text
    assert "x = 1" in talk.text
    assert COMMAND in talk.text
    assert exist(workspace) == [False] * 3
    talk.type("y").see("All done.")
    assert talk.end() == 0
    assert exist(workspace) == [True] * 3
    assert talk.text.count("Approve") == 1


def test_a_short_preview_leaves_its_room_to_the_others(run, workspace):
    """Otherwise the lines that an edit changes are left out beside an empty half of the screen."""
    text = "".join(f"line {n}\n" for n in range(9))
    (workspace / "long.py").write_text(text)
    calls = [
        {
            "name": "edit_file",
            "arguments": {"path": "long.py", "old_string": "line 4", "new_string": "changed"},
        },
        {"name": "bash", "arguments": {"command": "touch made"}},
    ]
    talk = run({"calls": calls}, DONE, rows=26, columns=160).see("Approve all 2?")
    assert "+changed" in talk.text
    assert "left out" not in talk.text
    talk.type("n").see("All done.")


def test_a_narrow_terminal_shows_the_keys_of_a_question_on_one_line(run, workspace):
    talk = run({"calls": [write("a.py")]}, DONE, columns=40).see("Approve? [y/n/e/a/q] (?: help)")
    talk.type("n").see("All done.")


@pytest.mark.contract("NT-42")
def test_none_refuses_all_with_the_reason(run, workspace):
    talk = run(THREE, DONE).see(ALL).type("n use tabs").see("All done.")
    assert talk.text.count("denied by the user: use tabs") == 3
    assert exist(workspace) == [False] * 3


@pytest.mark.rows(1)
@pytest.mark.parametrize("answer", ["n", "\x1b", "\x04"], ids=["n", "Esc", "Ctrl-D"])
def test_leaving_the_question_refuses_all(run, workspace, answer):
    run(THREE, DONE).see(ALL).press(answer).see("All done.")
    assert exist(workspace) == [False] * 3


def test_ctrl_c_refuses_all_and_ends_the_run(run, workspace):
    talk = run(THREE, DONE).see(ALL).press("\x03")
    assert talk.end() == 130
    assert "All done." not in talk.text
    assert exist(workspace) == [False] * 3


@pytest.mark.rows(1)
@pytest.mark.parametrize("answer", ["maybe", "4", "y please", "0"])
def test_what_is_not_clear_is_asked_again_and_approves_nothing(run, workspace, answer):
    talk = run(THREE, DONE).see(ALL).type(answer).see("none of these answers").see(ALL, times=2)
    talk.type("n").see("All done.")
    assert exist(workspace) == [False] * 3


def test_the_keys_of_the_question_are_explained(run, workspace):
    talk = run(THREE, DONE).see(ALL).type("?").see("approve all").see("decide about each call")
    talk.see(ALL, times=2).type("n").see("All done.")
    assert exist(workspace) == [False] * 3


def test_one_by_one_each_call_has_its_own_answer(run, workspace, editor):
    env = editor("text = text.replace('a.py', 'c.py')")
    talk = run(THREE, DONE, env=env).see(ALL).type("o").see(ASKED).type("e")
    talk.see(COMMAND, times=2).see(ASKED, times=2).type("n no commands").see("/s(how all)")
    talk.type("y").see("All done.")
    assert exist(workspace) == [False, False, True]
    assert (workspace / "c.py").exists()
    assert "denied by the user: no commands" in talk.text


def test_each_can_be_shown_in_full(run):
    talk = run(THREE, DONE).see(ALL)
    assert "line 150" not in talk.text
    assert "lines left out; 3 shows them]" in talk.text
    talk.type("3").see("line 150").see(ALL, times=2).type("n").see("All done.")


@pytest.mark.contract("MA-110")
@pytest.mark.parametrize("answers", [["q"], ["o", "y", "q"]])
def test_quitting_refuses_the_rest_and_ends_the_run(run, workspace, answers):
    talk = run(THREE, DONE).see(ALL)
    for count, answer in enumerate(answers):
        talk.type(answer)
        if count < len(answers) - 1:
            talk.see(ASKED, times=count + 1)
    assert talk.end() == 130
    assert exist(workspace)[1:] == [False] * 2


# INJ-049
def test_what_was_typed_before_the_question_is_no_answer(run, workspace):
    talk = run({**THREE, "delay_s": 2}, DONE).see("waiting").press("y\ry\r").see(ALL)
    talk.type("n").see("All done.")
    assert exist(workspace) == [False] * 3


@pytest.mark.contract("C9")
def test_a_rule_that_is_granted_for_one_spares_the_question_about_its_like(run, workspace):
    twice = {"calls": [THREE["calls"][0], THREE["calls"][0]]}
    talk = run(twice, DONE).see("Approve all 2?").type("o").see(ASKED).type("a s")
    talk.see(ASKED, times=2).type("y").see("All done.")
    assert (workspace / "a.py").exists()
