"""`nanocoder` and `nanocoder chat`: the conversation that a UI plugin offers."""

import argparse
from collections.abc import Sequence

from nanocoder.cli.host import Host
from nanocoder.errors import UsageError
from nanocoder.session.store import SessionStore

NO_SCREEN = """conversations need a plugin; nanocoder plugins install ui-terminal adds it.
Without it: nanocoder run "PROMPT" does one task, nanocoder --help lists every command."""


def run(arguments: argparse.Namespace) -> int:
    """Start the conversation."""
    if arguments.version:
        from nanocoder.cli.output import print_line
        from nanocoder.version import VERSION

        print_line(f"nanocoder {VERSION}")
        return 0
    host = Host(arguments.cwd, model=arguments.model, mode=arguments.mode)
    words = [" ".join(arguments.prompt)] if getattr(arguments, "prompt", None) else []
    if arguments.resume:
        session_id = SessionStore.of_user(warn=host.say).find(arguments.resume, cwd=host.cwd)
        words = ["--resume", session_id, *words]
    return start_chat(host, words)


def start_chat(host: Host, words: Sequence[str]) -> int:
    """Hand over to the plugin that offers "chat"; raises UsageError when there is none."""
    found = host.plugins.offered("commands", "chat")
    if found is None:
        raise UsageError(NO_SCREEN)
    SessionStore.of_user(warn=host.say).remove_old(host.config.core.keep_sessions_days)
    return int(found[1].run(list(words), host))
