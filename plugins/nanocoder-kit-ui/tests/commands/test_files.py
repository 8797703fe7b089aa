"""Commands from files: what a file makes, and what fills its places."""

import pytest
from nanocoder_kit_ui.commands import FileCommand, find_file_commands, plugin_parts, run_shell_parts
from nanocoder_testing import opened

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("template", "argument", "prompt"),
    [
        ("Fix $1, then $2.", "a 'b c'", "Fix a, then b c."),
        ("Fix $ARGUMENTS.", "a b", "Fix a b."),
        ("Fix it.", "in a", "Fix it.\n\nin a"),
        ("Fix $1 and $2.", "a", "Fix a and ."),
    ],
)
def test_the_places_of_a_template_are_filled(template, argument, prompt):
    assert FileCommand("fix", template).prompt(argument) == prompt


def test_files_of_a_project_make_commands_and_wrong_ones_say_why(tmp_path):
    folder = tmp_path / ".nanocoder/commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("---\ndescription: repairs\nargument-hint: FILE\n---\nFix $1.\n")
    (folder / "Bad Name.md").write_text("text")
    (folder / "help.md").write_text("text")
    with opened(tmp_path) as (session, _):
        commands = {each.name: each for each in find_file_commands(session, {"help"})}
        assert list(plugin_parts(session)) == []
    assert (commands["fix"].meaning, commands["fix"].takes) == ("repairs", "FILE")
    assert "is no name of a command" in commands["Bad Name"].problem
    assert "is built in" in commands["help"].problem


def test_what_nobody_sees_in_a_file_is_written_out(tmp_path):
    folder = tmp_path / ".nanocoder/commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("Fix it.\u200b\U000e0041\u3164")
    with opened(tmp_path) as (session, _):
        (command,) = (each for each in find_file_commands(session, ()) if each.name == "fix")
    assert command.prompt("") == r"Fix it.\u200b\U000e0041\u3164"


def test_each_part_that_is_a_command_is_run():
    text = run_shell_parts("a !`one` b !`two`", lambda command: f"<{command}>")
    assert text == "a <one> b <two>"
