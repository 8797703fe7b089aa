"""`nanocoder keys`: keys of models in the keyring of the system."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from nanocoder import Argument, Command, Host, hookimpl

if TYPE_CHECKING:
    from argparse import Namespace

NAME: Final = Argument("name", "a name for the key, such as openai", metavar="NAME")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the group `keys`; no call of a session may use it."""
    actions = {
        "set": "store a key, typed without echo or piped in",
        "get": "print a key, for the setting key_command",
        "remove": "remove a key",
    }
    return [
        Command("keys", "store the keys of models in the keyring of the system"),
        *(
            Command(f"keys {action}", text, _lazy(action), (NAME,), outside_calls=True)
            for action, text in actions.items()
        ),
    ]


def _lazy(action: str) -> "Callable[[Namespace, Host], int]":
    """Return the command *action*; keyring takes 60 ms to import, so only a command does."""

    def run(arguments: "Namespace", host: Host) -> int:
        from nanocoder_secrets_keyring import commands

        code: int = getattr(commands, f"{action}_key")(arguments, host)
        return code

    return run
