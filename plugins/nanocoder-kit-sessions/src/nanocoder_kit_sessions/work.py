"""The sessions in which something was done, or which words mean, and where their index is."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from nanocoder_kit_sessions.store import SessionStore, SessionSummary

STARTS_OF_WORK: Final = frozenset({"run.started", "call.started"})


def sessions_with_work(store: SessionStore, cwd: Path) -> Iterator[SessionSummary]:
    """Yield the sessions of *cwd*, the last used first, without forks that were not continued."""
    directory = str(cwd.resolve())
    for summary in store.list():
        if summary.cwd == directory and (not summary.forked_from or _has_run(store, summary.id)):
            yield summary


def matches(summary: SessionSummary, words: Sequence[str]) -> bool:
    """Return True if the title or the first prompt has all *words*, in upper or lower case."""
    text = f"{summary.title}\n{summary.prompt}".casefold()
    return all(word.casefold() in text for word in words)


def index_path(store: SessionStore) -> Path:
    """Return the file of the index of all sessions, which need not be there."""
    return store.folder.parent / "search" / "sessions.sqlite"


def _has_run(store: SessionStore, session_id: str) -> bool:
    return any(record.kind in STARTS_OF_WORK for record in store.records(session_id))
