"""Keys before and at the prompt: none is lost or cut, and nothing slow is loaded first."""

import json
import re

import pytest

pytestmark = pytest.mark.timeout(120)
HI = {"text": "Hello there."}
LONG = "".join(f"word{number} " for number in range(1_400)).strip()
MODULES_BEFORE_THE_PROMPT = 345
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


def test_a_line_that_the_terminal_cut_waits_for_enter_and_is_named(start, state):
    talk = start(["--mode", "ask"], HI).press(f"{LONG}\r").see("has cut a line at 4,095 bytes")
    talk.see("[pasted 4,095 characters]").see("ask · ").look_for(0.5)
    assert "Hello there." not in talk.text
    talk.type("").see("Hello there.")
    assert sent(state) == [LONG[:4_095]]


def test_a_line_that_was_cut_before_its_enter_is_named(start, state):
    talk = start(["--mode", "ask"], HI).press(LONG).see("has cut a line at 4,095 bytes")
    talk.see("[pasted 4,095 characters]").see("ask · ").type("").see("Hello there.")
    assert sent(state) == [LONG[:4_095]]


def test_long_lines_that_are_pasted_before_the_start_arrive_whole(start, state):
    lines = [f"{number} {'x' * 1_000}" for number in range(9)]
    talk = start(["--mode", "ask"], HI).press("\r".join(lines)).see("[pasted").see("ask · ")
    talk.look_for(0.5).type("").see("Hello there.")
    assert "".join(sent(state)).split() == "\n".join(lines).split()


def test_several_lines_that_are_pasted_before_the_start_wait_for_enter(start, state):
    talk = start(["--mode", "ask"], HI).press("one\rtwo\rthree").see("ask · ").look_for(0.5)
    talk.type("").see("Hello there.")
    assert sent(state) == ["one\ntwo\nthree"]


def test_several_lines_that_are_pasted_without_marks_are_one_request(chat, state):
    chat(HI).press("first line\rsecond line\rthird line").look_for(0.5).type("").see("Hello there.")
    assert sent(state) == ["first line\nsecond line\nthird line"]


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
    talk = chat(HI).see("\n\u203a\nask \u00b7 ")
    talk.press("/cont").see("/context")


def test_the_prompt_is_drawn_before_anything_slow_is_loaded(chat):
    talk = chat(HI, env={"PYTHONPROFILEIMPORTTIME": "1"}).press("hel").see("\u203a hel")
    before, _, after = talk.raw.partition("\u203a")
    early, late = loaded(before), loaded(after)
    assert "nanocoder_ui_terminal.chat" in early
    assert "prompt_toolkit" in late
    assert [name for name in (*SLOW, "prompt_toolkit", "asyncio", "ssl") if name in early] == []
    assert [name for name in SLOW if name in late] == []
    assert len(early) <= MODULES_BEFORE_THE_PROMPT, sorted(early)


def loaded(text):
    """Return the modules that *text* says were imported."""
    return set(re.findall(r"import time:[^|]*\|[^|]*\| +(\S+)", text))
