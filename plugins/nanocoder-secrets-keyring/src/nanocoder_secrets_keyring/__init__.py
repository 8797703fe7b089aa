"""`nanocoder keys`: keys of models in the keyring of the system."""

from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_secrets_keyring.commands import get_key, remove_key, set_key

NAME: Final = Argument("name", "a name for the key, such as openai", metavar="NAME")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the group `keys`; no call of a session may use it."""
    actions = (
        ("set", "store a key, typed without echo or piped in", set_key),
        ("get", "print a key, for the setting key_command", get_key),
        ("remove", "remove a key", remove_key),
    )
    return [
        Command("keys", "store the keys of models in the keyring of the system"),
        *(
            Command(f"keys {name}", text, action, (NAME,), outside_calls=True)
            for name, text, action in actions
        ),
    ]
