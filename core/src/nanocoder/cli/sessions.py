"""`nanocoder sessions`: what was said before, and the way back into it."""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from nanocoder.cli.host import Host
from nanocoder.cli.output import print_json, print_line, print_table
from nanocoder.errors import PersonError
from nanocoder.session import SessionStore, Transcript, encode_message
from nanocoder.text import one_line
from nanocoder.values import Message

SHOWN_CHARS = 2_000

Action = Callable[[SessionStore, Host, argparse.Namespace], int]


def run(arguments: argparse.Namespace) -> int:
    """List, show, resume, fork, undo, export or remove."""
    host = Host(arguments.cwd)
    store = SessionStore.of_user(warn=host.say)
    store.remove_old(host.config.core.keep_sessions_days)
    return ACTIONS[arguments.action](store, host, arguments)


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
        print_json(_data(transcript))
        return 0
    for message in transcript.messages:
        _print_message(message)
    return 0


def _data(transcript: Transcript) -> dict[str, Any]:
    about = {"title": transcript.title, "model": transcript.model, "cwd": transcript.cwd}
    return {**about, "messages": [encode_message(one) for one in transcript.messages]}


def _fork(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    session_id, journal = store.fork(store.find(arguments.id, cwd=host.cwd))
    journal.close()
    if journal.path is None:
        raise PersonError("the new session could not be kept")
    if arguments.output == "json":
        print_json({"session_id": session_id})
        return 0
    print_line(session_id)
    host.say(
        f"go on with: nanocoder sessions resume {session_id},"
        f' or nanocoder run --session {session_id} "PROMPT"'
    )
    return 0


def _export(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    from nanocoder.session.markdown import as_markdown  # few sessions are exported

    session_id = store.find(arguments.id, cwd=host.cwd)
    transcript = store.show(session_id)
    if arguments.output == "json":
        print_json({"session_id": session_id, **_data(transcript)})
    else:
        print_line(as_markdown(session_id, transcript))
    host.say("it holds whatever the model read, secrets too: look through it before you pass it on")
    return 0


def _remove(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    session_id = store.find(arguments.id, cwd=host.cwd)
    store.remove(session_id)
    print_line(f"{session_id} is removed, with all that was kept for it.")
    return 0


def _resume(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    from nanocoder.cli.chat import start_chat

    return start_chat(host, ["--resume", store.find(arguments.id, cwd=host.cwd)])


def _undo(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    from nanocoder.cli.undo import run as undo  # what reads sessions need not know how

    return undo(store, host, arguments)


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


ACTIONS: Final[Mapping[str, Action]] = {
    "list": _list,
    "show": _show,
    "resume": _resume,
    "fork": _fork,
    "undo": _undo,
    "export": _export,
    "remove": _remove,
}
