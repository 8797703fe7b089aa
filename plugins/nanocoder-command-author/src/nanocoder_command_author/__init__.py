"""The commands `plugins new` and `plugins check`: for those who write plugins."""

from argparse import Namespace
from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

KINDS: Final = ("tool", "policy", "provider", "ui")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer both actions of the group `plugins`."""
    return [
        Command(
            "plugins new",
            "create a plugin package with passing tests",
            _new,
            (
                Argument("kind", "what it is", choices=KINDS),
                Argument("name", "its name without the kind, for example wordcount"),
                Argument("--into", "parent directory (default: .)", default=".", metavar="DIR"),
            ),
        ),
        Command(
            "plugins check",
            "run the contract suite on a plugin",
            _check,
            (
                Argument(
                    "name",
                    "for example tool-grep (default: all)",
                    count="?",
                    default="",
                    completes="plugins",
                ),
            ),
        ),
    ]


def _new(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.new import run  # a command that is not typed costs nothing

    return run(arguments, host)


def _check(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.check import run  # as above

    return run(arguments, host)
