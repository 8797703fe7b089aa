"""Stored sessions as a whole: read, copy and name them."""

import re
from pathlib import Path
from typing import Final

from nanocoder import PersonError, UsageError, encode_message
from nanocoder_kit_sessions import SessionStore, Transcript

ID: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{4}")


def read_transcript(store: SessionStore, name: str, cwd: Path | None = None) -> Transcript:
    """Return the transcript of a session, or of a sub-agent by its ID; raises UsageError."""
    if ID.fullmatch(name):
        # A sub-agent's journal lies with its session's files.
        for journal in store.folder.glob(f"*/sessions/{name}.jsonl"):
            return SessionStore(journal.parent.parent).transcript(name)
    return store.transcript(store.find(name, cwd=cwd))


def fork(store: SessionStore, origin: str, cwd: Path | None = None) -> str:
    """Start a session with the messages of another, which may be in use; return its ID.

    Raises: UsageError (session_not_found, session_unreadable), PersonError where nothing can be
    kept.
    """
    origin = store.find(origin, cwd=cwd)
    if not store.records(origin):
        raise _unreadable(f"{store.path(origin)}: there is no whole record in it")
    past = store.transcript(origin)
    title = {"title": past.title} if past.title else {}
    session_id, journal = store.create(
        Path(past.cwd) if cwd is None else cwd,
        past.model,
        past.mode,
        origin={**title, "forked_from": origin},
    )
    for message in past.messages:
        journal.append("message", encode_message(message, journal.artifact))
    journal.close()
    if journal.path is None:
        raise PersonError("the new session could not be kept")
    return session_id


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
