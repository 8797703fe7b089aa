"""Stored sessions as a whole: read, copy and name them."""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nanocoder import PersonError, UsageError
from nanocoder_kit_sessions import Record, SessionStore, Transcript, store_message
from nanocoder_kit_sessions.prompts import end_of_replies, find_prompt
from nanocoder_kit_sessions.transcript import repaired

ID: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{4}")


def read_session(
    store: SessionStore, name: str, cwd: Path | None = None
) -> tuple[Sequence[Record], Transcript]:
    """Return the records and the transcript of a session, or of a sub-agent by its ID.

    Raises: UsageError.
    """
    return _all_of(*_place_of(store, name, cwd))


def is_in_use(store: SessionStore, name: str, cwd: Path | None) -> bool:
    """Return True if a process works on a session, or on a sub-agent's; raises UsageError."""
    owner, session_id = _place_of(store, name, cwd)
    try:
        os.close(owner.lock(session_id))
    except UsageError as error:
        return error.error_class == "session_in_use"
    return False


def _place_of(store: SessionStore, name: str, cwd: Path | None) -> tuple[SessionStore, str]:
    if ID.fullmatch(name):
        # A sub-agent's journal lies with its session's files.
        for journal in store.folder.glob(f"*/sessions/{name}.jsonl"):
            return SessionStore(journal.parent.parent), name
    return store, store.find(name, cwd=cwd)


def _all_of(store: SessionStore, session_id: str) -> tuple[Sequence[Record], Transcript]:
    records = store.records(session_id)
    folder = store.path(session_id).with_suffix("")
    return records, repaired(records, folder, for_people=True)


def fork(
    store: SessionStore,
    origin: str,
    cwd: Path | None = None,
    number: int = 0,
    replies: int = 0,
) -> str:
    """Start a session with the messages of another, which may be in use; return its ID.

    With a *number* it gets only the messages before that prompt, and with *replies* also the
    prompt and its first replies.
    Raises: UsageError (session_not_found, session_unreadable), PersonError if sessions cannot be
    saved.
    """
    origin = store.find(origin, cwd=cwd)
    records = store.records(origin)
    if not records:
        raise _unreadable(f"{store.path(origin)}: it has no intact record")
    before = _end(records, number, replies)
    past, title = store.transcript(origin, before=before), store.transcript(origin).title
    facts = {"title": title} if title else {}
    if number:
        facts["forked_at"] = f"{number}.{replies}" if replies else str(number)
    session_id, journal = store.create(
        Path(past.cwd) if cwd is None else cwd,
        past.model,
        past.mode,
        origin={**facts, "forked_from": origin},
    )
    for message in past.messages:
        journal.append("message", store_message(message, journal.artifact))
    journal.close()
    if journal.artifacts is None:
        raise PersonError("the new session could not be kept")
    return session_id


def _end(records: Sequence[Record], number: int, replies: int) -> float:
    if not number:
        return math.inf
    return end_of_replies(records, number, replies) if replies else find_prompt(records, number).seq


def rename(store: SessionStore, name: str, title: str, cwd: Path | None = None) -> str:
    """Give an idle session a title, and return its ID; raises UsageError."""
    session_id = store.find(name, cwd=cwd)
    _, journal = store.take(session_id)
    try:
        journal.rename(title)
    finally:
        journal.close()
    if journal.problem:
        raise _unreadable(journal.problem)
    return session_id


def _unreadable(problem: str) -> UsageError:
    return UsageError(problem, error_class="session_unreadable")
