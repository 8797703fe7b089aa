"""The workspace: tools open and change every file here."""

import contextlib
import copy
import errno
import os
import stat as mode_of
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanocoder_files import writing
from nanocoder_files.backups import keep_copy
from nanocoder_files.beneath import NewFolders, Place
from nanocoder_files.change import Change, FileKind, FileState, announcement
from nanocoder_files.change_log import WriteNote
from nanocoder_files.content import digest
from nanocoder_files.paths import WorkspaceError, escape_path, not_changed
from nanocoder_files.protected import IN_GIT, is_git_name, refused
from nanocoder_files.readable import Readable
from nanocoder_files.reading import Reading
from nanocoder_files.root import Root
from nanocoder_files.writing import Old, Pieces, Written, read_old, state_of

if TYPE_CHECKING:
    from nanocoder_files.rollback import Rollback
    from nanocoder_files.snapshot import Snapshot

ChangeListener = Callable[[Mapping[str, Any]], object]
"""Called with each change before it is made."""
MOVED_BYTES: Final = 8_000_000
"""Moved files up to this size in bytes are hashed, to recognise them later."""


class Workspace(Reading, contextlib.AbstractContextManager["Workspace"]):
    """One directory tree. Paths are relative to its root, or absolute and below it.

    Every method raises WorkspaceError with an error_class: invalid_path and path_outside_workspace
    all of them, the others as documented. Methods that read a file or list directories raise
    read_denied for paths that *readable* refuses. Methods may be called from any thread.
    """

    def __init__(
        self,
        root: Path,
        *,
        backups: Path | None = None,
        keep_backups: int = 10,
        extra_protected: Iterable[str] = (),
        listener: ChangeListener | None = None,
        change_logs: Path | None = None,
        outputs: Path | None = None,
        readable: Readable | None = None,
    ) -> None:
        """Open *root*.

        *backups* is a directory outside the workspace for the old content of changed files, the
        first and the newest, *keep_backups* for each; None keeps none. *extra_protected* are
        absolute paths of our own: `protection` reports them beside the protected names, and they
        cannot be changed (protected_path). *listener* is called with each change before it is made,
        for the journal's `file.changed`. *change_logs* is a directory outside the workspace for
        recovery after a kill: the log of `recording`, and the name of a write's temporary file;
        None: no later session can recover. The files in *outputs*, a directory of ours, can be
        read by their absolute paths, but not changed. *readable* is the read filter,
        `SessionInfo.readable` in a session; None: everything may be read.
        """
        super().__init__(Root(root, extra_protected), outputs, readable or Readable())
        self._keep_copy = partial(keep_copy, backups, keep_backups) if backups else None
        self._change_logs = change_logs
        self._write_note = WriteNote(change_logs, self.root)
        self._listener = listener
        self._rollback: Rollback | None = None
        # Two threads must not both find a file unchanged and then both replace it.
        self._lock = threading.RLock()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory; the workspace cannot be used afterwards."""
        self._write_note.close()
        self._root.close()

    # The workspace of one call

    def recording(
        self, name: str, title: str, *, processes: bool = False
    ) -> "tuple[Workspace, Rollback]":
        """Return this workspace for one call, and the rollback of its changes.

        Each change is logged on the disk before it is made, in a file whose name begins with
        *name*; *title* describes the call to a person after a kill. Changes that bypass the
        workspace are not logged. A file of the call that somebody else changes meanwhile is
        restored if the call starts *processes*, and not touched otherwise.
        """
        from nanocoder_files.restore import LogRestore  # few calls need them
        from nanocoder_files.rollback import Rollback

        restore = LogRestore(
            self._root, self._keep_copy, self._known, is_live=True, replaces=processes
        )
        rollback = Rollback(self._change_logs, name, title, restore, self._lock)
        return self._for_call(_rollback=rollback), rollback

    def expecting(self, snapshot: "Snapshot") -> "Workspace":
        """Return this workspace for one call, which may only change files as in *snapshot*.

        A write, a move or a deletion of a path that differs from the call's preview raises
        stale_read, as does `real_path` for another directory.
        """
        return self._for_call(_snapshot=snapshot)

    def _for_call(self, **private: object) -> "Workspace":
        """Return a view of this workspace, which closes it, with other private attributes."""
        # A copy shares the file descriptor, the lock and the known files with the workspace.
        view = copy.copy(self)
        vars(view).update(private)
        return view

    # Changing

    def write_bytes(
        self,
        path: str,
        data: bytes | Pieces,
        *,
        expect: bytes | str | None = None,
        mode: int | None = None,
    ) -> Written:
        """Replace or create a file atomically. *data* may be in pieces.

        Mode, owner and extended attributes are preserved; a link stays and its target is replaced;
        other hard links keep the old content. A file that is read-only, or another user's (unless
        we are root), is refused. *expect* is the content that the file must have now, or its
        SHA-256, "" if it must not exist; without it the file must be unchanged since this session
        last read or wrote it. Without *mode* a new file gets the default of the umask. Raises:
        stale_read, file_exists, is_a_directory, not_a_regular_file, permission_denied,
        protected_path, disk_full, too_large.
        """
        raw = self._root.raw(path)
        pieces = [data] if isinstance(data, bytes) else data
        with self._place(raw, make_folders=True) as place:
            self._refuse_names(place)
            # Read under the lock: no other write of ours comes between this and the renaming.
            old = read_old(place)
            self._check(raw, place, old)
            if expect is not None:
                _check_expected(place, old, expect)
            writing.check_writable(place, old)
            size, new = sum(map(len, pieces)), digest(*pieces)
            backup = self._backup(place, old)
            after = FileState(FileKind.FILE, new, size)
            self._log(Change(place.path, self._before(old), after), old, backup)
            note = self._rollback or self._write_note
            with note.file(place) as name, writing.replacing(place, name):
                writing.write_new(place, name, pieces, old.metadata if old else None, mode)
                writing.check_writable(place, old, name)
                # Directly before the renaming, because writing and flushing took time.
                writing.check_unchanged(place, old)
            # After a change of one part, the unread rest of a file is still unknown.
            version = self._known.get(place.path)
            if not old or expect is None or version:
                # Line numbers have changed, so the lines read of a part do not count.
                is_part = old and expect is not None and version in self._known.parts
                self._known.note(place.path, new, *((range(0), 1) if is_part else ()))
            self._snapshot.forget(raw, place.path)
        before = old.data if old else None
        return Written(escape_path(place.path), old is None, size, new, backup, before)

    def write_text(self, path: str, text: str, *, expect: str | None = None) -> Written:
        """Write *text* in UTF-8; see `write_bytes`.

        Raises: invalid_arguments for half of a surrogate pair.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            problem = f"a UTF-8 file cannot hold {error.object[error.start]!a}"
            raise WorkspaceError(problem, error_class="invalid_arguments") from None
        return self.write_bytes(path, data, expect=expect)

    def put_link(self, path: str, target: str) -> None:
        """Create a symbolic link to *target*, replacing a file or a link.

        Raises: is_a_directory, stale_read, protected_path.
        """
        self._replace(path, FileState(FileKind.LINK, target=target))

    def delete(self, path: str) -> Path | None:
        """Delete a file, or a link but not its target; return the path of its backup.

        Raises: file_not_found, is_a_directory, stale_read, protected_path for the root and `.git`.
        """
        return self._replace(path, FileState())

    def _replace(self, path: str, after: FileState) -> Path | None:
        """Replace a file or a link by a link or nothing; return the path of its backup."""
        raw = self._root.raw(path)
        with self._place(raw, follow=False, make_folders=after.exists) as place:
            self._refuse(place)
            status = place.status() if after.exists else place.stat()
            if status and mode_of.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "")
            old = read_old(place) if status and mode_of.S_ISREG(status.st_mode) else None
            self._check(raw, place, old)
            backup = self._backup(place, old)
            if old:
                # The backup took time; the deleted content must be the one in the backup.
                writing.check_unchanged(place, old)
            before = self._before(old) if old else self._state(place)
            self._log(Change(place.path, before, after), old, backup)
            with (self._rollback or self._write_note).file(place) as name:
                writing.put(place, after, b"", name)
            self._known.pop(place.path, None)
            self._snapshot.forget(raw, place.path)
        return backup

    def move(self, source: str, target: str, *, replace: bool = False) -> Written:
        """Rename a file, a link or a directory; *target* is the new path, not a directory for it.

        Raises: file_not_found, protected_path, file_exists unless *replace* allows a file there,
        and read_denied if that would make a refused file readable.
        """
        from_raw, to_raw = self._root.raw(source), self._root.raw(target)
        self._refuse_to_reveal(from_raw, to_raw)
        with (
            self._place(from_raw, follow=False) as here,
            self._place(to_raw, follow=False, make_folders=True) as there,
        ):
            for place in (here, there):
                self._refuse(place, directories=True)
            with self._root.errors(from_raw):
                status = here.stat()
                is_known_file = here.path in self._known and mode_of.S_ISREG(status.st_mode)
                self._check(from_raw, here, read_old(here) if is_known_file else None)
            old = read_old(there) if replace else None
            if replace:
                self._check(to_raw, there, old)
                writing.check_writable(there, old)
            backup = self._backup(there, old)
            change = Change(here.path, self._before(old), self._state(here), there.path)
            self._log(change, old, backup)
            writing.rename(here, there, overwrite=replace)
            for place in (there, here):
                writing.flush_names(".", place.fd)
            self._known.move(here.path, there.path)
            self._snapshot.forget(from_raw, to_raw, here.path, there.path)
        new, before = self._known.get(there.path, ""), old.data if old else None
        return Written(escape_path(there.path), old is None, status.st_size, new, backup, before)

    def make_dirs(self, path: str) -> None:
        """Create a directory and the missing ones above it.

        Raises: not_a_directory, permission_denied, protected_path.
        """
        with self._place(self._root.raw(path), make_folders=True, follow=False, inside="/name"):
            pass  # entering has created the directory

    def remove_dir(self, path: str) -> None:
        """Remove an empty directory.

        Raises: file_exists if it is not empty, protected_path, not_a_directory, file_not_found.
        """
        with self._place(self._root.raw(path), follow=False) as place:
            self._refuse(place, directories=True)
            self._log(Change(place.path, self._state(place), FileState()))
            os.rmdir(place.name, dir_fd=place.fd)

    @contextlib.contextmanager
    def _place(
        self, raw: str, *, follow: bool = True, make_folders: bool = False, inside: str = ""
    ) -> Iterator[Place]:
        """Yield the open parent directory of *raw*, under the lock, for a change.

        With *inside*, a path below *raw*, that directory itself is opened, and may be created. The
        directories created on the way are removed if the change fails.
        """
        folders = NewFolders(self._log_folder) if make_folders else None
        if make_folders:
            _refuse_git(raw)
            self._refuse_backslashes(raw)
        with self._lock:
            try:
                with (
                    self._root.errors(raw),
                    self._root.locate(raw + inside, follow=follow, new_folders=folders) as place,
                ):
                    yield place
            except BaseException:
                # The innermost first: only an empty directory can be removed.
                for path in reversed(folders or []):
                    with (
                        contextlib.suppress(OSError, WorkspaceError),
                        self._root.locate(path, follow=False) as place,
                    ):
                        os.rmdir(place.name, dir_fd=place.fd)
                raise

    def _refuse_backslashes(self, raw: str) -> None:
        """Raise invalid_path for a new name with backslashes that separate it from a directory."""
        folder = raw.partition("\\")[0]
        if folder not in {raw, ""} and self.is_dir(folder) and not self._root.mode(raw):
            intended = escape_path(raw.replace("\\", "/"))
            message = f"nothing was made: '{escape_path(raw)}' has backslashes; use '{intended}'"
            raise WorkspaceError(message, error_class="invalid_path")

    def _check(self, raw: str, place: Place, old: Old | None) -> None:
        """Refuse a file that changed since its preview, or since this session read it."""
        if self._snapshot:

            def digest_now() -> str:
                return old.digest if old else state_of(place, MOVED_BYTES).digest

            self._snapshot.check(str(self.root), raw, place.path, place.status(), digest_now)
        self._known.check(place.path, old)

    def _log(self, change: Change, old: Old | None = None, backup: Path | None = None) -> None:
        """Record a change before it is made: in the journal, and in the log of a call."""
        if self._listener is not None:
            self._listener(announcement(change, self.root, backup))
        if self._rollback is not None:
            self._rollback.log(change, old.data if old else b"")

    def _log_folder(self, path: str) -> None:
        self._log(Change(path, FileState(), FileState(FileKind.DIRECTORY)))

    def _before(self, old: Old | None) -> FileState:
        """Return the state of *old*; its digest is computed only if it is recorded."""
        is_recorded = self._listener is not None or self._rollback is not None
        return old.state if old is not None and is_recorded else FileState()

    def _state(self, place: Place) -> FileState:
        """Return the state of a file to be moved or removed, in full only for a rollback."""
        if self._rollback is not None:
            return state_of(place)
        with contextlib.suppress(OSError):
            return state_of(place, MOVED_BYTES)
        return state_of(place, -1)  # an unreadable file can still be moved

    def _backup(self, place: Place, old: Old | None) -> Path | None:
        """Back *old* up before it is changed; returns the path of the copy."""
        if self._keep_copy is None or old is None:
            return None
        try:
            return self._keep_copy(place.path, old.data)
        except OSError as error:
            raise not_changed(place.path, "its backup failed", error) from error

    def _refuse(self, place: Place, *, directories: bool = False) -> None:
        """Refuse the root, git's own files and, unless *directories*, directories."""
        if place.path == ".":
            raise WorkspaceError(
                "the workspace itself cannot be deleted or moved", error_class="protected_path"
            )
        self._refuse_names(place)
        if place.name == "." and not directories:
            raise IsADirectoryError(errno.EISDIR, "")

    def _refuse_names(self, place: Place) -> None:
        _refuse_git(place.path)
        self._root.refuse_own(place.path)


def _refuse_git(path: str) -> None:
    # git would read its settings from a directory of this name.
    if is_git_name(path.rpartition("/")[2]):
        raise refused(escape_path(path), IN_GIT)


def _check_expected(place: Place, old: Old | None, expected: bytes | str) -> None:
    now = "" if old is None else old.data if isinstance(expected, bytes) else old.digest
    if now != expected:
        if expected == "":
            raise FileExistsError(errno.EEXIST, "")
        raise writing.stale(escape_path(place.path))
