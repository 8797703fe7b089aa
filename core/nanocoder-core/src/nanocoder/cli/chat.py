"""`nanocoder` and `nanocoder chat`: the conversation that a UI plugin offers."""

import argparse

from nanocoder.cli.command_host import CommandHost
from nanocoder.errors import UsageError

NO_SCREEN = """conversations need a plugin; nanocoder plugins install ui-terminal adds it.
Without it: nanocoder run "PROMPT" does one task, nanocoder --help lists every command."""


def run(arguments: argparse.Namespace) -> int:
    """Start the conversation."""
    if arguments.version:
        from nanocoder.cli.output import print_line
        from nanocoder.version import VERSION

        print_line(f"nanocoder {VERSION}")
        return 0
    host = CommandHost.of(arguments)
    resume = arguments.resume and host.sessions.find(arguments.resume, cwd=host.cwd)
    return start_chat(host, resume, " ".join(getattr(arguments, "prompt", ())))


def start_chat(host: CommandHost, resume: str, prompt: str = "") -> int:
    """Hand over to the plugin that offers "chat"; raises UsageError when there is none."""
    offer = host.plugins.offered("commands", "chat")
    if offer is None:
        raise UsageError(NO_SCREEN)
    return int(offer[1].run(argparse.Namespace(resume=resume, prompt=prompt), host))
