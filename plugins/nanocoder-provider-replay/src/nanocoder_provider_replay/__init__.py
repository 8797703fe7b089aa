"""The provider `replay`: plays a recorded session again, and says where a new run differs."""

from argparse import Namespace
from importlib import import_module
from typing import Final

from nanocoder import Argument, Command, Host, Provider, ProviderSpec, hookimpl

from nanocoder_provider_replay.settings import Settings

SESSION: Final = Argument(
    "id",
    "the session's ID or its beginning (default: the last one here)",
    count="?",
    default="last",
    completes="sessions",
)
SMALL: Final = Argument(
    "--small", "the recorded model got its requests in the form for small models", kind="flag"
)


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.provider-replay]`."""
    return Settings


@hookimpl
def nanocoder_providers() -> list[ProviderSpec]:
    """Offer the provider "replay"; it is never chosen by itself."""
    return [
        ProviderSpec(
            "replay",
            _open,
            description="Plays the recording of a session.",
            hint="--model replay/FILE.json plays what `nanocoder sessions record` wrote",
            rank=100,
        )
    ]


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the commands that write recordings."""
    return [
        Command(
            "sessions record",
            "print what a session's model answered, to be played again",
            _record,
            (SESSION, SMALL),
        ),
        Command(
            "sessions to-test",
            "make a session a pytest file with a recording",
            _to_test,
            (
                SESSION,
                SMALL,
                Argument(
                    "--into",
                    "where the files are written (default: tests)",
                    metavar="DIR",
                    default="tests",
                ),
            ),
        ),
    ]


def _open(model: str, settings: Settings | None) -> Provider:
    from nanocoder_provider_replay.provider import open_replay  # few sessions replay

    return open_replay(model, settings or Settings())


def _record(arguments: Namespace, host: Host) -> int:
    return int(import_module("nanocoder_provider_replay.commands").record(arguments, host))


def _to_test(arguments: Namespace, host: Host) -> int:
    return int(import_module("nanocoder_provider_replay.commands").to_test(arguments, host))
