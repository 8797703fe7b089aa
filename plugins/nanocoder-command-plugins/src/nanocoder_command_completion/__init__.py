"""The command `completion`: a script that completes nanocoder's words in a shell."""

from argparse import Namespace
from typing import Final

from nanocoder import Argument, Command, Host, UsageError, hookimpl

NO_SHTAB: Final = (
    "this needs the package shtab: `nanocoder plugins install 'command-plugins[completion]'`"
    " installs it"
)
SHELLS: Final = ("bash", "zsh", "fish", "tcsh")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the command."""
    shell = Argument("shell", "which shell", choices=SHELLS)
    return [Command("completion", "print a completion script for a shell", _run, (shell,))]


def _run(arguments: Namespace, host: Host) -> int:
    try:
        from nanocoder_command_completion.completion import run  # few starts print a script
    except ModuleNotFoundError as error:  # shtab is an extra
        raise UsageError(NO_SHTAB) from error

    return run(arguments, host)
