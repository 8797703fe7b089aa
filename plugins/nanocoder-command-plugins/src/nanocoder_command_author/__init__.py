"""The commands `plugins new`, `test`, `check` and `hooks`: for authors of plugins."""

from argparse import Namespace
from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_command_author import hooks, new, testing

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
            new.run,
            NEW,
        ),
        Command(
            "plugins test",
            "run the tests of a plugin that you write, with the Python of nanocoder",
            testing.run,
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
            hooks.run,
            (Argument("--output", "text or json", default="text", choices=("text", "json")),),
        ),
    ]


def _check(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_author.check import run  # it loads importlib.metadata

    return run(arguments, host)
