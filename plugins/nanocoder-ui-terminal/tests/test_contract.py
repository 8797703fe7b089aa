"""The contract of every plugin, kept by this one."""

from pathlib import Path

from nanocoder_kit_ui.chat.slash_commands import COMMANDS
from nanocoder_testing.contract import *  # noqa: F403


def test_the_readme_names_every_command_of_a_conversation():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    assert [name for name in COMMANDS if f"`/{name}" not in text] == []
