"""Rules that a person grants at the question, in a real terminal."""

import json

import pytest
from nanocoder_ui_terminal.granting import Extent, parse_extent

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("C9")]

ASKED = "Approve? [y/n/e(dit)/a(lways)/q(uit)]"
DONE = {"text": "All done."}


def command(text):
    return {"calls": [{"name": "bash", "arguments": {"command": text}}]}


def rules(state):
    path = state / "grants.json"
    if not path.exists():
        return []
    grants = json.loads(path.read_text())["grants"]
    return [(rule, each["scope"], each["folder"]) for each in grants for rule in each["rules"]]


@pytest.mark.contract("MA-110")
def test_the_exact_rule_is_shown_before_it_is_kept(run, workspace, state):
    talk = run(command("touch one"), command("touch one"), DONE).see(ASKED)
    assert "a grants bash(touch one)" in talk.text
    talk.type("a").see("from now on, without a question: bash(touch one)").see("How far?")
    assert str(workspace) in talk.text
    assert rules(state) == []
    talk.type("p").see("All done.")
    assert talk.end() == 0
    assert talk.text.count("Approve?") == 1
    assert rules(state) == [("bash(touch one)", "project", str(workspace))]


def test_a_grant_of_the_user_holds_in_the_next_session_and_for_nothing_else(run, state):
    assert run(command("touch one"), DONE).see(ASKED).type("a u").see("All done.").end() == 0
    assert rules(state) == [("bash(touch one)", "user", "")]
    talk = run(command("touch one"), command("touch one two"), DONE).see("touch one two")
    talk.see(ASKED).type("n").see("All done.")
    assert talk.text.count("Approve?") == 1


@pytest.mark.contract("W13")
def test_a_grant_may_have_an_end(run, state):
    run(command("touch one"), DONE).see(ASKED).type("a").see("How far?").type("u 2h").see("done")
    [grant] = json.loads((state / "grants.json").read_text())["grants"]
    assert grant["expires"] - grant["since"] == pytest.approx(7_200)


@pytest.mark.contract("W13")
def test_a_grant_for_some_calls_asks_again_after_them_and_keeps_nothing(run, state):
    talk = run(*[command("touch one")] * 3, DONE).see(ASKED).type("a")
    talk.see("s 5: for the next 5 calls").type("s 1")
    talk.see(ASKED, times=2).type("n").see("All done.")
    assert talk.text.count("Approve?") == 2
    assert talk.text.count("• bash touch one") == 2
    assert rules(state) == []


@pytest.mark.parametrize("answer", ["o", "once"])
def test_once_keeps_nothing(run, workspace, state, answer):
    talk = run(command("touch one"), DONE).see(ASKED).type("a").see("How far?").type(answer)
    talk.see("All done.")
    assert (workspace / "one").exists()
    assert rules(state) == []


@pytest.mark.rows(1)
@pytest.mark.parametrize("answer", ["y", "p 7", "everywhere", "s 2h"])
def test_what_names_no_extent_asks_again_how_far(run, workspace, state, answer):
    talk = run(command("touch one"), DONE).see(ASKED).type("a").see("How far?").type(answer)
    talk.see("none of these answers").see("How far?", times=2)
    assert not (workspace / "one").exists()
    assert rules(state) == []
    talk.type("p 2h").see("All done.")
    assert (workspace / "one").exists()
    assert rules(state) == [("bash(touch one)", "project", str(workspace))]
    assert talk.text.count("Approve?") == 1


@pytest.mark.parametrize("keys", ["\x1b", "q\r", "\r"], ids=["Esc", "q", "Enter"])
def test_the_choice_of_an_extent_is_left_for_the_question(run, workspace, state, keys):
    talk = run(command("touch one"), DONE).see(ASKED).type("a").see("How far?").press(keys)
    talk.see("nothing was granted").see(ASKED, times=2).type("n").see("All done.")
    assert not (workspace / "one").exists()
    assert rules(state) == []


# SHELL-185
def test_always_for_a_command_of_several_lines_is_for_exactly_it_and_keeps_nothing(run, state):
    text = "cat <<E > made\nx\nE\necho done"
    talk = run(command(text), command(text), command(f"{text} two"), DONE).see(ASKED)
    assert "a allows bash with exactly these arguments, in this session" in talk.text
    talk.type("a").see(ASKED, times=2).type("n").see("All done.")
    assert talk.text.count("Approve?") == 2
    assert rules(state) == []


# SHELL-186
@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "text", ['python3 -c "print(1)"', "env FOO=1 ls", "npx foo", 'bash -lc "ls"', "sudo ls"]
)
def test_always_for_a_wrapper_is_for_exactly_these_arguments(run, text):
    talk = run(command(text), DONE).see(ASKED)
    assert "a allows bash with exactly these arguments, in this session" in talk.text
    talk.type("n").see("All done.")


def test_a_grant_that_cannot_be_kept_is_reported_and_the_call_runs(run, workspace, state):
    state.mkdir(parents=True)
    (state / "grants.json").write_text("{")
    talk = run(command("touch one"), DONE).see(ASKED).type("a p").see("All done.")
    talk.end()
    assert (workspace / "one").exists()
    assert "holds no grants that can be read" in " ".join(talk.text.split())
    assert (state / "grants.json").read_text() == "{"


def test_a_revoked_grant_asks_again_in_the_same_session(run, state):
    talk = run(command("touch one"), {**command("touch one"), "delay_s": 2}, DONE).see(ASKED)
    talk.type("a u").see("• bash touch one")
    (state / "grants.json").write_text('{"grants": []}')
    talk.see(ASKED, times=2).type("n").see("All done.")


@pytest.mark.rows(16)
@pytest.mark.parametrize(
    ("typed", "extent"),
    [
        ("p", Extent("project")),
        (" Project 2h ", Extent("project", 7_200.0)),
        ("u 30m", Extent("user", 1_800.0)),
        ("u 1w", Extent("user", 604_800.0)),
        ("s", Extent("session")),
        ("s 5", Extent("session", uses=5)),
        ("p 5", None),
        ("s 0", None),
        ("once", Extent("")),
        ("o 2h", None),
        ("u 0h", None),
        ("u -1h", None),
        ("u 999999w", None),
        ("u 2h 3h", None),
        ("u 2 h", None),
        ("x", None),
    ],
)
def test_an_extent_is_a_scope_and_perhaps_an_end(typed, extent):
    assert parse_extent(typed) == extent
