"""Options of a session may stand before a command or after it."""

import pytest
from nanocoder.cli.commands import build
from nanocoder.cli.dispatch import command_of

COMMANDS = [["run", "go"], ["call", "read_file"], ["policy", "explain", "read_file"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_an_option_before_the_command_is_not_forgotten(command):
    options = ["--mode", "plan", "--model", "a/b", "--cwd", "/tmp"]
    before = build().parse_args([*options, *command])
    after = build().parse_args([*command, *options])
    assert (before.mode, before.model, before.cwd) == ("plan", "a/b", "/tmp")
    assert before == after


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_without_options_a_command_runs_here_in_the_configured_mode(command):
    found = build().parse_args(command)
    assert (found.mode, found.model, found.cwd) == (None, "", ".")


def test_the_directory_of_a_listing_may_stand_before_it():
    assert build().parse_args(["--cwd", "/tmp", "config", "show"]).cwd == "/tmp"
    assert command_of(["--cwd", "/tmp", "sessions", "list"]).args[0].cwd == "/tmp"
