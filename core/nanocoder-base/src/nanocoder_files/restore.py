"""Revert changes, the last one first. It may be repeated: a restored change is skipped.

`Restore` has the steps, which are the same on the disk and in the plan of an undo. Three users
have their own rules: a failed call, the next session after a kill, and a person who undoes a run.
The next session calls `recover` before anything else.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from attrs import field
from nanocoder_schema import ToolError, mutable

from nanocoder_files.backups import Backup, keep_copy
from nanocoder_files.beneath import LISTING, NewFolders, Place
from nanocoder_files.change import Change, FileState
from nanocoder_files.change_log import (
    ChangeLog,
    LoggedChange,
    discard_orphaned_logs,
    remove_noted_files,
    take_over_logs,
)
from nanocoder_files.paths import WorkspaceError, escape_path
from nanocoder_files.private_files import folder_for, lock_file, remove_if_empty
from nanocoder_files.root import Root
from nanocoder_files.snapshot import KnownFiles
from nanocoder_files.writing import is_temporary, open_regular, put, state_of, temporary_name

MAX_COPIES: Final = 1_000
NOT_EMPTY: Final = {errno.ENOTEMPTY, errno.EEXIST}
FOLDER_GONE: Final = (FileNotFoundError, NotADirectoryError)

P = TypeVar("P")
"""A located path: an open `Place` on the disk, or a name in a plan."""


class Restore(Protocol[P]):
    """Reverts changes; a subclass accesses the files."""

    def take_back(self, change: Change) -> None:
        """Revert *change*; one that was not made, or is already restored, is skipped."""
        (self._move_back if change.target else self._put_back)(change)

    def _put_back(self, change: Change) -> None:
        try:
            # Reverting a new file needs no directory.
            located = self._locate(change.path, make=change.before.exists)
        except FOLDER_GONE:
            if not change.before.exists:
                return
            raise
        with located as place:
            now = self._state(place)
            if now.resembles(change.before) and now.mode == change.before.mode:
                self._restored(change)
            elif (
                now.resembles(change.after)
                or (now.is_directory and change.before.is_directory)  # killed before its mode
                or self._may_replace(place, now, change)
            ):
                self._put(place, change)
                self._restored(change)

    def _move_back(self, change: Change) -> None:
        with self._locate(change.path, make=True) as here:
            state = self._state(here)
            try:
                located = self._locate(change.target, make=False)
            except FOLDER_GONE:
                if state.resembles(change.after):
                    return  # the move was not begun, or is already reverted
                raise
            with located as there:
                if not self._rename_back(here, there, state, change):
                    return
                if change.before.exists and not self._state(there).exists:
                    self._put(there, change)
        self._restored(change)

    def _rename_back(self, here: P, there: P, state: FileState, change: Change) -> bool:
        """Rename a file back; return False if another file is in the way."""
        now = self._state(there)
        if state.exists:
            if state.resembles(change.after):
                if now.exists:
                    self._drop_second_name(here, there)
                return True
        elif now.exists and (now.resembles(change.after) or self._may_replace(there, now, change)):
            self._rename(there, here, change)
            return True
        self._lose_move(change, state)
        return False

    def _locate(self, path: str, *, make: bool) -> AbstractContextManager[P]:
        """Locate *path*, with *make* creating its directories; raises OSError."""

    def _state(self, place: P) -> FileState:
        """Return the state of *place*."""

    def _put(self, place: P, change: Change) -> None:
        """Restore the state of *place* before *change*."""

    def _rename(self, there: P, here: P, change: Change) -> None:
        """Rename *there* back to *here*."""

    def _drop_second_name(self, here: P, there: P) -> None:  # noqa: ARG002
        """Remove *there* if a kill between two steps left one file with both names."""
        return

    def _may_replace(self, place: P, now: FileState, change: Change) -> bool:
        """Return True if *place* may be replaced, though it changed after *change*."""

    def _lose_move(self, change: Change, state: FileState) -> None:
        """Record that a file cannot get its old name, which has *state* now."""

    def _restored(self, change: Change) -> None:  # noqa: ARG002
        """Record that *change* was reverted."""
        return


@mutable
class LogRestore(Restore[Place]):
    """Reverts logged changes on the disk; *failed*: a later session should try again.

    *lost* has a line for each path that was not restored, *copies* the paths of copies of replaced
    contents. The rules are those of the next session after a kill, unless *is_live*: a call that
    reverts its own changes creates missing directories again, and updates *known_files*.
    A file that was changed since is not touched, unless the call *replaces* it: processes that it
    started have written it, and *keep_copy* gets its content.
    """

    root: Root
    keep_copy: Backup | None
    known_files: KnownFiles = field(factory=KnownFiles)
    _is_live: bool = False
    _replaces: bool = False
    lost: dict[str, str] = field(factory=dict)
    copies: dict[str, Path] = field(factory=dict)
    failed: bool = False
    _paths: list[str] = field(factory=list)
    _saved: Callable[[], bytes] = bytes
    _temporary: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths restored so far."""
        paths = [path for path in dict.fromkeys(reversed(self._paths)) if path not in self.lost]
        return tuple(map(escape_path, paths))

    def undo(self, log: ChangeLog, change: LoggedChange) -> None:
        """Revert one change of *log*, and mark it there."""
        path = change.changed_path
        self._saved = partial(log.data, change)
        is_named = is_temporary(change.temporary)  # a log may be damaged
        self._temporary = change.temporary if is_named else temporary_name("")
        try:
            if path not in self.lost:
                self.take_back(change)
            if path not in self.lost and change.path not in self.lost:
                with suppress(OSError):  # without the mark it is checked again, and skipped
                    log.mark_restored(change)
        except FOLDER_GONE:
            self.failed = self.failed or self._is_live
            self._report_lost(path, "could not be restored, because its folder is gone")
        except (OSError, WorkspaceError, ValueError, OverflowError) as error:
            self.failed = True
            reason = getattr(error, "strerror", None) or str(error)
            self._report_lost(change.path, f"could not be restored: {reason}")

    def _locate(self, path: str, *, make: bool) -> Place:
        new_folders = NewFolders() if make and self._is_live else None
        return self.root.locate(path, follow=False, new_folders=new_folders)

    def _state(self, place: Place) -> FileState:
        """Return the state of *place*, after removing a killed write's temporary file."""
        with suppress(OSError):  # it does not exist, or the disk is read-only
            os.unlink(self._temporary, dir_fd=place.fd)
        return state_of(place)

    def _put(self, place: Place, change: Change) -> None:
        try:
            put(place, change.before, self._saved(), self._temporary)
        except OSError as error:
            # A directory created by the call stays while it contains others' files.
            if error.errno not in NOT_EMPTY or not change.after.is_directory:
                raise
            return
        self._paths.append(change.changed_path)

    def _rename(self, there: Place, here: Place, change: Change) -> None:
        os.rename(there.name, here.name, src_dir_fd=there.fd, dst_dir_fd=here.fd)
        self._paths.append(change.path)
        self.known_files.move(change.target, change.path)

    def _restored(self, change: Change) -> None:
        """Restore the known version of the file before its change."""
        version = change.version if isinstance(change, LoggedChange) else ""
        self.known_files.note(change.changed_path, version)

    def _drop_second_name(self, here: Place, there: Place) -> None:
        if os.path.samestat(here.stat(), there.stat()):
            os.unlink(there.name, dir_fd=there.fd)

    def _may_replace(self, place: Place, now: FileState, change: Change) -> bool:
        path = change.changed_path
        if not self._replaces:
            self._report_lost(path, "has changed since and was left as it is")
        elif self.keep_copy is not None and now.is_file:
            with open_regular(place) as file:
                self.copies[path] = self.keep_copy(path, file.read())
        return self._replaces

    def _lose_move(self, change: Change, state: FileState) -> None:  # noqa: ARG002
        target = escape_path(change.target)
        self._report_lost(change.path, f"was moved to {target!r} and could not be moved back")

    def _report_lost(self, path: str, reason: str) -> None:
        self.lost.setdefault(path, f"{escape_path(path)!r} {reason}")


def recover(base: Path, root: Path) -> list[str]:
    """Revert the changes of killed transactional calls in *root*.

    The temporary file of a killed write is removed. *base* is the directory of the change logs.
    Returns lines for the person, none if nothing was to be done. Logs of live processes stay.
    Raises: OSError, WorkspaceError.
    """
    folder = folder_for(base, Path(os.path.realpath(root)))
    try:
        # For nearly every session there is no such directory.
        guard = os.open(folder, LISTING)
    except FileNotFoundError:
        return []
    try:
        # A second session waits here until the first one has finished.
        lock_file(guard)
        with closing(Root(root)) as opened:
            remove_noted_files(folder, opened)
            # All logs first, because changes are reverted by time, not log by log.
            logs = list(take_over_logs(folder))
            restore = LogRestore(opened, partial(keep_copy, base.parent / "kept", MAX_COPIES))
            return _take_back(logs, restore) if logs else []
    finally:
        os.close(guard)
        remove_if_empty(folder)


def recover_all(base: Path, root: Path, own_folders: Iterable[Path]) -> list[str]:
    """Revert killed calls in *root*, and remove logs of directories in *own_folders* that are gone.

    Returns lines for the person, including errors.
    """
    try:
        lines = recover(base, root)
        if base.is_dir():
            discard_orphaned_logs(base, own_folders)
    except (OSError, ToolError) as error:
        return [f"{base}: unfinished changes of an earlier session could not be checked: {error}"]
    return lines


def _take_back(logs: list[ChangeLog], restore: LogRestore) -> list[str]:
    # Calls that were killed together may have changed the same files.
    changes = [(change, log) for log in logs for change in log.changes]
    for change, log in sorted(changes, key=lambda pair: pair[0].at, reverse=True):
        restore.undo(log, change)
        path = change.changed_path
        if path in restore.lost and change.before.is_file and restore.keep_copy is not None:
            try:
                # The last copy is the one of the oldest content.
                restore.copies[path] = restore.keep_copy(path, log.data(change))
            except (OSError, ValueError):
                restore.failed = True  # the log stays, as it has the only copy
    for log in logs:
        log.close() if restore.failed else log.remove()
    titles = " and ".join(dict.fromkeys(log.title for log in logs if log.changes))
    return list(_messages(titles, restore))


def _messages(titles: str, restore: LogRestore) -> Iterator[str]:
    if restore.paths:
        yield f"{titles} was interrupted; restored: {', '.join(restore.paths)}"
    for path, line in restore.lost.items():
        copy = restore.copies.get(path)
        place = f"; its earlier content is in {copy}" if copy else ""
        yield f"{line}{place} [a call was interrupted]"
    if restore.failed:
        yield "the next session here tries again to restore the rest"
