"""Disables plugins that failed too often in later sessions, and bisects a broken command."""

from argparse import Namespace
from contextlib import suppress
from typing import Final

from nanocoder import Argument, Command, Event, Host, hookimpl

NAME: Final = "command-quarantine"


@hookimpl(events=["session.finished"])
def nanocoder_event(event: Event) -> None:
    """Record the plugins that were disabled in a session for their errors."""
    failed = event.data.get("failed_plugins")
    if failed:
        from nanocoder_command_quarantine.quarantine import add  # most sessions do not need it

        # Plugins that fail because the disk cannot be written are not to blame, and have said so.
        with suppress(OSError):
            add({name: why for name, why in failed.items() if name != NAME})


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer two actions of the group `plugins`."""
    return [
        Command(
            "plugins restore",
            "load plugins again that were disabled because they failed",
            _restore,
            (Argument("names", "which (default: list them)", count="*", metavar="NAME"),),
            outside_calls=True,
        ),
        Command(
            "plugins bisect",
            "find the plugin that breaks a command of nanocoder",
            _bisect,
            (Argument("words", "the command (default: tools)", count="...", metavar="COMMAND"),),
            outside_calls=True,
        ),
    ]


def _restore(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_quarantine.quarantine import restore

    return restore(arguments, host)


def _bisect(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_quarantine.bisect import run

    return run(arguments, host)
