"""Removal of stored sessions.

A session that a user removes is deleted. One that is removed for its age is moved to a trash first,
because its age depends on the clock, which may be wrong.
"""

import errno
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import UsageError, counted
from nanocoder_files import private_directory

from nanocoder_kit_sessions.snapshots import GitStore, SnapshotError, read_entries
from nanocoder_kit_sessions.store import SessionStore

DAY_S: Final = 86_400.0
TRASH_DAYS: Final = 7
"""Days of use of nanocoder before a session in the trash is deleted."""
REMOVED: Final = (
    "{} unused for {} days went to the trash, for {} days on which nanocoder is used;"
    " `nanocoder sessions restore` lists them"
)
REFUSED: Final = (
    "{} of {} are unused for {} days by the clock, so none was removed: the clock may be wrong. If"
    " it is right: nanocoder sessions remove --old"
)


def remove(store: SessionStore, name: str) -> None:
    """Delete a session and its artifacts; raises UsageError, also for a session in use."""
    _delete(store, store.find(name), store.folder.parent)


def restore(store: SessionStore, name: str) -> str:
    """Take a session out of the trash and return its ID; raises UsageError."""
    session_id = store.trash.find(name)
    _move(store.trash, store, session_id)
    store.order.note(session_id)
    return session_id


def remove_old(
    store: SessionStore,
    keep_days: int,
    say: Callable[[str], object] = lambda _line: None,
    *,
    is_sure: bool = False,
) -> int:
    """Move sessions unused for *keep_days* days (0: none) to the trash; return their number.

    Never moves a session that was used after one that stays, and moves none if that would be most
    of them, unless *is_sure* confirms the clock. *say* gets a line if any are due.
    """
    if keep_days <= 0:
        return 0
    _empty_trash(store)
    oldest = time.time() - keep_days * DAY_S
    everything = store.in_order_of_use()
    old = _leading(store, everything, oldest)
    if 2 * len(old) > len(everything) and not is_sure:
        say(REFUSED.format(f"{len(old):,}", counted(len(everything), "session"), keep_days))
        return 0
    removed = [session_id for session_id in old if _put_into_trash(store, session_id)]
    if removed:
        say(REMOVED.format(counted(len(removed), "session"), keep_days, TRASH_DAYS))
    with suppress(OSError):
        store.order.shorten({*everything, *store.trash.ids()})
    return len(removed)


def _leading(store: SessionStore, session_ids: Sequence[str], oldest: float) -> list[str]:
    """Return the ids of *session_ids* before the first session used since *oldest*."""
    old = []
    for session_id in session_ids:
        try:
            if store.path(session_id).lstat().st_mtime >= oldest:
                break
        except OSError:
            continue
        old.append(session_id)
    return old


def _put_into_trash(store: SessionStore, session_id: str) -> bool:
    try:
        _move(store, store.trash, session_id)
    except UsageError:  # it is in use, or another user's
        return False
    store.order.note(session_id)  # starts the retention period in the trash
    return True


def _empty_trash(store: SessionStore) -> None:
    for session_id in store.trash.ids():
        if store.order.days_since(session_id) >= TRASH_DAYS:
            with suppress(UsageError):
                _delete(store.trash, session_id, store.folder.parent)


def _move(source: SessionStore, target: SessionStore, session_id: str) -> None:
    """Move a session, the journal last, so that a killed move can be repeated."""
    descriptor, path = source.lock(session_id), source.path(session_id)
    try:
        private_directory(target.folder)
        for name in (session_id, f"{session_id}.jsonl.bak", path.name):
            with suppress(FileNotFoundError):
                os.rename(source.folder / name, target.folder / name)
        os.utime(target.path(session_id))
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(descriptor)


def _delete(store: SessionStore, session_id: str, state: Path) -> None:
    """Delete a session of *store*, whose snapshots are below *state*; raises UsageError."""
    descriptor, path = store.lock(session_id), store.path(session_id)
    try:
        if not os.access(path.parent, os.W_OK):  # else the copies would go and the journal stay
            raise PermissionError(errno.EACCES, "its directory cannot be written")
        roots = {entry.root for entry in read_entries(path.with_suffix(""))}
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        path.with_suffix(".jsonl.bak").unlink(missing_ok=True)
        path.unlink()
        for root in roots:
            with suppress(SnapshotError):  # without git nothing can be taken out
                GitStore(state, Path(root)).forget(session_id)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(descriptor)


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: {error.strerror}", error_class="session_unreadable")
