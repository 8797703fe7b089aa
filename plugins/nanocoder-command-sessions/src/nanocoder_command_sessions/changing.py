"""`nanocoder sessions resume`, `fork`, `rename` and `remove`."""

import re
from argparse import Namespace
from typing import Final

from nanocoder import Host, UsageError
from nanocoder_kit_sessions import remove as remove_session
from nanocoder_kit_sessions import remove_old, session_store
from nanocoder_kit_sessions import restore as restore_session

from nanocoder_command_sessions import archive
from nanocoder_command_sessions.listing import last_used, title_of

PLACE: Final = re.compile(r"(\d{1,9})(?:\.([1-9]\d{0,8}))?")
NEEDS_PERSON: Final = 3
"""Exit code without a person to ask."""
NOT_CONFIRMED: Final = "Not removed: no terminal to confirm on. Pass --yes or the full ID: {}"


def resume(arguments: Namespace, host: Host) -> int:
    """Continue a session in a conversation."""
    return host.chat(host.sessions.find(arguments.id, cwd=host.cwd))


def fork(arguments: Namespace, host: Host) -> int:
    """Start a session with the messages of another, and print its ID."""
    store = session_store(host)
    origin = store.find(arguments.id, cwd=host.cwd)
    number, replies = (0, 0) if arguments.at is None else _place(arguments.at)
    session_id = archive.fork(store, origin, number=number, replies=replies)
    if arguments.output == "json":
        host.print_json({"session_id": session_id})
        return 0
    host.print_line(session_id)
    host.say(
        f"To resume: nanocoder sessions resume {session_id},"
        f' or nanocoder run --session {session_id} "PROMPT"'
    )
    return 0


def _place(words: str) -> tuple[int, int]:
    """Return the prompt and the number of replies that N or N.M means; raises UsageError."""
    match = PLACE.fullmatch(words)
    if match is None:
        raise UsageError(f"--at {words}: give the number of a prompt, or PROMPT.REPLIES, as in 3.2")
    return prompt_number("--at", int(match[1])), int(match[2] or 0)


def prompt_number(option: str, number: int) -> int:
    """Return the number that *option* has; raises UsageError where no prompt can have it."""
    if number < 1:
        raise UsageError(f"{option} {number}: prompts are numbered from 1")
    return number


def rename(arguments: Namespace, host: Host) -> int:
    """Give a session a title."""
    title = " ".join(arguments.title)
    session_id = archive.rename(session_store(host), arguments.id, title, host.cwd)
    host.print_line(f"Renamed: {session_id}")
    return 0


def remove(arguments: Namespace, host: Host) -> int:
    """Delete a session, if the person agrees, or put all old ones into the trash."""
    if arguments.old:
        days = host.config.core.keep_sessions_days
        if not remove_old(session_store(host), days, host.print_line, is_sure=True):
            host.print_line("No session is old enough.")
        return 0
    if arguments.id is None:
        raise UsageError("name the session to remove, or pass --old")
    session_id = session_store(host).find(arguments.id, cwd=host.cwd)
    # A full ID names one session for certain, so scripts need not confirm it.
    if not arguments.yes and (host.is_interactive or arguments.id != session_id):
        session = f"{session_id}{_description(host, session_id)}"
        if not host.is_interactive:
            host.say(NOT_CONFIRMED.format(session))
            return NEEDS_PERSON
        host.print_line(session)
        if not host.agrees("Remove it with its backups and outputs?"):
            host.print_line("Not removed.")
            return 0
    remove_session(session_store(host), session_id)
    host.print_line(f"Removed: {session_id}")
    return 0


def restore(arguments: Namespace, host: Host) -> int:
    """Restore a session from the trash, or list the trash."""
    store = session_store(host)
    if arguments.id is not None:
        host.print_line(f"Restored: {restore_session(store, arguments.id)}")
        return 0
    for summary in store.trash.list():
        host.print_line(f"{summary.id}  {title_of(summary) or 'no prompt'}")
    if not store.trash.ids():
        host.print_line("The trash is empty.")
    return 0


def _description(host: Host, session_id: str) -> str:
    for summary in session_store(host).list():
        if summary.id == session_id:
            return f", last used {last_used(summary)}: {title_of(summary) or 'no prompt'}"
    return ""
