"""Stored sessions that are not wanted any more."""

import errno
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import UsageError
from nanocoder_kit_snapshots import GitStore, SnapshotError, read_entries

from nanocoder_kit_sessions.store import SessionStore

DAY_S: Final = 86_400.0


def remove(store: SessionStore, name: str) -> None:
    """Delete a session and its artifacts; raises UsageError also while somebody uses it."""
    session_id = store.find(name)
    descriptor, path = store.lock(session_id), store.path(session_id)
    try:
        roots = {entry.root for entry in read_entries(path.with_suffix(""))}
        _delete(path)
        for root in roots:
            with suppress(SnapshotError):  # without git nothing can be taken out
                GitStore.of_session(path.with_suffix(""), Path(root)).forget(session_id)
    except OSError as error:
        problem = f"{path}: {error.strerror}"
        raise UsageError(problem, error_class="session_unreadable") from None
    finally:
        os.close(descriptor)


def remove_old(store: SessionStore, keep_days: int) -> int:
    """Delete sessions unused for *keep_days* days (0: keep all); return how many."""
    if keep_days <= 0:
        return 0
    oldest = time.time() - keep_days * DAY_S
    removed = 0
    for session_id in store.ids():
        with suppress(OSError, UsageError):
            if store.path(session_id).lstat().st_mtime < oldest:
                remove(store, session_id)
                removed += 1
    return removed


def _delete(path: Path) -> None:
    if not os.access(path.parent, os.W_OK):  # else the copies would go and the journal stay
        raise PermissionError(errno.EACCES, "its directory cannot be written")
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    path.with_suffix(".jsonl.bak").unlink(missing_ok=True)
    path.unlink()
