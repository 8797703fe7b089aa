"""Commands of a conversation, from files and from plugins, and their parsing."""

from nanocoder_kit_ui.commands.files import (
    FileCommand,
    find_file_commands,
    run_command,
    run_shell_parts,
)
from nanocoder_kit_ui.commands.parts import Call, CommandLine, Part, plugin_parts

__all__ = [
    "Call",
    "CommandLine",
    "FileCommand",
    "Part",
    "find_file_commands",
    "plugin_parts",
    "run_command",
    "run_shell_parts",
]
