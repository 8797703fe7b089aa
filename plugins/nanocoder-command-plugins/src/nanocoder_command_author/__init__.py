"""The commands `plugins new`, `test`, `check` and `hooks`: for authors of plugins."""

from argparse import Namespace
from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

KINDS: Final = ("tool", "policy", "provider", "ui")
NEW: Final = (
    Argument("kind", "what it is; a screen is a ui", choices=KINDS),
    Argument("name", "its name without the kind, for example wordcount"),
    Argument("--into", "parent directory (default: .)", default=".", metavar="DIR"),
    Argument("--from", "the code, in place of an example", target="code", metavar="FILE"),
)


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer four actions of the group `plugins`."""
    return [
        Command(
            "plugins new",
            "create a plugin package with passing tests",
            _new,
            NEW,
        ),
        Command(
            "plugins test",
            "run the tests of a plugin that you write, with the Python of nanocoder",
            _test,
            (Argument("path", "its folder, or a file (default: .)", count="?", default="."),),
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
        Command(
            "plugins hooks",
            "list the hooks in the order of a session, and which plugins implement each",
            _hooks,
            (Argument("--output", "text or json", default="text", choices=("text", "json")),),
        ),
    ]


def _new(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.new import run  # a command that is not typed costs nothing

    return run(arguments, host)


def _test(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.testing import run  # as above

    return run(arguments, host)


def _check(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.check import run  # as above

    return run(arguments, host)


def _hooks(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.hooks import run  # as above

    return run(arguments, host)
