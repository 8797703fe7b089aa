"""The log of a person: a file that only grows, with the end of the chain written down beside it."""

import errno
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from nanocoder_files import (
    append_all,
    lock_file,
    open_private,
    private_directory,
    replace_file,
    sync_directory,
)

from nanocoder_policy_audit.chain import (
    GAP,
    MAX_LINE_BYTES,
    MISSING,
    Link,
    LogFile,
    link_of,
    open_log_file,
    records_of,
    seal,
)

NAME: Final = "audit.jsonl"
FULL: Final = "audit-{:012d}.jsonl"
FULL_FILES: Final = "audit-*.jsonl"
HEAD: Final = "audit.head"
OTHERS: Final = 0o077


class LogError(Exception):
    """The log cannot be written, or is invalid; the text has the reason."""


class AuditLog:
    """Appends records to *folder*/audit.jsonl; several processes and threads may do so at once.

    At *max_bytes* a file is closed: it is renamed with the number of its last record, and the
    chain continues in a new file. 0: no limit.

    Each append locks the file and continues after the last intact record: a torn line of a killed
    process is cut off, and a record of the event "gap" has its size.
    """

    def __init__(self, folder: Path, max_bytes: int = 0) -> None:
        self.path = folder / NAME
        self._max_bytes = max_bytes
        self.head_path = folder / HEAD
        self._lock = threading.Lock()
        self._size = -1
        self._inode = 0
        self._link = Link()

    def append(self, fields: Mapping[str, Any], *, sync: bool = False) -> None:
        """Append a record; with *sync* it is on the disk when this returns. Raises LogError."""
        try:
            with self._lock:
                self._append(fields, sync=sync)
        except OSError as error:
            self._size = -1
            raise LogError(f"{self.path}: {error.strerror or error}") from error

    def head(self) -> Link | None:
        """Return the stored end of the chain, or None if it is missing or invalid."""
        try:
            with os.fdopen(open_private(self.head_path), "rb") as file:
                data = json.loads(file.read(1_000))
            seq, digest = data["seq"], data["hash"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_link = type(seq) is int and type(digest) is str and seq >= 0
        return Link(seq, digest) if is_link else None

    def files(self) -> list[Path]:
        """Return the files of the log in the order of their records."""
        full = sorted(self.path.parent.glob(FULL_FILES))
        return [*full, self.path] if exists(self.path) else full

    @contextmanager
    def opened(self) -> Iterator[tuple[Link | None, Sequence[LogFile]]]:
        """Yield a consistent view of the head and the open files; raises OSError.

        Sessions may append records meanwhile, and close a full file.
        """
        with ExitStack() as stack:
            # First, so that the files have at least the records up to it.
            head, files = self.head(), self._opened(stack)
            while not files:
                head, files = self.head(), self._opened(stack)
            yield head, files

    def _opened(self, stack: ExitStack) -> Sequence[LogFile]:
        """Open the files, or none if a session closed the last one meanwhile; raises OSError."""
        if not (paths := self.files()):
            raise FileNotFoundError(errno.ENOENT, "there is no log", str(self.path))
        try:
            last = open_log_file(paths[-1])
        except FileNotFoundError:
            return ()
        with last:
            lock_file(last.fileno(), is_shared=True)
            if self.files() != paths or not _has_name(os.fstat(last.fileno()), paths[-1]):
                return ()
            opened = [stack.enter_context(open_log_file(path)) for path in paths]
            sizes = [os.fstat(file.fileno()).st_size for file in opened]
        return [LogFile(*facts) for facts in zip(paths, opened, sizes, strict=True)]

    def _append(self, fields: Mapping[str, Any], *, sync: bool) -> None:
        private_directory(self.path.parent)
        while not self._append_to_file(fields, sync=sync):
            pass

    def _append_to_file(self, fields: Mapping[str, Any], *, sync: bool) -> bool:
        """Append to the file; return False if it was replaced, or has to be."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        descriptor = open_private(self.path, flags)
        try:
            lock_file(descriptor)
            status = os.fstat(descriptor)
            self._refuse_foreign(status)
            if not _has_name(status, self.path):
                return False
            size = status.st_size
            # A new file of another process may have the size of the one that we know.
            if (status.st_ino, size) != (self._inode, self._size) or not size:
                size = self._take_over(descriptor, size)
                self._inode = status.st_ino
            if self._max_bytes and size >= self._max_bytes:
                self._close_full()
                return False
            self._write(descriptor, size, fields, sync=sync)
        finally:
            os.close(descriptor)
        return True

    def _close_full(self) -> None:
        full = self.path.with_name(FULL.format(self._link.seq))
        if full.exists():  # a rename would replace it
            raise LogError(f"{full} is there already; `nanocoder audit verify` says more")
        self.path.rename(full)
        sync_directory(self.path.parent)
        self._size = -1

    def _refuse_foreign(self, status: os.stat_result) -> None:
        if status.st_uid != os.geteuid():
            raise LogError(f"{self.path} belongs to another user")
        if stat.S_IMODE(status.st_mode) & OTHERS:
            raise LogError(f"{self.path} is open to other users: chmod 600 {self.path}")

    def _write(self, descriptor: int, size: int, fields: Mapping[str, Any], *, sync: bool) -> None:
        line, link = seal(self._link, datetime.now(UTC).isoformat(timespec="milliseconds"), fields)
        self._size = append_all(descriptor, line, size, sync=sync)
        self._link = link
        self._write_head()
        if not size:
            sync_directory(self.path.parent)

    def _write_head(self) -> None:
        content = json.dumps({"seq": self._link.seq, "hash": self._link.hash}) + "\n"
        replace_file(self.head_path, content.encode())
        self.head_path.chmod(0o600)

    def _end_of_full(self) -> Link:
        """Return the end of the newest file that is full."""
        full = sorted(self.path.parent.glob(FULL_FILES))
        return _end_of_file(full[-1]) if full else Link()

    def _take_over(self, descriptor: int, size: int) -> int:
        """Continue after records of other processes, or a torn one; return the size."""
        end, self._link = _end_of(descriptor, size)
        if end == 0:
            self._link = self._end_of_full()
        if end is None:
            raise LogError(
                f"{self.path} was changed: its last line is no record; `nanocoder audit verify`"
                " says more. Move the file away to begin a new log"
            )
        torn, head = size - end, self.head()
        missing = max(0, head.seq - self._link.seq) if head is not None else 0
        is_cut = head is None and self._link.seq > 0
        if head is None and not is_cut:
            self._write_head()  # before the first record: a log without a head was cut
            head = self._link
        is_replaced = head is not None and not missing and not self._has(head)
        if not (torn or missing or is_cut or is_replaced):
            return size
        os.ftruncate(descriptor, end)
        expected = head if missing or is_replaced else None
        gap = {"event": GAP, "torn_bytes": torn, **({"head": MISSING} if is_cut else {})}
        if expected is not None:
            gap |= {"missing": missing, "expected": expected.hash}
        self._write(descriptor, end, gap, sync=True)
        return self._size

    def _has(self, head: Link) -> bool:
        """Return True if the log has the record that was written down as its end."""
        if head in (self._link, Link()):
            return True
        # A process was killed before it wrote down the end, or the log was changed.
        records = (record for path in reversed(self.files()) for record in records_of(path))
        return any((it["seq"], it["hash"]) == (head.seq, head.hash) for it in records)


def _end_of_file(path: Path) -> Link:
    """Return the link of the last record of a full file; raises LogError if it is damaged."""
    with open_log_file(path) as file:
        end, link = _end_of(file.fileno(), os.fstat(file.fileno()).st_size)
    if not end:
        raise LogError(f"{path} was changed; `nanocoder audit verify` says more")
    return link


def _end_of(descriptor: int, size: int) -> tuple[int | None, Link]:
    """Return the end offset of the last complete line, None if it is no record, and its link."""
    tail_start = max(0, size - 2 * MAX_LINE_BYTES)
    tail = os.pread(descriptor, size - tail_start, tail_start)
    end = tail.rfind(b"\n") + 1
    if not end:
        return (0 if not tail_start else None), Link()
    start = tail.rfind(b"\n", 0, end - 1) + 1
    link = link_of(tail[start:end])
    return (None, Link()) if link is None else (tail_start + end, link)


def _has_name(status: os.stat_result, path: Path) -> bool:
    """Return True if an open file still has its name: another process may have rotated it."""
    try:
        return os.path.samestat(status, path.lstat())
    except FileNotFoundError:
        return False


def default_folder(state: Path) -> Path:
    """Return the default folder of the log."""
    return state / "audit"


def exists(path: Path) -> bool:
    """Return True if there is a log at *path*."""
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False
