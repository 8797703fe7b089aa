"""The commands of plugins: as the manifest declares them, and run when somebody types one."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from nanocoder.cli.arguments import COMMANDS
from nanocoder.cli.command_host import CommandHost
from nanocoder.errors import NanocoderError, UsageError
from nanocoder.hooks.contributions import Argument, Command


def known_commands(
    host: CommandHost | str,
) -> tuple[dict[str, Command[Any]], NanocoderError | None]:
    """Return every command by its name, the core's first, without importing a plugin.

    *host* may be a directory. Where plugins cannot be listed, the core's commands are all there
    are, and the reason stands beside them.
    """
    try:
        host = CommandHost(host) if isinstance(host, str) else host
        offers = [offer for _, offer in host.plugins.offers("commands")]
    except NanocoderError as error:
        return dict(COMMANDS), error
    declared = {offer["name"]: _declared(offer) for offer in offers}
    return {**COMMANDS, **declared, **COMMANDS}, None


def _declared(offer: Mapping[str, Any]) -> Command[Any]:
    arguments = tuple(Argument(**argument) for argument in offer["arguments"])
    return Command(offer["name"], offer["help"], None, arguments)


def why_absent(name: str) -> str:
    """Say why an installed plugin's command is not there; nothing when no plugin has it."""
    try:
        return CommandHost().plugins.why_missing(name, "commands")
    except NanocoderError:
        return ""


def run_offered(values: Namespace, name: str) -> int:
    """Run a plugin's command with what was parsed for it; returns its exit code."""
    host = CommandHost.of(values)
    offer = host.plugins.offered("commands", name)
    if offer is None or offer[1].run is None:
        raise UsageError(
            f"the command {name!r} is gone: {host.plugins.why_missing(name, 'commands')}"
        )
    return int(offer[1].run(values, host))
