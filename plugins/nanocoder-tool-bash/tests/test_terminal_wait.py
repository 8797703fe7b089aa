import sys

import pytest

# As editors do: where the input is no terminal, standard error is taken for one.
EDITOR = """
import os, select
os.dup2(2, 0)
select.select([0], [], [])
"""


@pytest.fixture
def editor(shell):
    (shell.root / "editor.py").write_text(EDITOR)
    return f"{sys.executable} editor.py"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("form", ["{}", "echo a; {}; echo b", "sh -c '{} & wait'"])
def test_a_program_that_waits_for_keys_is_ended_and_says_what_to_do(shell, editor, form):
    result = shell(form.format(editor), timeout=60)
    assert result.error_class == "needs_terminal"
    assert result.metadata["duration_s"] < 50
    assert "waits for keys from a terminal" in result.output
    assert "asks nothing" in result.output


@pytest.mark.needs("vim")
def test_vim_is_ended_long_before_the_limit(shell):
    result = shell("vim notes.txt", timeout=60)
    assert result.error_class == "needs_terminal"
    assert "[vim waits for keys from a terminal" in result.output


@pytest.mark.parametrize(
    "command", ["sleep 1.2; echo end", "sleep 1.2 <&-; echo end", "cat; sleep 1.2; echo end"]
)
def test_a_program_that_only_takes_time_is_left_alone(shell, command):
    assert shell(command).output == "end"


@pytest.mark.parametrize(
    "command",
    [
        "printf 'package name: (ws) '",
        "printf 'Overwrite? [y/N] ' >&2; exit 1",
        f"""{sys.executable} -c 'input("Name: ")'""",
    ],
)
def test_a_command_that_asks_is_told_that_nobody_types(shell, command):
    assert "[it asked for input and got none: answer by its options" in shell(command).output


def test_a_prompt_in_the_middle_of_an_output_is_no_question(shell):
    assert shell("echo 'Name: '; echo done").output == "Name: \ndone"


def test_a_program_without_arguments_and_output_may_have_waited_for_input(shell):
    assert "its input is empty" in shell(sys.executable).output
    assert shell("true && true").output == "(no output)"


def test_what_should_go_on_running_is_a_job(shell, seconds):
    output = shell(f"sleep {seconds} & echo started").output
    assert output.startswith("started\n[left running in the background, and ended with the call: ")
    assert "call again with background: true]" in output


def test_what_a_sandbox_left_running_names_jobs_too(shell):
    note = "[left running in the background, and ended with the call: node]"
    assert "background: true" in shell(f"echo '{note}' >&2").output


def test_a_timeout_names_jobs(shell):
    assert "background: true" in shell("sleep 60", timeout=0.2).output
