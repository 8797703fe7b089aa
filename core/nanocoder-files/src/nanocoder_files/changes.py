"""Every change to a file of the workspace."""

import contextlib
import errno
import os
import stat as mode_of
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from nanocoder_files.backups import Backups
from nanocoder_files.beneath import NewFolders, Place
from nanocoder_files.change import Change, announcement
from nanocoder_files.content import digest
from nanocoder_files.errors import FULL, WorkspaceError
from nanocoder_files.file_state import FileKind, FileState, state_of
from nanocoder_files.path_text import escape_path
from nanocoder_files.protected import git_refused, is_git_name
from nanocoder_files.reader import MAX_BYTES
from nanocoder_files.root import READ, Root, check_regular
from nanocoder_files.snapshot import KnownFiles
from nanocoder_files.write_note import WriteNote
from nanocoder_files.writing import (
    Old,
    Pieces,
    Written,
    check_unchanged,
    content_of,
    read_old,
    rename,
    replace,
    stale,
    sync_directory,
)

if TYPE_CHECKING:
    from nanocoder_files.rollback import Rollback
    from nanocoder_files.snapshot import Snapshot

ChangeListener = Callable[[Mapping[str, Any]], object]
"""Is called with each change before it is made."""
DIGEST_BYTES: Final = 8_000_000
"""Up to this size a file that is moved is read: one can tell later whether it is the same."""


@define(eq=False, repr=False)
class Changes:
    """Writes, deletes and moves below *root*; *listener* is called before each.

    Changes of a call are logged for its *rollback*, and only paths that are as its *snapshot* saw
    them are changed.
    """

    _root: Root
    _backups: Backups | None
    _listener: ChangeListener | None
    write_note: WriteNote
    known_files: KnownFiles = field(factory=KnownFiles)
    # Two threads must not both find a file unchanged and then both replace it.
    lock: contextlib.AbstractContextManager[object] = field(factory=threading.RLock)
    _rollback: "Rollback | None" = None
    _snapshot: "Snapshot | None" = None

    def _new_folders(self) -> NewFolders:
        folder = FileState(FileKind.DIRECTORY)
        return NewFolders(lambda path: self._log(Change(path, FileState(), folder)))

    def write(
        self,
        raw: str,
        pieces: Pieces,
        *,
        expect_digest: str | None,
        expect: bytes | None,
        create_parents: bool,
        mode: int | None = None,
    ) -> Written:
        """Replace or create a file; see `Workspace.write_bytes`."""
        _refuse_git(raw)
        folders = self._new_folders() if create_parents else None
        with (
            self.lock,
            self._removing_folders(raw, folders),
            self._root.place(raw, new_folders=folders) as place,
        ):
            self._refuse_names(place)
            old = self._old(place, expect)
            self._check_seen(raw, place, old.status if old else None, old)
            self.known_files.check(place.path, old)
            if expect is None:
                self._check(place, old, expect_digest)
            elif old is None or old.data != expect:
                raise stale(escape_path(place.path))
            size = sum(map(len, pieces))

            def log() -> str:
                new = digest(*pieces)
                change = Change(place.path, self._before(old), FileState(FileKind.FILE, new, size))
                self._log(change, old, backup)
                return new

            with self._backup(place, old) as backup:
                # A rollback logs the change before there is even a new file beside the old one.
                early = log() if self._rollback is not None else None
                with self.write_note.file(place) as name:
                    new = replace(place, name, pieces, old, mode, meanwhile=lambda: early or log())
            is_part = expect is not None or expect_digest
            # After a change of one part, the rest of a file that was never read is still unknown.
            if not old or not is_part or place.path in self.known_files:
                self.known_files[place.path] = new
            self._changed(raw, place.path)
        path, before = escape_path(place.path), old.data if old else None
        return Written(path, old is None, size, new, backup, before)

    def delete(self, raw: str) -> Path | None:
        """Delete a file, or a link itself; see `Workspace.delete`."""
        with self.lock, self._errors(raw), self._root.place(raw, follow=False) as place:
            self._refuse(place)
            status = place.stat()
            old = self._old(place) if mode_of.S_ISREG(status.st_mode) else None
            self._check_seen(raw, place, status, old)
            self.known_files.check(place.path, old)
            with self._backup(place, old) as backup:
                if old:
                    check_unchanged(place, old)
                before = self._before(old) if old else self._state(place, status)
                self._log(Change(place.path, before, FileState()), old, backup)
                os.unlink(place.name, dir_fd=place.fd)
            sync_directory(place.fd)
            self.known_files.pop(place.path, None)
            self._changed(raw, place.path)
        return backup

    def move(self, source: str, target: str, *, overwrite: bool) -> Written:
        """Rename a file, link or directory; see `Workspace.move`."""
        folders = self._new_folders()
        with (
            self.lock,
            self._removing_folders(target, folders),
            self._root.place(source, follow=False) as here,
            self._root.place(target, follow=False, new_folders=folders) as there,
        ):
            for place in (here, there):
                self._refuse(place, directories=True)
            status = self._status(here, source)
            self._check_seen(source, here, status)
            if here.path in self.known_files and mode_of.S_ISREG(status.st_mode):
                with self._errors(here.path):
                    self.known_files.check(here.path, self._old(here))
            old = self._replaced(there) if overwrite else None
            if overwrite:
                self._check_seen(target, there, old.status if old else None, old)
            with self._backup(there, old) as backup:
                change = Change(here.path, self._before(old), self._state(here, status), there.path)
                self._log(change, old, backup)
                rename(here, there, status, overwrite=overwrite)
            for place in (there, here):
                sync_directory(place.fd)
            self.known_files.move(here.path, there.path)
            self._changed(source, target, here.path, there.path)
        before = old.data if old else None
        digest_now = self.known_files.get(there.path, "")
        return Written(
            escape_path(there.path), old is None, status.st_size, digest_now, backup, before
        )

    def make_dirs(self, raw: str) -> None:
        """Create a directory and those above it; see `Workspace.make_dirs`."""
        _refuse_git(raw)
        place = raw + "/name"  # the folder of this name is made
        folders = self._new_folders()
        with (
            self.lock,
            self._removing_folders(raw, folders),
            self._root.place(place, new_folders=folders, follow=False),
        ):
            pass

    def remove_dir(self, raw: str) -> None:
        """Remove an empty directory; see `Workspace.remove_dir`."""
        with self.lock, self._errors(raw), self._root.place(raw, follow=False) as place:
            self._refuse(place, directories=True)
            before = self._state(place, place.stat())
            self._log(Change(place.path, before, FileState()))
            os.rmdir(place.name, dir_fd=place.fd)

    def check_directory(self, raw: str, path: str) -> None:
        """Refuse a directory that is not the one that a person was shown; note it for them."""
        with contextlib.suppress(OSError):
            with self._root.beneath.locate(raw) as place:
                status = place.stat()
            self._root.note(raw, status)
            if self._snapshot:
                self._snapshot.check(str(self._root.path), raw, path, status)

    def _check_seen(
        self, raw: str, place: Place, status: os.stat_result | None, old: Old | None = None
    ) -> None:
        """Refuse what is no longer as a person saw it before they agreed to this call."""
        if not self._snapshot:
            return

        def current() -> str:
            if old is None and status is not None:
                return self._digest(place, status)
            return old.digest if old else ""

        self._snapshot.check(str(self._root.path), raw, place.path, status, current)

    def _changed(self, *paths: str) -> None:
        if self._snapshot:
            self._snapshot.forget(*paths)

    def _log(self, change: Change, old: Old | None = None, backup: Path | None = None) -> None:
        """Record what is about to change: in the journal, and in the log of a call."""
        if self._listener is not None:
            self._listener(announcement(change, self._root.path, backup))
        if self._rollback is not None:
            self._rollback.log(change, old.data if old else b"")

    def _before(self, old: Old | None) -> FileState:
        """Return the state of *old*; its digest is taken only where somebody records it."""
        is_recorded = self._listener is not None or self._rollback is not None
        return FileState.of_old(old) if old is not None and is_recorded else FileState()

    def _state(self, place: Place, status: os.stat_result) -> FileState:
        """Return what will be moved or removed; only a rollback needs to put all of it back."""
        if self._rollback is not None or not mode_of.S_ISREG(status.st_mode):
            return state_of(place)
        digest_now = self._digest(place, status) if self._listener is not None else ""
        return FileState(
            FileKind.FILE, digest_now, status.st_size, mode=mode_of.S_IMODE(status.st_mode)
        )

    def _digest(self, place: Place, status: os.stat_result) -> str:
        """Return the digest of a small file that will be moved, "" of anything else."""
        if not mode_of.S_ISREG(status.st_mode) or status.st_size > DIGEST_BYTES:
            return ""
        with contextlib.suppress(OSError):
            return state_of(place).digest
        return ""

    def _status(self, place: Place, raw: str) -> os.stat_result:
        with self._errors(raw):
            return place.stat()

    def _old(self, place: Place, expect: bytes | None = None) -> Old | None:
        """Read the file that will be replaced; None where there is none."""
        try:
            fd = os.open(place.name, READ | os.O_NOFOLLOW, dir_fd=place.fd)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(fd)
            check_regular(place.path, status)
            if status.st_size > MAX_BYTES:
                raise _too_large(place.path, MAX_BYTES)
            return read_old(fd, content_of(fd, status.st_size, expect), status)
        finally:
            os.close(fd)

    def _replaced(self, place: Place) -> Old | None:
        with self._errors(place.path):
            old = self._old(place)
        self.known_files.check(place.path, old)
        return old

    def _check(self, place: Place, old: Old | None, expect_digest: str | None) -> None:
        if expect_digest is None:
            return
        if expect_digest == "" and old:
            raise self._root.problem(OSError(errno.EEXIST, ""), place.path)
        if expect_digest != (old.digest if old else ""):
            raise stale(escape_path(place.path))

    @contextlib.contextmanager
    def _backup(self, place: Place, old: Old | None) -> Iterator[Path | None]:
        """Back *old* up before the work at *place* is done; give the path of the copy."""
        if self._backups is None or old is None:
            yield None
            return
        try:
            link = self._backups.link(place, old.status)
            backup = link or self._backups.add(place.path, old.data)
        except OSError as error:
            raise WorkspaceError(
                f"{escape_path(place.path)!r} was not changed, because its backup failed: {error}",
                error_class="disk_full" if error.errno in FULL else "io_error",
            ) from error
        try:
            yield backup
        except BaseException:
            if link:
                self._backups.drop(link)
            raise
        if link:
            self._backups.settle(link, old.data)

    def _refuse(self, place: Place, *, directories: bool = False) -> None:
        """Refuse the root, git's own files and, unless *directories*, directories."""
        if place.path == ".":
            raise WorkspaceError(
                "the workspace itself cannot be deleted or moved", error_class="protected_path"
            )
        self._refuse_names(place)
        if place.name == "." and not directories:
            raise self._root.problem(OSError(errno.EISDIR, ""), place.path)

    def _refuse_names(self, place: Place) -> None:
        _refuse_git(place.path)
        self._root.refuse_own(place.path)

    @contextlib.contextmanager
    def _errors(self, raw: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._root.problem(error, raw) from error

    @contextlib.contextmanager
    def _removing_folders(self, raw: str, folders: list[str] | None) -> Iterator[None]:
        """Remove the directories that were made on the way when the work fails."""
        try:
            with self._errors(raw):
                yield
        except BaseException:
            for path in reversed(folders or []):
                with (
                    contextlib.suppress(OSError, WorkspaceError),
                    self._root.beneath.locate(path, follow=False) as place,
                ):
                    os.rmdir(place.name, dir_fd=place.fd)
            raise


def _refuse_git(path: str) -> None:
    # A directory of this name would make git read its settings from there.
    name = path.rpartition("/")[2]
    if is_git_name(name):
        raise git_refused(escape_path(path))


def _too_large(path: str, limit: int) -> WorkspaceError:
    return WorkspaceError(
        f"{escape_path(path)!r} is larger than {limit:,} bytes", error_class="too_large"
    )
