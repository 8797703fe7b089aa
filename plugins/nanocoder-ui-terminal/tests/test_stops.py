"""After a stop and `fg` the conversation takes keys again, whoever stopped and continued it."""

import os
import signal
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.timeout(120), pytest.mark.needs("bash")]
HI = {"text": "Hello there."}
SHELL = ("bash", "--norc", "--noprofile", "--noediting", "-i")


@pytest.fixture
def shell(start, environment):
    """Start a shell with job control, which starts the conversation."""

    def begin(*turns):
        talk = start([], *turns, env={"PS1": "shell> "}, program=SHELL).see("shell>")
        return talk.type(f"'{environment['PYTHON']}' -m nanocoder --mode ask")

    environment["PYTHON"] = sys.executable
    return begin


def job_of(talk):
    """Return the process that the shell has started last."""
    return int(Path(f"/proc/{talk.pid}/task/{talk.pid}/children").read_text().split()[-1])


def test_keys_work_after_ctrl_z_and_fg(shell):
    talk = shell(HI).see("ask · ").press("hel").see("\u203a hel").press("\x1a").see("Stopped")
    assert talk.echoes()
    assert "\u203a hel" not in talk.text
    talk.type("fg").see("\u203a hel").look_for(0.5)
    assert talk.text.count("\u203a hel") == 1
    talk.type("lo").see("Hello there.")


def test_keys_work_after_a_stop_while_it_loads(shell):
    talk = shell(HI)
    while talk.gathers_lines():
        talk.look()
    talk.press("\x1a").see("Stopped").type("fg").see("ask · ").type("hello").see("Hello there.")


@pytest.mark.parametrize("continued", [False, True], ids=["by fg", "by a signal, then fg"])
def test_keys_work_after_a_stop_by_another_process(shell, continued):
    talk = shell(HI).see("ask · ")
    job = job_of(talk)
    os.kill(job, signal.SIGSTOP)
    talk.see("Stopped")
    if continued:
        os.kill(job, signal.SIGCONT)
        talk.look_for(0.5)
    talk.type("fg").look_for(0.5).type("hello").see("Hello there.")


def test_keys_work_after_a_stop_during_a_run(shell):
    talk = shell({**HI, "delay_s": 6}, {"text": "Second."}).see("ask · ").type("one").see("waiting")
    os.kill(job_of(talk), signal.SIGSTOP)
    talk.see("Stopped").type("fg").look_for(0.5).press("and two").see("\u203a and two")
    talk.press("\t").see("Hello there.").see("Second.")


def test_a_question_is_drawn_again_after_a_stop_and_no_earlier_key_answers_it(shell, workspace):
    write = {"name": "write_file", "arguments": {"path": "new.txt", "content": "x"}}
    talk = shell({"calls": [write]}, {"text": "All done."}).see("ask · ")
    talk.type("go").see("Approve?")
    os.kill(job_of(talk), signal.SIGSTOP)
    # The y comes before the question is in sight again.
    talk.see("Stopped").press("fg\ny").see("new.txt").see("Approve?").look_for(0.5)
    assert not (workspace / "new.txt").exists()
    talk.press("y").see("All done.")
    assert (workspace / "new.txt").exists()
