"""A question for an interpreter's version runs unasked if it can start nothing of the workspace."""

import os
import sys
from pathlib import Path

import pytest
from nanocoder_policy_rules import Settings

SHIM = """\
#!/usr/bin/env bash
set -e
program="${0##*/}"

export PYENV_ROOT="/home/me/.pyenv"
exec "/home/me/.pyenv/libexec/pyenv" exec "$program" "$@"
"""


@pytest.fixture
def programs(tmp_path_factory, monkeypatch):
    """Return a folder of PATH outside of the workspace with an interpreter, and no other."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", f"{folder}:{os.defpath}")
    return folder


def write_program(path, text):
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def ask_version(judge):
    def ask(command="python3 --version", **settings):
        return str(judge("bash", {"command": command}, **settings).decision)

    return ask


@pytest.mark.parametrize(
    "command",
    [
        "python3 --version",
        "python3 -V",
        "which python3 && python3 --version",
        "python3 --version 2>&1 | head -1",
        "cd src && python3 --version",
    ],
)
def test_a_known_interpreter_says_its_version_unasked(programs, ask_version, tmp_path, command):
    (tmp_path / "src").mkdir()
    assert ask_version(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "python3 -v",
        "python3 --version a.py",
        "python3 --help",
        "python3",
        "./python3 --version",
        "bin/python3 --version",
        "pytest --version",
        "go version",
        "rustc --version",
        "php --version",
        "python3.1x --version",
        "missing --version",
        "perl --version",
    ],
)
def test_everything_else_asks(programs, ask_version, monkeypatch, command):
    monkeypatch.setenv("PATH", str(programs))
    assert ask_version(command) == "ask"


def test_an_interpreter_of_the_workspace_asks(programs, ask_version, tmp_path, monkeypatch):
    write_program(tmp_path / ".venv/bin/python3", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/.venv/bin:{os.environ['PATH']}")
    assert ask_version() == "ask"


def test_a_link_into_the_workspace_asks(programs, ask_version, tmp_path):
    write_program(tmp_path / "python3", "#!/bin/sh\n")
    (programs / "python3").unlink()
    (programs / "python3").symlink_to(tmp_path / "python3")
    assert ask_version() == "ask"


def test_a_script_in_its_place_asks(programs, ask_version):
    write_program(programs / "python3", '#!/bin/sh\nexec ./run "$@"\n')
    assert ask_version() == "ask"


@pytest.mark.parametrize(
    ("choice", "decision"),
    [
        (None, "allow"),
        ("3.11.7\n", "allow"),
        ("3.12\n3.11.7\n", "allow"),
        ("# ours\nmy-env_3.11\n", "allow"),
        ("system\n", "allow"),
        ("", "allow"),
        ("../../evil\n", "ask"),
        ("3.11/../../../evil\n", "ask"),
        ("/tmp/evil\n", "ask"),
        ("..\n", "ask"),
        ("3.11:../evil\n", "ask"),
        ("3.11\0\n", "ask"),
        ("3.11\n" * 2_000, "ask"),
    ],
)
def test_a_shim_of_pyenv_counts_where_no_file_names_a_path(
    programs, ask_version, tmp_path, choice, decision
):
    write_program(programs / "python3", SHIM)
    if choice is not None:
        (tmp_path / ".python-version").write_text(choice)
    assert ask_version() == decision


def test_the_choice_of_the_folder_that_a_command_enters_counts(programs, ask_version, tmp_path):
    write_program(programs / "python3", SHIM)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.python-version").write_text("../../evil\n")
    assert ask_version() == "allow"
    assert ask_version("cd sub && python3 --version") == "ask"


@pytest.mark.parametrize("kind", ["folder", "dangling link"])
def test_a_choice_that_is_no_file_asks(programs, ask_version, tmp_path, kind):
    write_program(programs / "python3", SHIM)
    choice = tmp_path / ".python-version"
    choice.mkdir() if kind == "folder" else choice.symlink_to("nowhere")
    assert ask_version() == "ask"


def test_a_shim_that_starts_the_workspaces_pyenv_asks(programs, ask_version, tmp_path):
    (tmp_path / "libexec").mkdir()
    write_program(programs / "python3", SHIM.replace("/home/me/.pyenv", str(tmp_path)))
    assert ask_version() == "ask"


def test_a_shim_before_a_program_of_the_workspace_asks(
    programs, ask_version, tmp_path, monkeypatch
):
    write_program(programs / "python3", SHIM)
    write_program(tmp_path / "bin/python3", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{programs}:{tmp_path}/bin")
    assert ask_version() == "ask"


def test_a_rule_that_denies_still_denies(programs, ask_version):
    assert ask_version(deny=["bash(python3 *)"]) == "deny"
    assert ask_version(ask=["bash(python3 --version)"]) == "ask"


@pytest.mark.parametrize("program", ["docker", "npx", "node", "sudo", "git", "./bin/python3"])
@pytest.mark.parametrize("question", ["--version", "--help", "-V"])
def test_a_rule_allows_a_question_and_nothing_more(ask_version, program, question):
    allow = [f"bash({program} {question})"]
    assert ask_version(f"{program} {question}", allow=allow) == "allow"
    assert ask_version(f"{program} {question} x", allow=allow) == "ask"
    assert ask_version(f"{program} x {question}", allow=allow) == "ask"


@pytest.mark.parametrize("rule", ["bash(python3 --version *)", "bash(python3 -c *)", "bash(git *)"])
def test_a_rule_for_more_than_the_question_is_refused_as_before(rule):
    with pytest.raises(ValueError, match="can never allow a command"):
        Settings(allow=(rule,))


def test_the_machines_own_shim_is_known():
    """It is as pyenv writes it, where pyenv is installed."""
    shim = Path("~/.pyenv/shims/python3").expanduser()
    if shim.is_file():
        from nanocoder_policy_rules import interpreters

        text = shim.read_text()
        assert interpreters.compile_once(interpreters._SHIM).fullmatch(text)
