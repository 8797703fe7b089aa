"""`nanocoder sessions list`: the sessions of this directory, or of all."""

import os
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nanocoder import Host, PersonError, one_line
from nanocoder_kit_files.table import print_table
from nanocoder_kit_sessions import SessionSummary, index_path, matches, session_store

MAX_TITLE, MIN_TITLE = 86, 12
DIRECTORY_COLUMNS: Final = 28
BEFORE_TITLE: Final = len("20261122-044755-ghdn  2026-11-22 04:47  prompts  ")
IN_JSON: Final = (
    "id",
    "started",
    "updated",
    "cwd",
    "model",
    "title",
    "prompts",
    "turns",
    "size",
    "forked_from",
)
EMPTY: Final = "{} without a model's answer not shown (--empty lists them)."
GONE: Final = "{} in directories that are gone: not shown (--gone lists them)."


def list_all(arguments: Namespace, host: Host) -> int:
    """Print the sessions as `sessions list` does without words."""
    return list_sessions(Namespace(**vars(arguments), words=[]), host)


def list_sessions(arguments: Namespace, host: Host) -> int:
    """Print the sessions that have a prompt, and of those without an answer how many there are."""
    prompted = [summary for summary in session_store(host).list() if summary.title]
    tags = _tags(host, is_needed=bool(arguments.tag))
    matching = [
        summary
        for summary in prompted
        if matches(summary, arguments.words)
        and (not arguments.tag or arguments.tag.lstrip("#").casefold() in tags.get(summary.id, ()))
    ]
    here = [summary for summary in matching if arguments.all or summary.cwd == str(host.cwd)]
    answered = [summary for summary in here if summary.is_answered or arguments.empty]
    listed = [each for each in answered if arguments.gone or _is_there(host, each)]
    if arguments.output == "json":
        host.print_json([_data(summary, tags) for summary in listed])
        return 0
    if listed:
        _print_list(host, arguments, listed, tags)
    else:
        host.print_line(_no_session(arguments, host))
    if len(here) > len(answered):
        host.say(EMPTY.format(len(here) - len(answered)))
    if len(answered) > len(listed):
        host.say(GONE.format(len(answered) - len(listed)))
    return 0


def _is_there(host: Host, summary: SessionSummary) -> bool:
    """Return True if the directory of a session exists; those of batches end with their tasks."""
    return summary.cwd == str(host.cwd) or os.path.isdir(summary.cwd)


def _no_session(arguments: Namespace, host: Host) -> str:
    where = "" if arguments.all else f" for {host.cwd}"
    words = " ".join(arguments.words)
    what = f" with {words!r} in its title or first prompt" if words else ""
    tagged = f" tagged {arguments.tag!r}" if arguments.tag else ""
    hint = "" if arguments.all else " (--all lists every directory)"
    return f"There is no session{where}{tagged}{what}{hint}."


def _tags(host: Host, *, is_needed: bool) -> Mapping[str, Sequence[str]]:
    """Return the tags of each session; before the first tag or search there is no index of them."""
    store = session_store(host)
    if not is_needed and not index_path(store).exists():
        return {}
    from nanocoder_kit_sessions.search_index import open_index  # it imports sqlite3

    try:
        with open_index(store, host.say) as index:
            return {session.id: session.tags for session in index.sessions().values()}
    except PersonError as error:
        if is_needed:
            raise
        host.say(f"tags are not shown: {error}")
        return {}


def _data(summary: SessionSummary, tags: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    facts = {name: getattr(summary, name) for name in IN_JSON}
    return {**facts, "tags": list(tags.get(summary.id, ()))}


def _print_list(
    host: Host,
    arguments: Namespace,
    sessions: Sequence[SessionSummary],
    tags: Mapping[str, Sequence[str]],
) -> None:
    columns = _title_columns(host.columns, DIRECTORY_COLUMNS if arguments.all else 0)
    ordered = list(in_tree(sessions)) if arguments.tree else [(each, 0) for each in sessions]
    rows = []
    for summary, depth in ordered:
        directory = (directory_of(summary.cwd, host.columns),) if arguments.all else ()
        tagged = tag_text(tags.get(summary.id, ()))
        origin = f"{'   ' * (depth - 1)}└─ {_place_of_fork(host, summary)}" if depth else ""
        room = max(MIN_TITLE, columns - len(origin) - len(tagged) - bool(tagged))
        title = f"{tagged} {title_of(summary, room, is_below=bool(depth))}".lstrip()
        rows.append((summary.id, last_used(summary), summary.prompts, *directory, origin + title))
    heading = ("directory",) if arguments.all else ()
    print_table(("session", "last used", "prompts", *heading, "title"), rows)


def in_tree(sessions: Sequence[SessionSummary]) -> Iterator[tuple[SessionSummary, int]]:
    """Yield each session and how deep it is in the tree of forks, forks after their origin."""
    ages = {summary.id: (summary.started, summary.id) for summary in sessions}
    forks: dict[str, list[SessionSummary]] = {}
    for summary in sessions:
        # No session can be a fork of a later one: a forged journal makes no circle.
        origin = ages.get(summary.forked_from)
        is_fork = origin is not None and origin < ages[summary.id]
        forks.setdefault(summary.forked_from if is_fork else "", []).append(summary)
    stack = [(summary, 0) for summary in reversed(forks.get("", []))]
    while stack:
        summary, depth = stack.pop()
        yield summary, depth
        stack += [(fork, depth + 1) for fork in reversed(forks.get(summary.id, []))]


def _place_of_fork(host: Host, summary: SessionSummary) -> str:
    """Return a clause with the prompt at which a fork begins, or the end of its origin."""
    first = next(iter(session_store(host).records(summary.id)), None)
    number = str(first.data.get("forked_at", "")) if first is not None else ""
    return f"at {number}: " if number.replace(".", "", 1).isdecimal() else ""


def tag_text(tags: Sequence[str]) -> str:
    """Return tags as they are shown."""
    return " ".join(f"#{tag}" for tag in tags)


def directory_of(path: str, columns: int) -> str:
    """Return the end of a session's directory, in *columns*."""
    home = os.environ.get("HOME", "")
    if home and (path == home or path.startswith(f"{home.rstrip('/')}/")):
        path = f"~{path[len(home.rstrip('/')) :]}"
    if not columns or len(path) <= DIRECTORY_COLUMNS:
        return path
    return f"…{path[1 - DIRECTORY_COLUMNS :]}"


def last_used(summary: SessionSummary) -> str:
    """Return the time of a session's last use, in local time."""
    return local_time(summary.updated)


def local_time(at: float) -> str:
    """Return a time in seconds since the epoch as local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def title_of(summary: SessionSummary, columns: int = MAX_TITLE, *, is_below: bool = False) -> str:
    """Return a session's title on one line; a fork that is shown below its origin needs no word."""
    is_fork = bool(summary.forked_from) and not is_below
    return one_line(f"{'fork: ' if is_fork else ''}{summary.title}", columns)


def _title_columns(width: int, directory: int) -> int:
    """Return the columns of the terminal left for a title, the maximum for a pipe."""
    columns = width - BEFORE_TITLE - directory
    return max(MIN_TITLE, min(MAX_TITLE, columns)) if width else MAX_TITLE
