"""A change of which some hunks are made and others are left out, in a real terminal."""

import pytest

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("NT-41")]

ASKED = "Approve? [y/n/e(dit)/h(unks)/a(lways)/q(uit)]"
DONE = {"text": "All done."}
OLD = [f"line {number}" for number in range(40)]
PLACES = (2, 20, 37)


def text(*changed):
    lines = [f"new {place}" if place in changed else line for place, line in enumerate(OLD)]
    return "\n".join(lines) + "\n"


def diff(*changed):
    hunks = [f"@@ -{place + 1} +{place + 1} @@\n-line {place}\n+new {place}\n" for place in changed]
    return "--- a/f.txt\n+++ b/f.txt\n" + "".join(hunks)


CALLS = {
    "write": ("write_file", {"path": "f.txt", "content": text(*PLACES)}),
    "edit": (
        "edit_file",
        {
            "path": "f.txt",
            "edits": [
                {"old_string": f"line {place}\n", "new_string": f"new {place}\n"}
                for place in PLACES
            ],
        },
    ),
    "patch": ("apply_patch", {"patch": diff(*PLACES)}),
}


@pytest.fixture
def ask(run, workspace):
    (workspace / "f.txt").write_text(text())

    def start(name):
        tool, arguments = CALLS[name]
        read = {"calls": [{"name": "read_file", "arguments": {"path": "f.txt"}}]}
        change = {"calls": [{"name": tool, "arguments": arguments}]}
        return run(read, change, DONE, rows=60).see(ASKED)

    return start


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", CALLS)
def test_the_hunks_that_were_accepted_are_made_and_the_rest_is_left_out(ask, workspace, name):
    talk = ask(name).type("h").see("Make hunk 1 of 3?").type("y")
    talk.see("Make hunk 2 of 3?").type("n").see("Make hunk 3 of 3?").type("y")
    talk.see("All done.")
    assert (workspace / "f.txt").read_text() == text(2, 37)
    assert talk.end() == 0


@pytest.mark.contract("NT-42")
def test_the_model_reads_which_hunks_were_left_out(ask, workspace, state):
    talk = ask("write").type("h")
    for number, answer in enumerate("nyn", 1):
        talk.see(f"Make hunk {number} of 3?").type(answer)
    talk.see("All done.")
    assert (workspace / "f.txt").read_text() == text(20)
    journals = " ".join(path.read_text() for path in (state / "sessions").rglob("*.jsonl"))
    assert "a person who left out hunks 1 and 3 of 3" in journals


def test_all_hunks_are_the_call_as_it_is_and_none_is_a_refusal(ask, workspace):
    talk = ask("write").type("h")
    for number in (1, 2, 3):
        talk.see(f"Make hunk {number} of 3?").type("y")
    talk.see("All done.")
    assert (workspace / "f.txt").read_text() == text(*PLACES)
    assert "edited" not in talk.text


def test_no_hunk_is_a_refusal(ask, workspace):
    talk = ask("edit").type("h")
    for number in (1, 2, 3):
        talk.see(f"Make hunk {number} of 3?").type("n")
    talk.see("All done.")
    assert "denied by the user: every hunk was declined" in talk.text
    assert (workspace / "f.txt").read_text() == text()


def test_what_is_neither_yes_nor_no_leads_back_to_the_question(ask, workspace):
    talk = ask("write").type("h").see("Make hunk 1 of 3?").type("x").see(ASKED, times=2)
    talk.type("h").see("Make hunk 1 of 3?", times=2).press("\x1b").see(ASKED, times=3)
    talk.type("n").see("All done.")
    assert (workspace / "f.txt").read_text() == text()
