import os
import subprocess
import sys

import pytest
from nanocoder_tool_bash import Settings


def variables(shell):
    return dict(line.partition("=")[::2] for line in shell("env").output.splitlines())


# PROC-018
@pytest.mark.contract("NT-27")
@pytest.mark.contract("MA-05")
def test_nothing_asks_scrolls_or_edits(shell):
    env = variables(shell)
    assert "CI" not in env
    assert env["DEBIAN_FRONTEND"] == "noninteractive"
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert (env["TERM"], env["PAGER"], env["GIT_EDITOR"]) == ("dumb", "cat", "true")


@pytest.mark.contract("NT-27")
def test_the_usual_variables_are_inherited(shell, monkeypatch):
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    monkeypatch.setenv("HOME", "/home/somebody")
    env = variables(shell)
    assert env["LC_TIME"] == "C.UTF-8"
    assert env["HOME"] == "/home/somebody"


# PROC-021, 023
@pytest.mark.contract("MA-09")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("DB_PASSWORD", "x"),
        ("XDG_SECRET", "x"),
        ("SOMETHING_ELSE", "x"),
        ("NOTES", "ghp_cccccccccccccccccccccccccccccccccccc"),
        ("HTTPS_PROXY", "http://user:password@proxy:8080"),
        ("LD_PRELOAD", ""),
        ("BASH_ENV", "./x.sh"),
        ("NODE_OPTIONS", "--require ./x.js"),
        ("PYTHONSTARTUP", "./x.py"),
        ("GIT_EXTERNAL_DIFF", "./x.sh"),
        ("GIT_SSH_COMMAND", "./x.sh"),
        ("BASH_FUNC_ls%%", "() { echo hijacked; }"),
    ],
)
def test_secrets_and_loader_variables_stay_here(name, value, shell, monkeypatch):
    monkeypatch.setenv(name, value)
    assert name not in variables(shell)


def test_settings_name_more_variables_even_secret_ones(shell, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", "yes")
    shell.settings = Settings(environment=("DEPLOY_TOKEN",))
    assert variables(shell)["DEPLOY_TOKEN"] == "yes"


def test_settings_cannot_bring_loader_variables_back(shell, monkeypatch):
    monkeypatch.setenv("BASH_ENV", "/dev/null")
    shell.settings = Settings(environment=("BASH_ENV",))
    assert "BASH_ENV" not in variables(shell)


def test_programs_are_never_taken_from_the_current_directory(shell, monkeypatch):
    monkeypatch.setenv("PATH", ".::bin:/usr/bin:/bin")
    assert variables(shell)["PATH"] == "/usr/bin:/bin"


def test_startup_files_are_not_read(shell, monkeypatch):
    (shell.root / ".bashrc").write_text("echo hijacked\n")
    (shell.root / ".bash_profile").write_text("echo hijacked\n")
    monkeypatch.setenv("HOME", str(shell.root))
    assert shell("echo clean").output == "clean"


# SHELL-193
def test_each_call_starts_anew(shell):
    shell("export LEFT=1; alias ls='echo hijacked'; cd /tmp")
    assert shell("echo ${LEFT:-none}; pwd -P").output == f"none\n{shell.root}"


def test_no_project_hands_on_secrets_not_even_a_trusted_one(tmp_path):
    work = tmp_path / "work"
    (work / ".nanocoder").mkdir(parents=True)
    setting = '[plugins.tool-bash]\nenvironment = ["DEPLOY_TOKEN"]\n'
    (work / ".nanocoder/config.toml").write_text(setting)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DEPLOY_TOKEN": "hush"}

    def nanocoder(*arguments):
        command = [sys.executable, "-m", "nanocoder", *arguments]
        return subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    assert nanocoder("config", "trust", "--yes").returncode == 0
    ran = nanocoder("call", "bash", '{"command": "echo [$DEPLOY_TOKEN]"}', "--mode", "auto")
    assert ran.stdout.strip() == "[]"
    for output in (ran.stderr, nanocoder("doctor").stdout):
        assert "plugins.tool-bash.environment: only your own configuration" in " ".join(
            output.split()
        )


# PROC-019
def test_no_pager_and_no_editor_waits_for_a_person(shell, tmp_path):
    made = "git init -q; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first"
    shell(made)
    names = "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    result = shell(
        f"git log; {names} git commit --amend --allow-empty; man ls; echo end", timeout=20
    )
    assert "first" in result.output
    assert "end" in result.output.splitlines()
    assert not result.metadata["timed_out"]
