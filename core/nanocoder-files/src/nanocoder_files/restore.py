"""Taking changes back, the last one first. It may be repeated: a restored change is left alone."""

import errno
import os
from contextlib import suppress
from typing import Final, Protocol

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.beneath import NewFolders, Place
from nanocoder_files.change_log import ChangeLog, LoggedChange
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.file_state import DIRECTORY, NOTHING, FileState, is_same, put, state_of
from nanocoder_files.path_text import escape_path
from nanocoder_files.root import Root

NOT_EMPTY: Final = {errno.ENOTEMPTY, errno.EEXIST}
CHANGED_SINCE: Final = "has changed since and was left as it is"


@frozen(eq=False, repr=False)
class Restored(Value):
    """The *paths* that were put back, in the order in which they had been changed.

    *lost* has a line for each path that is not as it was. *then* says what happens next to paths
    that could not be put back, and where the copies are of files that were replaced.
    """

    paths: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    then: str = ""


class RestoreRules(Protocol):
    """How changes are taken back: by the call itself, or after its process was killed.

    With *makes_folders* a folder that is gone is made again, and with *retries_folders* a change in
    one that cannot be made is tried again later.
    """

    makes_folders: bool
    retries_folders: bool

    def prepare(self, place: Place) -> None:
        """Make *place* ready to be looked at."""

    def may_replace(self, place: Place, path: str) -> bool:
        """Tell whether *place* may be replaced, though it is not as the call has left it."""

    def moved_back(self, change: LoggedChange) -> None:
        """Take note that a thing has its old name again."""

    def restored(self, change: LoggedChange) -> None:
        """Take note that *change* was taken back."""


class Restore:
    """Takes changes back by *rules*; *failed* tells whether to try once more later.

    *lost* has a line for each path that is not as it was.
    """

    def __init__(self, root: Root, rules: RestoreRules) -> None:
        self._root = root
        self._rules = rules
        self._paths: list[str] = []
        self.lost: dict[str, str] = {}
        self.failed = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that were put back so far."""
        paths = [path for path in dict.fromkeys(reversed(self._paths)) if path not in self.lost]
        return tuple(map(escape_path, paths))

    def undo(self, log: ChangeLog, change: LoggedChange) -> None:
        """Take one change back; one that was not made, or is restored, is left as it is."""
        path = change.changed_path
        try:
            if path not in self.lost:
                undo = self._move_back if change.target else self._put_back
                undo(log, change)
            if path not in self.lost and change.path not in self.lost:
                with suppress(OSError):  # without the mark it is looked at again, and is as it was
                    log.mark_restored(change)
        except (FileNotFoundError, NotADirectoryError):
            self.failed = self.failed or self._rules.retries_folders
            self._lose(path, "could not be restored, because its folder is gone")
        except (OSError, WorkspaceError, ValueError, OverflowError) as error:
            self.failed = True
            reason = getattr(error, "strerror", None) or str(error)
            self._lose(change.path, f"could not be restored: {reason}")

    def _put_back(self, log: ChangeLog, change: LoggedChange) -> None:
        try:
            place = self._locate(change.path, make=change.before.kind != NOTHING)
        except (FileNotFoundError, NotADirectoryError):
            if change.before.kind == NOTHING:
                return
            raise
        with place:
            self._rules.prepare(place)
            now = state_of(place)
            if now.resembles(change.before) and now.mode == change.before.mode:
                self._rules.restored(change)
            elif (
                now.resembles(change.after)
                or now.kind == change.before.kind == DIRECTORY  # killed before it had its mode
                or self._may_replace(place, change.path)
            ):
                self._put(place, change, log.data(change))
                self._rules.restored(change)

    def _move_back(self, log: ChangeLog, change: LoggedChange) -> None:
        with self._locate(change.path, make=True) as here:
            state = state_of(here)
            try:
                there = self._locate(change.target)
            except (FileNotFoundError, NotADirectoryError):
                if state.resembles(change.after):
                    return  # the move was not begun, or has been taken back
                raise
            with there:
                self._rules.prepare(there)
                if not self._rename_back(here, there, state, change):
                    return
                if change.before.kind != NOTHING and state_of(there).kind == NOTHING:
                    self._put(there, change, log.data(change))
        self._rules.restored(change)

    def _rename_back(
        self, here: Place, there: Place, state: FileState, change: LoggedChange
    ) -> bool:
        """Give a thing its old name; False where something else is in the way."""
        now = state_of(there)
        if state.kind != NOTHING:
            if state.resembles(change.after):
                if now.kind != NOTHING and is_same(here, there):
                    os.unlink(there.name, dir_fd=there.fd)  # killed between two names
                return True
        elif now.kind != NOTHING and (
            now.resembles(change.after) or self._may_replace(there, change.target)
        ):
            os.rename(there.name, here.name, src_dir_fd=there.fd, dst_dir_fd=here.fd)
            self._paths.append(change.path)
            self._rules.moved_back(change)
            return True
        self._lose(
            change.path, f"was moved to {escape_path(change.target)!r} and could not be moved back"
        )
        return False

    def _may_replace(self, place: Place, path: str) -> bool:
        may_replace = self._rules.may_replace(place, path)
        if not may_replace:
            self._lose(path, CHANGED_SINCE)
        return may_replace

    def _put(self, place: Place, change: LoggedChange, data: bytes) -> None:
        try:
            put(place, change.before, data)
        except OSError as error:
            # A directory that the call has made stays while others have something in it.
            if error.errno not in NOT_EMPTY or change.after.kind != DIRECTORY:
                raise
            return
        self._paths.append(change.changed_path)

    def _locate(self, path: str, *, make: bool = False) -> Place:
        new_folders = NewFolders() if make and self._rules.makes_folders else None
        return self._root.beneath.locate(path, follow=False, new_folders=new_folders)

    def _lose(self, path: str, reason: str) -> None:
        self.lost.setdefault(path, f"{escape_path(path)!r} {reason}")
