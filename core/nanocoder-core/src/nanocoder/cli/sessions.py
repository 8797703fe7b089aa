"""`nanocoder sessions`: list, show, continue, name, undo, export and remove sessions."""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from nanocoder_schema import one_line

from nanocoder.cli.host import Host
from nanocoder.cli.output import brief, print_json, print_line, print_table, terminal_width
from nanocoder.cli.question import NEEDS_PERSON, is_agreed
from nanocoder.errors import PersonError
from nanocoder.session.messages import encode_message, spoken
from nanocoder.session.store import SessionStore
from nanocoder.session.summary import SessionSummary
from nanocoder.session.transcript import Transcript
from nanocoder.values import Message

SHOWN_CHARS = 2_000
ADDED_CHARS = 160
MAX_TITLE, MIN_TITLE = 86, 12
DIRECTORY_COLUMNS = 28
BEFORE_TITLE = len("20261122-044755-ghdn  2026-11-22 04:47  turns  ")
IN_JSON = ("id", "started", "updated", "cwd", "model", "title", "turns", "size", "forked_from")
NOT_CONFIRMED = "Not removed: no terminal to confirm on. Pass --yes or the full ID: {}"
EMPTY = "{} without a model's answer not shown (--empty lists them)."

Action = Callable[[SessionStore, Host, argparse.Namespace], int]


def run(arguments: argparse.Namespace) -> int:
    """List, show, resume, fork, undo, export or remove."""
    host = Host(
        arguments.cwd,
        model=getattr(arguments, "model", None),
        mode=getattr(arguments, "mode", None),
    )
    store = SessionStore.of_user(warn=host.say)
    store.remove_old(host.config.core.keep_sessions_days)
    return ACTIONS[arguments.action](store, host, arguments)


def _list(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    prompted = [one for one in store.list() if one.title]
    prompted = [one for one in prompted if one.matches(arguments.words)]
    here = [one for one in prompted if arguments.all or one.cwd == str(host.cwd)]
    shown = [one for one in here if one.turns or arguments.empty]
    if arguments.output == "json":
        print_json([{name: getattr(one, name) for name in IN_JSON} for one in shown])
        return 0
    if shown:
        _print_list(shown, with_directory=arguments.all)
    else:
        where = "" if arguments.all else f" for {host.cwd}"
        about = f" with {' '.join(arguments.words)!r} in its title or first prompt"
        more = "" if arguments.all else " (--all lists every directory)"
        print_line(f"There is no session{where}{about if arguments.words else ''}{more}.")
    if len(here) > len(shown):
        host.say(EMPTY.format(len(here) - len(shown)))
    return 0


def _print_list(sessions: Sequence[SessionSummary], *, with_directory: bool) -> None:
    columns = _title_columns(DIRECTORY_COLUMNS if with_directory else 0)
    rows = [
        (
            one.id,
            _when(one),
            one.turns,
            *((_directory(one),) if with_directory else ()),
            _title(one, columns),
        )
        for one in sessions
    ]
    directory = ("directory",) if with_directory else ()
    print_table(("session", "last used", "turns", *directory, "title"), rows)


def _directory(summary: SessionSummary) -> str:
    """Return where a session was held, in short; of a long path the end says most."""
    home = os.environ.get("HOME", "")
    path = summary.cwd
    if home and (path == home or path.startswith(f"{home.rstrip('/')}/")):
        path = f"~{path[len(home.rstrip('/')) :]}"
    if not terminal_width() or len(path) <= DIRECTORY_COLUMNS:
        return path
    return f"…{path[1 - DIRECTORY_COLUMNS :]}"


def _when(summary: SessionSummary) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated))


def _title(summary: SessionSummary, columns: int = MAX_TITLE) -> str:
    return one_line(f"{'fork: ' if summary.forked_from else ''}{summary.title}", columns)


def _title_columns(taken: int) -> int:
    """Return how many columns of the terminal are left for a title; a pipe has enough."""
    room = terminal_width() - BEFORE_TITLE - taken
    return max(MIN_TITLE, min(MAX_TITLE, room)) if terminal_width() else MAX_TITLE


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
        f"To resume: nanocoder sessions resume {session_id},"
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
    host.say("Contains everything the model read, possibly secrets. Review before sharing.")
    return 0


def _rename(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    session_id = store.rename(arguments.id, " ".join(arguments.title), cwd=host.cwd)
    print_line(f"Renamed: {session_id}")
    return 0


def _remove(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    session_id = store.find(arguments.id, cwd=host.cwd)
    # A full ID names one session for certain, so scripts need not confirm it.
    if not arguments.yes and (host.is_interactive or arguments.id != session_id):
        found = next((one for one in store.list() if one.id == session_id), None)
        about = f", last used {_when(found)}: {_title(found) or 'no prompt'}" if found else ""
        if not host.is_interactive:
            host.say(NOT_CONFIRMED.format(f"{session_id}{about}"))
            return NEEDS_PERSON
        print_line(f"{session_id}{about}")
        if not is_agreed("Remove it with its backups and outputs?"):
            print_line("Not removed.")
            return 0
    store.remove(session_id)
    print_line(f"Removed: {session_id}")
    return 0


def _resume(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    from nanocoder.cli.chat import start_chat

    return start_chat(host, ["--resume", store.find(arguments.id, cwd=host.cwd)])


def _undo(store: SessionStore, host: Host, arguments: argparse.Namespace) -> int:
    from nanocoder.cli.undo import run as undo  # reading sessions does not need it

    return undo(store, host, arguments)


def _print_message(message: Message) -> None:
    said, added = spoken(message)
    if said:
        print_line(f"{message.role}: {said}")
    if added:
        print_line(f"  added for the model: {one_line(added, ADDED_CHARS)}")
    for call in message.calls:
        print_line(f"  call {call.name}: {brief(call.arguments)}")
    for result in message.results:
        status = result.error_class or "ok"
        output = result.output[:SHOWN_CHARS].removeprefix(f"{status}: ")
        print_line(f"  {status}: {one_line(output, 160)}")


ACTIONS: Final[Mapping[str, Action]] = {
    "list": _list,
    "show": _show,
    "resume": _resume,
    "fork": _fork,
    "rename": _rename,
    "undo": _undo,
    "export": _export,
    "remove": _remove,
}
