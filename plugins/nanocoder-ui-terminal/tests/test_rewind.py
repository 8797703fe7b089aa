"""Going back to an earlier prompt in a real terminal, with `/rewind` and Esc Esc."""

import json
import time

import pytest
from nanocoder_kit_sessions import SessionStore

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("G3")]
ESCAPE = "\x1b"


def write(content):
    arguments = {"path": "notes.txt", "content": f"{content}\n"}
    return {"calls": [{"name": "write_file", "arguments": arguments}]}


TURNS = (write("one"), {"text": "Wrote one."}, write("two"), {"text": "Wrote two."})


@pytest.fixture
def talk(chat):
    """A conversation of two prompts, each of which wrote the file."""
    talk = chat(*TURNS, {"text": "And on."}).type("/mode edits").see("edits · ")
    talk.type("Write one please").see("Wrote one.").see("2 turns")
    return talk.type("Write two please").see("Wrote two.").see("2 turns", times=2)


def texts(state):
    """The texts of the conversation as a resume would have it."""
    store = SessionStore(state)
    (session_id,) = store.ids()
    return [message.text for message in store.transcript(session_id).messages if message.text]


def test_escape_twice_goes_back_with_the_files_and_the_prompt_can_be_edited(talk, workspace, state):
    talk.press(ESCAPE).press(ESCAPE).see("2. Write two please").see("Go back to before prompt")
    talk.type("2").see("1. conversation and files").type("1").see("Make these changes?")
    talk.type("y").see("Back before prompt 2").see("/redo brings the files back")
    assert (workspace / "notes.txt").read_text() == "one\n"
    assert texts(state) == ["Write one please", "Wrote one."]
    talk.see("\u203a Write two please", times=2).press(" again").type("").see("Wrote two.", times=2)
    ends = time.monotonic() + 10
    while texts(state)[-1] != "Wrote two." and time.monotonic() < ends:
        time.sleep(0.02)  # the screen shows a reply while it comes, the journal has it whole
    assert texts(state) == [
        "Write one please",
        "Wrote one.",
        "Write two please again",
        "Wrote two.",
    ]


def test_the_conversation_alone_goes_back_and_the_model_hears_of_newer_files(
    talk, workspace, state
):
    talk.type("/rewind 2").see("Take back").type("2").see("Back before prompt 2")
    assert (workspace / "notes.txt").read_text() == "two\n"
    first, answer, note = texts(state)
    assert (first, answer) == ("Write one please", "Wrote one.")
    assert "read these files again before you continue: notes.txt" in note
    assert "Make these changes?" not in talk.text
    requests = state / "sessions"
    talk.see("\u203a Write two please", times=2).press("\x15")
    talk.type("Other words").see("Wrote two.", times=2)
    assert texts(state)[:3] == [first, answer, note]
    assert any("Wrote two." in path.read_text() for path in requests.glob("*.jsonl"))


def test_the_files_alone_go_back_and_come_again(talk, workspace, state):
    before = texts(state)
    talk.type("/rewind 2").see("Take back").type("3").see("Make these changes?").type("y")
    talk.see("The files are as they were before prompt 2")
    assert (workspace / "notes.txt").read_text() == "one\n"
    assert texts(state)[: len(before)] == before
    talk.type("/redo").see("Make these changes?", times=2).type("y").see("/undo reverts this")
    assert (workspace / "notes.txt").read_text() == "two\n"
    talk.type("more").see("And on.")


def test_a_person_can_stay_at_each_question(talk, workspace, state):
    before = texts(state)
    talk.press(ESCAPE).press(ESCAPE).see("Go back to before prompt").type("")
    talk.see("Nothing was changed.")
    talk.type("/rewind").see("Go back to before prompt", times=2).press("\x03")
    talk.see("Nothing was changed.", times=2)
    talk.type("/rewind").see("Go back to before prompt", times=3).type("9").type("x").type("1")
    talk.see("Take back").type("").see("Nothing was changed.", times=3)
    talk.type("/rewind 1").see("Take back", times=2).type("1").see("Make these changes?").type("n")
    talk.see("Nothing was changed.", times=4)
    assert texts(state) == before
    assert (workspace / "notes.txt").read_text() == "two\n"
    talk.type("/rewind 7").see("there is no prompt '7'; /rewind alone lists them")


@pytest.mark.parametrize("keys", [ESCAPE, "q\r"], ids=["Esc", "q"])
def test_each_choice_is_left_with_escape_and_with_q(talk, state, keys):
    before = texts(state)
    talk.type("/rewind").see("Go back to before prompt").press(keys).see("Nothing was changed.")
    talk.type("/rewind 2").see("Take back").press(keys).see("Nothing was changed.", times=2)
    talk.type("/undo").see("Make these changes?").press(keys)
    talk.see("Nothing was changed.", times=3)
    assert "^[" not in talk.text
    assert texts(state) == before


def test_what_is_no_choice_is_named_and_asked_again(talk):
    talk.type("/rewind").see("Go back to before prompt").type("/cost")
    talk.see("'/cost' is not a number of the list; Enter, q or Esc leaves it")
    talk.see("Go back to before prompt", times=2).type("").see("Nothing was changed.")


def test_escape_twice_leaves_a_line_that_was_begun_alone(talk):
    talk.press("begun").see("begun").press(ESCAPE).press(ESCAPE).press("\x15")
    talk.type("more").see("And on.")
    assert "Go back to before prompt" not in talk.text


def test_without_a_prompt_there_is_nothing_to_go_back_to(chat):
    chat().press(ESCAPE).press(ESCAPE).see("There is no earlier prompt to go back to")


def test_a_rewound_conversation_is_resumed_as_it_was(talk, start, state):
    talk.type("/rewind 2").see("Take back").type("1").see("Make these changes?").type("y")
    talk.see("\u203a Write two please", times=2).press("\x15").press("\x04")
    assert talk.end() == 0
    (journal,) = (state / "sessions").glob("*.jsonl")
    kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
    assert "transcript.rewound" in kinds
    again = start(["sessions", "resume", journal.stem, "--mode", "edits"], *TURNS)
    again.see("Wrote one.").type("Write two now").see("Wrote two.")
    assert "Write two please" not in again.text
    assert texts(state)[-2:] == ["Write two now", "Wrote two."]
