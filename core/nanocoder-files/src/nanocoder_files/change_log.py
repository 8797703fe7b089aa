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
"""Replaces the first byte of an entry whose change was taken back: that needs no room."""


@value
class LoggedChange(Change):
    """A change in a log; *at* is what orders the changes of all logs.

    *temporary* is the name of the file that is made beside the path, by the change and by what
    takes it back. *line* is where its line begins in the file, and *offset* where the earlier
    content, *size* bytes, does. *version* is not logged: what the session knew of the file.
    """

    at: int = 0
    temporary: str = ""
    line: int = 0
    offset: int = 0
    size: int = 0
    version: str = ""


@mutable
class ChangeLog:
    """The log of one call, open and locked; *changes* are those that are wholly in it."""

    path: Path
    _fd: int
    title: str = ""
    changes: list[LoggedChange] = field(factory=list)
    _end: int = 0

    def start(self, title: str, root: str) -> None:
        """Write the first line; *title* says to a person which call the log is of.

        *root* is the directory of the files: a log of a root that is gone is of no use.
        """
        self._append({"about": title, "root": root})
        # These folders may be new, and a power cut may forget a name that was not flushed.
        for folder in self.path.parents[:3]:
            flush_names(folder)

    def append(self, change: Change, data: bytes, version: str) -> LoggedChange:
        """Put a change on the disk and return it with its place in the log; raises OSError."""
        # No clock that may be set: this one is the same in all processes.
        at = time.monotonic_ns()
        temporary = temporary_name(change.changed_path.rpartition("/")[2])
        fields = change.data() | {"at": at, "size": len(data), "temporary": temporary}
        line = self._end
        # The last byte tells a whole entry from one that was cut off.
        offset = self._append(fields, data + b"\n")
        self.changes.append(_logged(fields, line=line, offset=offset, version=version))
        return self.changes[-1]

    def mark_restored(self, change: LoggedChange) -> None:
        """Put on the disk that *change* is taken back: it is not among those that are read later.

        That needs no room on the disk. Raises OSError.
        """
        # A file that is open for appending is always written at its end.
        with closing_file(private_files.open_private(self.path, os.O_WRONLY)) as fd:
            os.pwrite(fd, RESTORED, change.line)
            os.fsync(fd)

    def retract(self, change: LoggedChange) -> None:
        """Remove a change that has not begun; raises OSError."""
        self.changes.remove(change)
        self.mark_restored(change)

    def is_contested(self, change: LoggedChange) -> bool:
        """Tell whether another call that still runs has changed the same thing; raises OSError."""
        return any(
            other.conflicts_with(change)
            for log in _running_logs_beside(self.path)
            for other in log.changes
        )

    def data(self, change: LoggedChange) -> bytes:
        """Return the content before a change; raises OSError if it is damaged."""
        data = os.pread(self._fd, change.size, change.offset)
        # Better nothing than damaged content in the place of the file.
        if change.before.digest and digest(data) != change.before.digest:
            raise OSError(errno.EIO, "its saved copy is damaged")
        return data

    def remove(self) -> None:
        """Remove the log, and its folders where they are empty; raises OSError if it stays."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            os.ftruncate(self._fd, 0)  # an empty log takes nothing back
        flush_names(self.path.parent)
        self.close()
        remove_if_empty(self.path.parent)

    def close(self) -> None:
        """Close the log, which stays for the next session that is opened."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, fields: Mapping[str, Any], data: bytes = b"") -> int:
        line = json.dumps(fields).encode() + b"\n"
        self._end = private_files.append_all(self._fd, line + data, self._end, sync=True)
        return self._end - len(data)

    def read(self) -> None:
        """Read up to the first entry that is not whole: its change was never begun."""
        total = os.fstat(self._fd).st_size
        # A copy of the descriptor: closing the last one would give up the lock.
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            with contextlib.suppress(*DAMAGED):
                self.title = json.loads(file.readline())["about"]
                while line := file.readline():
                    is_restored = line.startswith(RESTORED)
                    fields = json.loads(b"{" + line[1:] if is_restored else line)
                    begin, size = file.tell(), int(fields["size"])
                    # The byte behind the content has to be there, too.
                    if not 0 <= size < total - begin:
                        return
                    file.seek(begin + size)
                    if file.read(1) != b"\n":
                        return
                    if not is_restored:
                        change = _logged(fields, line=begin - len(line), offset=begin)
                        self.changes.append(change)


def create_log(base: Path | None, root: Path, name: str, title: str) -> ChangeLog:
    """Make the log of one call in *root* below *base*; raises OSError.

    Its file is called like *name*; *title* is for a person. Without a *base* it is where no later
    session looks.
    """
    if base is None:
        import tempfile  # only a workspace without a session needs it

        base = Path(tempfile.mkdtemp(prefix="nanocoder-"))
    # The name may have come from a model: only characters that are safe in a file name stay.
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
    """Discard what dead processes have left below *base* about files that are gone.

    Only those below *own_folders*, which we make and remove ourselves: another directory may be on
    a disk that is not mounted. Calls of processes that live are left alone. Raises: OSError.
    """
    ours = tuple(f"{os.path.realpath(each)}/" for each in own_folders if each.is_dir())
    with os.scandir(base) as entries:
        folders = [base / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):  # its owner has ended meanwhile
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
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            fd = private_files.open_private(other)
            log = ChangeLog(other, fd)
            try:
                private_files.lock_file(fd, wait=False, is_shared=True)
            # Its owner lives. A log that can be locked is left for the next session to take back.
            except BlockingIOError:
                log.read()
                yield log
            finally:
                log.close()


def _logged(fields: Mapping[str, Any], **place: Any) -> LoggedChange:
    at, size, temporary = int(fields["at"]), int(fields["size"]), str(fields.get("temporary", ""))
    return LoggedChange.of_data(fields, at=at, size=size, temporary=temporary, **place)


class WriteNote:
    """The note of one workspace in *root*, made below *base* at the first write.

    Without a *base* nothing is noted.
    """

    def __init__(self, base: Path | None, root: Path) -> None:
        self._folder = folder_for(base, root) if base is not None else None
        self._root = str(root)
        self._path = Path()
        self._fd = -1
        # A late thread may still write while the session closes.
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def file(self, place: Place) -> Iterator[str]:
        """Return the name of a new file beside *place*; it is noted until the write is over."""
        name = temporary_name(place.name)
        # A write goes on without its note: only a kill would leave the file.
        with self._lock, contextlib.suppress(OSError):
            if self._fd < 0 and self._folder is not None:
                pid = str(os.getpid())
                self._path, self._fd = private_files.create_locked(self._folder, pid, NOTE_SUFFIX)
            if self._fd >= 0:
                note = {"root": self._root, "path": place.path.removesuffix(place.name) + name}
                # Opened for appending: after it was cut to nothing, this is at its beginning.
                os.write(self._fd, json.dumps(note).encode())
        try:
            yield name
        finally:
            with self._lock, contextlib.suppress(OSError):
                if self._fd >= 0:
                    os.ftruncate(self._fd, 0)

    def close(self) -> None:
        """Remove the note; a later write makes another."""
        with self._lock:
            if self._fd >= 0:
                _remove(self._path, self._fd)
                self._fd = -1
                remove_if_empty(self._path.parent)


def remove_noted_files(folder: Path, beneath: Beneath) -> None:
    """Remove the files that dead processes have noted in *folder*, and the notes.

    Raises: OSError.
    """
    for path, fd in lock_ownerless(folder, NOTE_SUFFIX):
        with contextlib.suppress(OSError, WorkspaceError, *DAMAGED):  # mostly it is empty
            noted = str(json.loads(os.pread(fd, MAX_LINE, 0))["path"])
            with beneath.locate(noted, follow=False) as place:
                is_where_it_was = place.path == noted  # no folder on the way has become a link
                is_file = mode_of.S_ISREG(place.stat().st_mode)
                if is_where_it_was and is_file and is_temporary(place.name):
                    os.unlink(place.name, dir_fd=place.fd)
        _remove(path, fd)


def _remove(path: Path, fd: int) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
    os.close(fd)
