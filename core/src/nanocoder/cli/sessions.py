"""`nanocoder sessions`: what was said before, and the way back into it."""

import argparse
import time
from typing import Any

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.session import SessionStore, encode_message
from nanocoder.text import one_line
from nanocoder.values import Message

SHOWN_CHARS = 2_000


def run(arguments: argparse.Namespace) -> int:
    """List, show or resume."""
    host = Host(arguments.cwd)
    store = SessionStore.of_user(warn=host.say)
    store.remove_old(host.config.core.keep_sessions_days)
    if arguments.action == "list":
        return _list(store, host, arguments)
    if arguments.action == "show":
        return _show(store, host, arguments)
    from nanocoder.cli.chat import start_chat

    return start_chat(host, ["--resume", store.find(arguments.id, cwd=host.cwd)])


def _list(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    said = [one for one in store.list() if one.title]
    found = [one for one in said if arguments.all or one.cwd == str(host.cwd)]
    if arguments.output == "json":
        names = ("id", "started", "updated", "cwd", "model", "title", "turns", "size")
        print_json([{name: getattr(one, name) for name in names} for one in found])
        return 0
    if not found:
        where = "" if arguments.all else f" of {host.cwd} (--all lists every directory's)"
        print_line(f"There is no session{where}.")
        return 0
    rows = [
        (
            one.id,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(one.updated)),
            one.turns,
            one_line(one.title, 60),
        )
        for one in found
    ]
    print_table(("session", "last used", "turns", "title"), rows)
    return 0


def _show(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    transcript = store.show(arguments.id, cwd=host.cwd)
    if arguments.output == "json":
        about: dict[str, Any] = {
            "title": transcript.title,
            "model": transcript.model,
            "cwd": transcript.cwd,
        }
        print_json({**about, "messages": [encode_message(one) for one in transcript.messages]})
        return 0
    for message in transcript.messages:
        _print_message(message)
    return 0


def _print_message(message: Message) -> None:
    if message.text:
        print_line(f"{message.role}: {message.text}")
    for call in message.calls:
        arguments = ", ".join(
            f"{key}={one_line(str(value), 60)}" for key, value in call.arguments.items()
        )
        print_line(f"  call {call.name}: {arguments}")
    for result in message.results:
        print_line(f"  {result.error_class or 'ok'}: {one_line(result.output[:SHOWN_CHARS], 160)}")
