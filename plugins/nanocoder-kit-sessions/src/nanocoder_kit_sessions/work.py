"""The sessions in which something was done."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nanocoder import SessionStore, SessionSummary

STARTS_OF_WORK: Final = frozenset({"run.started", "call.started"})


def sessions_with_work(store: SessionStore, cwd: Path) -> Iterator[SessionSummary]:
    """Yield the sessions of *cwd*, the last used first, without forks that were not continued."""
    directory = str(cwd.resolve())
    for summary in store.list():
        if summary.cwd == directory and (not summary.forked_from or _has_run(store, summary.id)):
            yield summary


def _has_run(store: SessionStore, session_id: str) -> bool:
    return any(record.kind in STARTS_OF_WORK for record in store.records(session_id))
