"""Options of a session may stand before a command or after it."""

import pytest
from nanocoder.cli.dispatch import command_of
from nanocoder_schema import UsageError


def parsed(words):
    return command_of(words).args[0]


COMMANDS = [["run", "go"], ["call", "read_file"], ["policy", "explain", "read_file"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_an_option_before_the_command_is_not_forgotten(command):
    options = ["--mode", "plan", "--model", "a/b", "--cwd", "/tmp"]
    before = parsed([*options, *command])
    after = parsed([*command, *options])
    assert (before.mode, before.model, before.cwd) == ("plan", "a/b", "/tmp")
    assert before == after


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_without_options_a_command_runs_here_in_the_configured_mode(command):
    found = parsed(command)
    assert (found.mode, found.model, found.cwd) == (None, "", ".")


def test_the_directory_of_a_listing_may_stand_before_it():
    assert parsed(["--cwd", "/tmp", "config", "show"]).cwd == "/tmp"
    assert parsed(["--cwd", "/tmp", "sessions", "list"]).cwd == "/tmp"


def test_a_session_of_which_nothing_is_kept_may_be_asked_for_before_the_command():
    assert parsed(["--ephemeral", "run", "go"]).store == "memory"
    assert parsed(["run", "go", "--ephemeral"]).store == "memory"
    assert parsed(["run", "go"]).store is None
    with pytest.raises(UsageError, match="--ephemeral does not apply to `nanocoder tools`"):
        command_of(["--ephemeral", "tools"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--modle", "x", "run", "go"], "'--modle'; did you mean '--model'"),
        (["plugins", "--cwd", "/tmp", "list"], "no action '--cwd'"),
        (["plugins"], "name an action: list, lock"),
        (["plugins list"], "no command 'plugins list'"),
        (["--mode", "plan", "fix", "it"], "nanocoder run 'fix it'"),
        (["-c", "run", "--resume", "x", "--ephemeral", "go"], "not allowed with"),
    ],
)
def test_words_that_name_no_command_say_what_is_wrong(words, problem):
    with pytest.raises(UsageError) as raised:
        command_of(words)
    assert problem in str(raised.value)


def test_words_behind_two_hyphens_are_no_options():
    assert parsed(["run", "--", "--mode"]).prompt == "--mode"


@pytest.mark.parametrize("columns", [60, 100])
def test_the_help_of_a_command_is_as_wide_as_the_terminal(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        command_of(["run", "--help"])
    widest = max(map(len, capsys.readouterr().out.splitlines()))
    assert columns - 15 < widest < columns
