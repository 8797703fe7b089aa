"""Keys before and at the prompt: none is lost or cut, and nothing slow is loaded first."""

import json
import signal

import pytest

pytestmark = pytest.mark.timeout(120)
HI = {"text": "Hello there."}
LONG = "".join(f"word{number} " for number in range(1_400)).strip()
SLOW = ("rich", "markdown_it", "pygments", "mdurl")


def sent(state):
    """Return the prompts that reached the model."""
    (journal,) = (state / "sessions").glob("*.jsonl")
    records = map(json.loads, journal.read_text().splitlines())
    return [record["data"]["prompt"] for record in records if record["kind"] == "run.started"]


def test_a_long_line_that_is_pasted_while_it_loads_arrives_whole(start, state):
    talk = start(["--mode", "ask"], HI)
    while talk.gathers_lines():  # the terminal would cut it
        talk.look()
    talk.press(LONG).see("ask · ").look_for(1).type("").see("Hello there.")
    assert sent(state) == [LONG]


def test_several_lines_that_are_pasted_without_marks_are_one_request(chat, state):
    chat(HI).press("first line\rsecond line\rthird line").look_for(0.5).type("").see("Hello there.")
    assert sent(state) == ["first line\nsecond line\nthird line"]


def test_the_prompt_takes_keys_after_a_stop(chat):
    talk = chat(HI).press("hel").see("\u203a hel")
    talk.shell_takes_over().signal(signal.SIGCONT).look_for(0.5)
    talk.type("lo").see("Hello there.")


def test_enter_sends_a_line_that_tab_completed(chat, state, workspace):
    (workspace / "only_one.py").touch()
    talk = chat(HI).press("see @only").see("only_one.py").press("\t").see("@only_one.py")
    talk.press("\r").see("Hello there.")
    assert sent(state)[0].startswith("see @only_one.py")


def test_the_beginning_of_a_command_runs_it_where_no_other_begins_so(chat):
    talk = chat().type("/hel").see("Ctrl-R")
    talk.type("/co").see("unknown command /co")


def test_a_dumb_terminal_gets_no_escapes(start):
    talk = start([], HI, env={"TERM": "dumb"}).see("\u203a").type("hi").see("Hello there.")
    assert "\x1b" not in talk.raw


def test_the_status_is_below_the_prompt_and_a_menu_has_room_when_it_comes(chat):
    talk = chat(HI)
    lines = talk.text.splitlines()
    prompt = next(place for place, line in enumerate(lines) if line.startswith("\u203a"))
    assert lines[prompt + 1].startswith("ask \u00b7 ")
    talk.press("/cont").see("/context")


def test_nothing_slow_is_loaded_before_the_prompt_is_drawn(chat):
    talk = chat(HI, env={"PYTHONPROFILEIMPORTTIME": "1"})
    names = {line.rpartition("|")[2].strip() for line in talk.raw.splitlines() if "|" in line}
    assert "prompt_toolkit" in names
    assert [name for name in SLOW if name in names] == []
