"""The journal of one session in a file: appended to, never rewritten, owned by one process."""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Message, UsageError
from nanocoder_files import append_all, lock_file, open_private, sync_directory
from nanocoder_kit_files.redact import Redactor

from nanocoder_kit_sessions.order import USES, UseOrder
from nanocoder_kit_sessions.records import Record, Scan, is_typed, read, title_of
from nanocoder_kit_sessions.redaction import line_without_secrets

if TYPE_CHECKING:
    from nanocoder_kit_sessions.transcript import Transcript

Warn = Callable[[str], None]

OUTPUTS: Final = "outputs"
BACKUPS: Final = "backups"
MAX_OUTPUT_BYTES: Final = 200_000_000
"""Size limit of a session's stored outputs; beyond it the oldest are deleted."""


def transcript_of(records: Iterable[Record], artifacts: Path | None) -> "Transcript":
    """Return the transcript of *records*, ready for the next request; see `repaired`."""
    from nanocoder_kit_sessions.transcript import repaired  # a start reads none

    return repaired(records, artifacts)


class RecordJournal(ABC):
    """A journal of records, which subclasses store. Methods may be called from any thread.

    *folder* is the directory of the session's other files, or None if they cannot be stored.
    """

    def __init__(
        self, session_id: str, folder: Path | None = None, *, after: Record | None = None
    ) -> None:
        """Continue after a record, if there is one."""
        last = after or Record(0, "", 0.0, {}, prompts=0)
        self.id = session_id
        self.problem = ""
        self.outputs = folder and folder / OUTPUTS
        self.backups = folder and folder / BACKUPS
        self._seq = last.seq
        self._turn = last.turn
        self._prompts = last.prompts
        self._title = last.title
        self._is_rewound = last.is_rewound
        self._at = last.at
        self._lock = threading.RLock()  # reentrant: warn may append

    @property
    def artifacts(self) -> Path | None:
        """The directory of the session's artifacts, which need not exist."""
        return None

    def append(
        self, kind: str, data: Mapping[str, Any], *, sync: bool = False, is_use: bool = True
    ) -> int:
        """Store one record and return its number.

        With *sync* it is on the disk when this returns. *data* must be JSON-serializable. With
        *is_use* the record has the current time, otherwise that of the record before.
        """
        with self._lock:
            self._at = max(time.time() if is_use else 0.0, self._at)
            return self._append(kind, data, sync=sync)

    @abstractmethod
    def records(self) -> Sequence[Record]:
        """Return the records of the session; raises UsageError."""

    def messages(self) -> Sequence[Message]:
        """Return the messages, as `repaired` makes them from the records; raises UsageError."""
        return tuple(transcript_of(self.records(), self.artifacts).messages)

    def replaced(self) -> Sequence[tuple[tuple[Message, ...], int]]:
        """Return the messages that each compaction in effect replaced; raises UsageError."""
        return transcript_of(self.records(), self.artifacts).replaced

    def rewind(self, first: int, prompt: int) -> None:
        """Remove the records from number *first* on, where *prompt* begins, from the conversation.

        Raises: UsageError when the records cannot be read.
        """
        with self._lock:
            before = [record for record in self.records() if record.seq < first]
            last = next(reversed(before), Record(0, "", 0.0, {}, prompts=0))
            self._turn, self._prompts, self._is_rewound = last.turn, last.prompts, True
            self.append("transcript.rewound", {"from": first, "prompt": prompt}, sync=True)

    def rename(self, title: str) -> None:  # noqa: ARG002 - files take it
        """Set the session's title; raises UsageError if it is empty or cannot be stored."""
        raise UsageError("this session is not kept, so it cannot be named")

    def artifact(self, name: str, data: bytes) -> str:
        """Store *data* under a name like *name*, and return its path, or "" on failure."""
        return self._store_file(self.artifacts, name, data)

    def output(self, name: str, data: bytes) -> str:
        """Store a whole output for the model to read, and return its path, or "" on failure.

        All outputs have at most 200 MB: the oldest are deleted first.
        """
        return self._store_file(self.outputs, name, data, MAX_OUTPUT_BYTES)

    def close(self) -> None:  # noqa: B027 - memory has nothing to release
        """Release the session's file; closing twice is fine."""

    def _append(self, kind: str, data: Mapping[str, Any], *, sync: bool) -> int:
        self._seq += 1
        if kind == "message" and data.get("role") == "assistant":
            self._turn += 1
        if kind == "message" and self._prompts is not None:
            self._prompts += is_typed(data)
        state = self._turn, self._title, self._is_rewound, self._prompts
        record = Record(self._seq, kind, self._at, data, *state)
        self._store(record, sync=sync)
        return self._seq

    @abstractmethod
    def _store(self, record: Record, *, sync: bool) -> None: ...

    def _store_file(self, folder: Path | None, name: str, data: bytes, limit_bytes: int = 0) -> str:
        if folder is None:
            return ""
        # Few sessions store more than their records.
        from nanocoder_kit_sessions.artifacts import keep_file

        try:
            with self._lock:
                return str(keep_file(folder, name, data, limit_bytes=limit_bytes) or "")
        except OSError as error:
            self._complain_of(error)
            return ""

    def _complain_of(self, error: OSError) -> None:
        self.problem = self.problem or f"{self.outputs}: {error.strerror}"


class FileJournal(RecordJournal):
    """Writes each record with one write, and stores files in the directory beside it.

    If the disk is full or broken, *warn* is called once; records are buffered in memory and
    written, in order, as soon as it works again.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        *,
        after: Scan | None = None,
        warn: Warn = lambda _message: None,
        order: UseOrder | None = None,
    ) -> None:
        """Continue *after* the records in the file of the locked *descriptor*.

        *order* records each use of the session.
        """
        last = after.records[-1] if after and after.records else None
        super().__init__(path.stem, path.with_suffix(""), after=last)
        self.path = path
        self._descriptor = descriptor
        self._order = order
        self._size = after.end if after else 0
        self._pending: deque[bytearray] = deque()
        self._warn = warn
        self._is_new = after is None
        self._redactor = Redactor()

    @property
    def artifacts(self) -> Path:
        """The directory of the session's artifacts, which need not exist."""
        return self.path.with_suffix("")

    def records(self) -> Sequence[Record]:
        """Return the records that are on the disk; raises UsageError."""
        return read(self.path)

    def first(self) -> Record | None:
        """Return the first record, which has the session's directory and mode; None if damaged."""
        with suppress(OSError), self.path.open("rb") as file:
            return Record.of_line(file.readline())
        return None

    def rename(self, title: str) -> None:
        """Give the session a title. That is no use of it: the time of its last record stays.

        Raises: UsageError when the title is empty.
        """
        if not title_of(title):
            raise UsageError("the new title is empty")
        self._title = title_of(title)
        self.append("session.changed", {"title": self._title}, is_use=False)

    def close(self) -> None:
        """Write buffered records if possible, and close the file; closing twice is fine."""
        with self._lock:
            if self._descriptor < 0:
                return
            self._flush(sync=False)
            os.close(self._descriptor)
            self._descriptor = -1

    def _store(self, record: Record, *, sync: bool) -> None:
        if self._descriptor < 0:
            return
        self._pending.append(line_without_secrets(record, self._redactor))
        self._flush(sync=sync)
        if record.kind in USES and self._order is not None:
            self._order.note(self.id)
        if record.kind == "run.finished":
            self._check()

    def _check(self) -> None:
        """Tell once if the file was deleted: the session cannot be resumed then."""
        with suppress(OSError):
            if not os.fstat(self._descriptor).st_nlink:
                self._complain(
                    f"session {self.id} was deleted while it ran ({self.path} is gone):"
                    " it cannot be resumed"
                )

    def _flush(self, *, sync: bool) -> None:
        try:
            while self._pending:
                self._size = append_all(self._descriptor, self._pending[0], self._size)
                self._pending.popleft()
            if sync:
                self._sync()
        except OSError as error:
            self._complain_of(error)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if self._is_new:
            sync_directory(self.path.parent)  # a file whose name is lost is lost
            self._is_new = False

    def _complain_of(self, error: OSError) -> None:
        self._complain(
            f"session {self.id} cannot be written to {self.path}: {error.strerror};"
            " it continues in memory; free some space to keep it"
        )

    def _complain(self, problem: str) -> None:
        """Report only the first problem."""
        if not self.problem:
            self.problem = problem
            self._warn(problem)


def locked(path: Path, flags: int = 0) -> int:
    """Open a journal for appending and lock it.

    Raises: UsageError (session_in_use) if another process has it, OSError.
    """
    descriptor = open_private(path, flags | os.O_RDWR | os.O_APPEND)
    try:
        lock_file(descriptor, wait=False)
    except BlockingIOError:
        os.close(descriptor)
        raise _in_use(path) from None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _in_use(path: Path) -> UsageError:
    owners = [record.data["pid"] for record in read(path) if "pid" in record.data]
    owner = f"process {owners[-1]}" if owners else "another process"
    return UsageError(
        f"session {path.stem} is in use by {owner}; end it there, or start another session",
        error_class="session_in_use",
    )
