"""What commands print while they run, and all of it afterwards."""

import io

import pytest
from nanocoder_ui_terminal.call_lines import Call, live_lines
from nanocoder_ui_terminal.terminal import Terminal

DONE = {"text": "Done."}
CTRL_O = "\x0f"


def bash(command):
    return {"calls": [{"name": "bash", "arguments": {"command": command}}]}


@pytest.mark.timeout(90)
def test_the_last_lines_of_a_command_are_on_the_screen_while_it_runs(start):
    command = "seq 100; touch started; until [ -e go ]; do sleep 0.1; done; echo end"
    talk = start(["run", "--mode", "auto", "go"], bash(command), DONE, rows=24)
    talk.see("\n  100")
    shown = [line.strip() for line in talk.text.splitlines()]
    assert shown[shown.index("100") - 4 : shown.index("100") + 1] == ["96", "97", "98", "99", "100"]
    assert "95" not in shown
    talk.touch("go").see("Done.")
    assert talk.end() == 0
    lines = talk.text.splitlines()
    [place] = [number for number, line in enumerate(lines) if line.startswith("\u2022 bash")]
    assert [line.strip() for line in lines[place + 1 : place + 4]] == [
        "\u2026 95 more lines",
        "96",
        "97",
    ]


@pytest.mark.timeout(90)
def test_ctrl_o_shows_more_of_a_running_command_and_all_of_one_that_ended(chat):
    command = "seq 1000 1030; until [ -e go ]; do sleep 0.1; done"
    talk = chat(bash(command), DONE, rows=30).type("/mode auto").see("auto \u00b7 ").type("go")
    talk.see("\n  1030")
    assert "1020" not in talk.text
    talk.press(CTRL_O).see("\n  1020").see("\n  1010")
    talk.press(CTRL_O).look_for(0.5)
    assert "1020" not in talk.text
    talk.touch("go").see("Done.").see("auto \u00b7 ").press(CTRL_O).see("\n1000\n1001\n1002")
    talk.type("/output 7").see("/output takes a number from 1, the last call, to 1")
    talk.type("/output 1").see("\n1000\n1001\n1002", times=2)


@pytest.mark.timeout(90)
def test_all_of_a_long_output_comes_from_its_file(chat):
    talk = chat(bash("seq 5000"), DONE).type("/mode auto").see("auto \u00b7 ").type("go")
    talk.see("Done.").see("auto \u00b7 ").type("/output").see("\n2500\n2501\n").see("\n5000\n")
    assert "left out" not in talk.text


def test_what_a_command_prints_is_inert_on_the_screen():
    call = Call("bash", {})
    call.add_output("safe\n\x1b]0;owned\x07\x1b[2J\u202eevil\n10%\r50%\r100%\r\n")
    lines = live_lines(call, 5, Terminal(io.StringIO()))
    assert lines[0] == "  safe"
    assert lines[2] == "  100%"
    assert not any(letter in "".join(lines) for letter in "\x1b\x07\r\u202e")


def test_a_line_without_an_end_is_cut_to_the_screen():
    call = Call("bash", {})
    for _ in range(50):
        call.add_output("x" * 4_096)
    [line] = live_lines(call, 5, Terminal(io.StringIO()))
    assert len(line) <= 79
    assert len(call.output) <= 20_000
