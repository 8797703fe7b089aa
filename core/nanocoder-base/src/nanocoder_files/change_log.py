"""Records on disk that let the next session recover from a kill.

The write-ahead log of one call has each change, with the state and the content before it. An entry
is one line of JSON followed by the earlier content, and is on disk before the change begins. The
log is removed when the call has succeeded: from then on its changes are final.

Any other write needs only a record of its temporary file, so that the next session can remove it
after a kill. The record is outside of the workspace, and empty between two writes.

Both are locked while their process lives: an unlocked one was left by a killed process.
"""

import contextlib
import errno
import json
import os
import stat as mode_of
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field
from nanocoder_schema import mutable, value

from nanocoder_files import private_files
from nanocoder_files.beneath import Beneath, Place
from nanocoder_files.change import DAMAGED, Change
from nanocoder_files.content import digest
from nanocoder_files.paths import WorkspaceError
from nanocoder_files.private_files import (
    closing_file,
    files_in,
    folder_for,
    lock_ownerless,
    remove_if_empty,
)
from nanocoder_files.writing import flush_names, is_temporary, temporary_name

SUFFIX: Final = ".changes"
NOTE_SUFFIX: Final = ".writing"
MAX_NAME_CHARS: Final = 100
MAX_LINE: Final = 65_536
RESTORED: Final = b"-"
"""Replaces the first byte of an entry whose change was reverted, which needs no disk space."""


@value
class LoggedChange(Change):
    """A change in a log; *at* orders the changes of all logs.

    *temporary* is the name of the file that the change, or its revert, creates beside the path.
    *line* is the offset of its line in the log, *offset* that of the earlier content of *size*
    bytes. *version* is the session's known version of the file, which is not logged.
    """

    at: int = 0
    temporary: str = ""
    line: int = 0
    offset: int = 0
    size: int = 0
    version: str = ""


@mutable
class ChangeLog:
    """The log of one call, open and locked; *changes* are its complete entries."""

    path: Path
    _fd: int
    title: str = ""
    changes: list[LoggedChange] = field(factory=list)
    _end: int = 0

    def start(self, title: str, root: str) -> None:
        """Write the first line; *title* describes the call to a person.

        *root* is the directory of the files: without it the log is of no use.
        """
        self._append({"about": title, "root": root})
        # These directories may be new, and a power cut loses names that were not flushed.
        for folder in self.path.parents[:3]:
            flush_names(folder)

    def append(self, change: Change, data: bytes, version: str) -> LoggedChange:
        """Write a change to the disk and return it with its offsets; raises OSError."""
        # A monotonic clock, which is the same in all processes.
        at = time.monotonic_ns()
        temporary = temporary_name(change.changed_path.rpartition("/")[2])
        fields = change.data() | {"at": at, "size": len(data), "temporary": temporary}
        line = self._end
        # The last byte marks a complete entry.
        offset = self._append(fields, data + b"\n")
        self.changes.append(_logged_change(fields, line=line, offset=offset, version=version))
        return self.changes[-1]

    def mark_restored(self, change: LoggedChange) -> None:
        """Mark *change* as reverted on the disk, so that it is not read again.

        This needs no disk space. Raises OSError.
        """
        # Reopened, because a file that is open for appending is always written at its end.
        with closing_file(private_files.open_private(self.path, os.O_WRONLY)) as fd:
            os.pwrite(fd, RESTORED, change.line)
            os.fsync(fd)

    def retract(self, change: LoggedChange) -> None:
        """Remove a change that has not begun; raises OSError."""
        self.changes.remove(change)
        self.mark_restored(change)

    def is_contested(self, change: LoggedChange) -> bool:
        """Return True if another running call has changed the same path; raises OSError."""
        return any(
            other.conflicts_with(change)
            for log in _running_logs_beside(self.path)
            for other in log.changes
        )

    def data(self, change: LoggedChange) -> bytes:
        """Return the content before a change; raises OSError if it is damaged."""
        data = os.pread(self._fd, change.size, change.offset)
        # A damaged copy must not replace the file.
        if change.before.digest and digest(data) != change.before.digest:
            raise OSError(errno.EIO, "its saved copy is damaged")
        return data

    def remove(self) -> None:
        """Remove the log, and its directories if empty; raises OSError if it stays."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            os.ftruncate(self._fd, 0)  # an empty log reverts nothing
        flush_names(self.path.parent)
        self.close()
        remove_if_empty(self.path.parent)

    def close(self) -> None:
        """Close the log and leave it for the next session."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, fields: Mapping[str, Any], data: bytes = b"") -> int:
        line = json.dumps(fields).encode() + b"\n"
        self._end = private_files.append_all(self._fd, line + data, self._end, sync=True)
        return self._end - len(data)

    def read(self) -> None:
        """Read up to the first incomplete entry, whose change was never begun."""
        total = os.fstat(self._fd).st_size
        # A copy of the descriptor: closing the original would release the lock.
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            with contextlib.suppress(*DAMAGED):
                self.title = json.loads(file.readline())["about"]
                while line := file.readline():
                    is_restored = line.startswith(RESTORED)
                    fields = json.loads(b"{" + line[1:] if is_restored else line)
                    begin, size = file.tell(), int(fields["size"])
                    # The byte after the content has to exist, too.
                    if not 0 <= size < total - begin:
                        return
                    file.seek(begin + size)
                    if file.read(1) != b"\n":
                        return
                    if not is_restored:
                        change = _logged_change(fields, line=begin - len(line), offset=begin)
                        self.changes.append(change)


def create_log(base: Path | None, root: Path, name: str, title: str) -> ChangeLog:
    """Create the log of one call in *root* below *base*; raises OSError.

    Its file name begins with *name*; *title* is for a person. Without a *base* it is in a temporary
    directory, where no later session finds it.
    """
    if base is None:
        import tempfile  # only a workspace without a session needs it

        base = Path(tempfile.mkdtemp(prefix="nanocoder-"))
    # The name may come from a model: only characters that are safe in a file name remain.
    plain_name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
    folder, name = folder_for(base, root), plain_name[:MAX_NAME_CHARS]
    log = ChangeLog(*private_files.create_locked(folder, name, SUFFIX))
    log.start(title, str(root))
    return log


def take_over_logs(folder: Path) -> Iterator[ChangeLog]:
    """Take over the logs of dead processes in *folder*; raises OSError."""
    for path, fd in lock_ownerless(folder, SUFFIX):
        log = ChangeLog(path, fd)
        log.read()
        yield log


def discard_orphaned_logs(base: Path, own_folders: Iterable[Path]) -> None:
    """Remove logs of dead processes below *base* whose directory is gone.

    This applies only to directories below *own_folders*, which we create and remove ourselves:
    another one may be on a disk that is not mounted. Logs of live processes stay. Raises: OSError.
    """
    ours = tuple(f"{os.path.realpath(each)}/" for each in own_folders if each.is_dir())
    with os.scandir(base) as entries:
        folders = [base / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):  # its owner has just ended
            for path, fd in lock_ownerless(folder, ""):
                with closing_file(fd), contextlib.suppress(*DAMAGED):
                    line = os.pread(fd, MAX_LINE, 0).partition(b"\n")[0]
                    root = str(json.loads(line)["root"]) if line else ""
                    if not root or (root.startswith(ours) and not os.path.lexists(root)):
                        path.unlink(missing_ok=True)
            remove_if_empty(folder)


def _running_logs_beside(path: Path) -> Iterator[ChangeLog]:
    """Yield the logs of other running calls in the same directory, read without a lock."""
    for other in files_in(path.parent, SUFFIX):
        if other == path:
            continue
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            fd = private_files.open_private(other)
            log = ChangeLog(other, fd)
            try:
                private_files.lock_file(fd, wait=False, is_shared=True)
            # Its owner is alive. A log that can be locked is left to the next session.
            except BlockingIOError:
                log.read()
                yield log
            finally:
                log.close()


def _logged_change(fields: Mapping[str, Any], **place: Any) -> LoggedChange:
    at, size, temporary = int(fields["at"]), int(fields["size"]), str(fields.get("temporary", ""))
    return LoggedChange.of_data(fields, at=at, size=size, temporary=temporary, **place)


class WriteNote:
    """The record of the workspace *root*'s temporary file, created at the first write.

    It is below *base*; without a *base* nothing is recorded.
    """

    def __init__(self, base: Path | None, root: Path) -> None:
        self._folder = folder_for(base, root) if base is not None else None
        self._root = str(root)
        self._path = Path()
        self._fd = -1
        # An abandoned thread may still write while the session closes.
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def file(self, place: Place) -> Iterator[str]:
        """Yield the name of a new file beside *place*, recorded until the write is finished."""
        name = temporary_name(place.name)
        # The write continues without its record: only a kill would leave the file.
        with self._lock, contextlib.suppress(OSError):
            if self._fd < 0 and self._folder is not None:
                pid = str(os.getpid())
                self._path, self._fd = private_files.create_locked(self._folder, pid, NOTE_SUFFIX)
            if self._fd >= 0:
                note = {"root": self._root, "path": place.path.removesuffix(place.name) + name}
                # Opened for appending: after a truncation to 0, this is at its beginning.
                os.write(self._fd, json.dumps(note).encode())
        try:
            yield name
        finally:
            with self._lock, contextlib.suppress(OSError):
                if self._fd >= 0:
                    os.ftruncate(self._fd, 0)

    def close(self) -> None:
        """Remove the record; a later write creates a new one."""
        with self._lock:
            if self._fd >= 0:
                _remove(self._path, self._fd)
                self._fd = -1
                remove_if_empty(self._path.parent)


def remove_noted_files(folder: Path, beneath: Beneath) -> None:
    """Remove the temporary files recorded by dead processes in *folder*, and the records.

    Raises: OSError.
    """
    for path, fd in lock_ownerless(folder, NOTE_SUFFIX):
        with contextlib.suppress(OSError, WorkspaceError, *DAMAGED):  # usually it is empty
            noted = str(json.loads(os.pread(fd, MAX_LINE, 0))["path"])
            with beneath.locate(noted, follow=False) as place:
                is_where_it_was = place.path == noted  # no directory above has become a link
                is_file = mode_of.S_ISREG(place.stat().st_mode)
                if is_where_it_was and is_file and is_temporary(place.name):
                    os.unlink(place.name, dir_fd=place.fd)
        _remove(path, fd)


def _remove(path: Path, fd: int) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(fd)
