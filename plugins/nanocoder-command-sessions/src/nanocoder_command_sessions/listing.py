"""`nanocoder sessions list`: the sessions of this directory, or of all."""

import os
import time
from argparse import Namespace
from collections.abc import Sequence
from typing import Final

from nanocoder import Host, one_line
from nanocoder_kit_sessions import SessionSummary, matches

MAX_TITLE, MIN_TITLE = 86, 12
DIRECTORY_COLUMNS: Final = 28
BEFORE_TITLE: Final = len("20261122-044755-ghdn  2026-11-22 04:47  turns  ")
IN_JSON: Final = (
    "id",
    "started",
    "updated",
    "cwd",
    "model",
    "title",
    "turns",
    "size",
    "forked_from",
)
EMPTY: Final = "{} without a model's answer not shown (--empty lists them)."


def list_sessions(arguments: Namespace, host: Host) -> int:
    """Print the sessions that have a prompt, and of those without an answer how many there are."""
    prompted = [summary for summary in host.sessions.list() if summary.title]
    matching = [summary for summary in prompted if matches(summary, arguments.words)]
    here = [summary for summary in matching if arguments.all or summary.cwd == str(host.cwd)]
    listed = [summary for summary in here if summary.turns or arguments.empty]
    if arguments.output == "json":
        host.print_json([{name: getattr(it, name) for name in IN_JSON} for it in listed])
        return 0
    if listed:
        _print_list(host, listed, with_directory=arguments.all)
    else:
        where = "" if arguments.all else f" for {host.cwd}"
        words = f" with {' '.join(arguments.words)!r} in its title or first prompt"
        hint = "" if arguments.all else " (--all lists every directory)"
        host.print_line(f"There is no session{where}{words if arguments.words else ''}{hint}.")
    if len(here) > len(listed):
        host.say(EMPTY.format(len(here) - len(listed)))
    return 0


def _print_list(host: Host, sessions: Sequence[SessionSummary], *, with_directory: bool) -> None:
    columns = _title_columns(host.columns, DIRECTORY_COLUMNS if with_directory else 0)
    rows = []
    for summary in sessions:
        directory = (_directory(summary.cwd, host.columns),) if with_directory else ()
        title = title_of(summary, columns)
        rows.append((summary.id, last_used(summary), summary.turns, *directory, title))
    heading = ("directory",) if with_directory else ()
    host.print_table(("session", "last used", "turns", *heading, "title"), rows)


def _directory(path: str, columns: int) -> str:
    """Return a session's directory in short: the end of a long path tells most."""
    home = os.environ.get("HOME", "")
    if home and (path == home or path.startswith(f"{home.rstrip('/')}/")):
        path = f"~{path[len(home.rstrip('/')) :]}"
    if not columns or len(path) <= DIRECTORY_COLUMNS:
        return path
    return f"…{path[1 - DIRECTORY_COLUMNS :]}"


def last_used(summary: SessionSummary) -> str:
    """Return when a session was last used, in the person's time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated))


def title_of(summary: SessionSummary, columns: int = MAX_TITLE) -> str:
    """Return a session's title on one line."""
    return one_line(f"{'fork: ' if summary.forked_from else ''}{summary.title}", columns)


def _title_columns(width: int, directory: int) -> int:
    """Return how many columns of the terminal are left for a title; a pipe has enough."""
    room = width - BEFORE_TITLE - directory
    return max(MIN_TITLE, min(MAX_TITLE, room)) if width else MAX_TITLE
