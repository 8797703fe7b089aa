"""The write-ahead log of one call: each change, with the state and the content before it.

An entry is one line of JSON with the earlier content behind it, and is on the disk before the
change begins. The log is locked while its process lives, which tells it from what a killed process
has left. It is removed when the call has succeeded: from that moment its changes stay.
"""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from nanocoder_files.change import DAMAGED, Change
from nanocoder_files.content import digest
from nanocoder_files.private_files import (
    append_all,
    create_locked,
    folder_for,
    lock_ownerless,
    open_private,
    remove_if_empty,
    sync_directory,
)

SUFFIX: Final = ".changes"
MAX_NAME_CHARS: Final = 100
MAX_FIRST_LINE: Final = 65_536
RESTORED: Final = b"-"
"""Replaces the first byte of an entry whose change was taken back: that needs no room."""


@frozen(eq=False, repr=False)
class LoggedChange(Change):
    """A change in a log; *at* is nanoseconds since the epoch.

    *line* is where its line begins in the file, and *offset* where the earlier content, *size*
    bytes, does.
    """

    at: int = 0
    line: int = 0
    offset: int = 0
    size: int = 0


class ChangeLog:
    """The log of one call, open and locked; *changes* are those that are wholly in it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.title = ""
        self.owners: set[int] = set()
        self.changes: list[LoggedChange] = []
        self._fd = fd
        self._end = 0

    def start(self, title: str, root: str) -> None:
        """Write which process owns the log; *title* says to a person which call it is of.

        *root* is the directory of the files: a log of a root that is gone is of no use.
        """
        self._append({"about": title, "pid": os.getpid(), "root": root})
        for folder in self.path.parents[:3]:
            _sync(folder)

    def take_over(self) -> None:
        """Read the log of a dead process and own it; raises OSError."""
        self.read()
        # On a full disk some changes can be taken back all the same.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end)
            self._append({"pid": os.getpid()})

    def append(self, change: Change, data: bytes = b"") -> LoggedChange:
        """Put a change on the disk and return it with its place in the log; raises OSError."""
        last = self.changes[-1].at if self.changes else 0
        at = max(time.time_ns(), last + 1)
        fields = change.data() | {"at": at, "size": len(data)}
        line = self._end
        offset = self._append(fields, data + b"\n")
        self.changes.append(_logged(fields, line, offset))
        return self.changes[-1]

    def mark_restored(self, change: LoggedChange) -> None:
        """Put on the disk that *change* is taken back: it is not among those that are read later.

        That needs no room on the disk. Raises OSError.
        """
        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        # A file that is open for appending is always written at its end.
        fcntl.fcntl(self._fd, fcntl.F_SETFL, flags & ~os.O_APPEND)
        try:
            os.pwrite(self._fd, RESTORED, change.line)
            os.fsync(self._fd)
        finally:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags)

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
        if change.before.digest and digest(data) != change.before.digest:
            raise OSError(errno.EIO, "its saved copy is damaged")
        return data

    def remove(self) -> None:
        """Remove the log, and its folders where they are empty; raises OSError if it stays."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            os.ftruncate(self._fd, 0)  # an empty log takes nothing back
        _sync(self.path.parent)
        self.close()
        remove_if_empty(self.path.parent)

    def close(self) -> None:
        """Close the log, which stays for the next session that is opened."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, fields: Mapping[str, Any], data: bytes = b"") -> int:
        line = json.dumps(fields).encode() + b"\n"
        self._end = append_all(self._fd, line + data, self._end, sync=True)
        return self._end - len(data)

    def read(self) -> None:
        """Read up to the first entry that is not whole: its change was never begun."""
        total = os.fstat(self._fd).st_size
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            with contextlib.suppress(*DAMAGED):
                for line in iter(file.readline, b""):
                    is_restored = line.startswith(RESTORED)
                    fields = json.loads(b"{" + line[1:] if is_restored else line)
                    if "path" in fields:
                        begin, size = file.tell(), int(fields["size"])
                        if size < 0 or begin + size >= total:
                            return
                        file.seek(begin + size)
                        if file.read(1) != b"\n":
                            return
                        if not is_restored:
                            self.changes.append(_logged(fields, self._end, begin))
                    else:
                        self.title = fields.get("about", self.title)
                        self.owners.add(int(fields["pid"]))
                    self._end = file.tell()


def create_log(base: Path | None, root: Path, name: str, title: str) -> ChangeLog:
    """Make the log of one call in *root* below *base*; raises OSError.

    Its file is called like *name*; *title* is for a person. Without a *base* it is where no later
    session looks.
    """
    if base is None:
        import tempfile  # only a workspace without a session needs it

        folder = Path(tempfile.mkdtemp(prefix="nanocoder-")) / "changes"
    else:
        folder = folder_for(base, root)
    plain_name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
    log = ChangeLog(*create_locked(folder, plain_name[:MAX_NAME_CHARS], SUFFIX))
    log.start(title, str(root))
    return log


def take_over_logs(folder: Path) -> Iterator[ChangeLog]:
    """Take over the logs of dead processes in *folder*; raises OSError."""
    for path, fd in lock_ownerless(folder, SUFFIX):
        log = ChangeLog(path, fd)
        log.take_over()
        yield log


def discard_files(folder: Path, is_over: Callable[[str], bool]) -> None:
    """Remove what dead processes have left in *folder* where *is_over* of the root of the files.

    Raises: OSError.
    """
    for path, fd in lock_ownerless(folder, ""):
        try:
            line = os.pread(fd, MAX_FIRST_LINE, 0).partition(b"\n")[0]
            with contextlib.suppress(*DAMAGED):
                if not line or is_over(str(json.loads(line)["root"])):
                    path.unlink(missing_ok=True)
        finally:
            os.close(fd)


def _running_logs_beside(path: Path) -> Iterator[ChangeLog]:
    """Yield the logs of other running calls in the same directory, read without a lock."""
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    for name in names:
        if name == path.name or not name.endswith(SUFFIX):
            continue
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            fd = open_private(path.parent / name)
            log = ChangeLog(path.parent / name, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                log.read()
                yield log
            finally:
                log.close()


def _logged(fields: Mapping[str, Any], line: int, offset: int) -> LoggedChange:
    at, size = int(fields["at"]), int(fields["size"])
    return LoggedChange.of_data(fields, at=at, line=line, offset=offset, size=size)


def _sync(folder: Path) -> None:
    with contextlib.suppress(OSError):
        sync_directory(folder)
