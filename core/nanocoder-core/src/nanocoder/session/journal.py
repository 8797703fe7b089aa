"""The journal of one session: appended to, never rewritten, owned by one process at a time.

One line is one record with a checksum over the bytes before it. A reader takes every line that is
whole: each has its own checksum and its number, so that a damaged line loses itself alone. A line
with a number that was passed already is none of the journal's.

Kinds of records: `session.started`, `session.resumed`, `session.changed` (new model, mode, cwd or
title), `message`, `call.started` (before the call runs), `call.finished`, `file.changed` (before
a file is), `undo.started` and `undo.finished` (which changes it took back),
`transcript.compacted` (its messages replace those before), `transcript.rewound` (takes the records
since number `from` out of the transcript), `session.finished`, and any event.
Readers keep kinds they do not know.
"""

import errno
import json
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from attrs import frozen
from nanocoder_files import append_all, lock_file, open_private, sync_directory
from nanocoder_schema import Shown, Value

from nanocoder.errors import UsageError

Warn = Callable[[str], None]

OUTPUTS: Final = "outputs"
MAX_OUTPUT_BYTES: Final = 200_000_000
"""A session keeps so much of whole outputs; beyond it the oldest go."""
MAX_LINE_BYTES: Final = 268_435_456
MAX_MISSING: Final = 100_000
"""A number further ahead is no record of this journal."""
BOM: Final = b"\xef\xbb\xbf"
ESCAPED_SURROGATE: Final = b"\\ud"
FAR_S: Final = 253_402_300_800.0
"""The year 10000: a time from there on cannot be shown."""
TITLE_CHARS: Final = 80
SEAL: Final = b',"crc":"%08x"}\n'
SEAL_BYTES: Final = len(SEAL % 0)


@frozen(eq=False, repr=False)
class Record(Value):
    """One record.

    *seq* counts from 1, *at* is seconds since the epoch and never falls within a session.
    *turn* is the number of the model's answers so far, this record included. *title* is the name
    that a person gave the session, in each record from then on: a list reads the last one only.
    """

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]
    turn: int = 0
    title: str = ""

    def line(self) -> bytes:
        """Return the line of a journal that holds the record, ending in a line feed."""
        head: dict[str, Any] = {
            "seq": self.seq,
            "kind": self.kind,
            "at": self.at,
            "turn": self.turn,
        }
        head |= {"title": self.title} if self.title else {}
        body = _json(head, self.data)[:-1]
        return body + SEAL % zlib.crc32(body)

    @classmethod
    def of_line(cls, line: bytes) -> "Record | None":
        """Return the record of one line of a journal, None when it is torn or damaged."""
        if not cls.is_intact(line):
            return None
        body = line[:-SEAL_BYTES]
        try:
            fields = json.loads(body + b"}")
            return _record(_valid(fields) if ESCAPED_SURROGATE in body else fields)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None

    @staticmethod
    def is_intact(line: bytes) -> bool:
        """Tell whether a line of a journal is as it was written."""
        return line[-SEAL_BYTES:] == SEAL % zlib.crc32(line[:-SEAL_BYTES])


@frozen(eq=False, repr=False)
class Scan(Shown):
    """The whole records of a file, the offset where they end, and the size of the file in bytes.

    *missing* are the numbers of records before the last whole one that are damaged or gone.
    """

    records: list[Record]
    end: int
    size: int
    missing: list[int]


class Journal:
    """Writes one record with one write. Methods may be called from any thread.

    When the disk is full or broken, *warn* is told once; records wait in memory and are written, in
    order, as soon as it works again. A journal without a *path* keeps nothing.
    """

    def __init__(
        self,
        session_id: str,
        path: Path | None = None,
        descriptor: int = -1,
        *,
        after: Scan | None = None,
        warn: Warn = lambda _message: None,
        not_before: float = 0.0,
    ) -> None:
        """Continue *after* the records that the locked *descriptor* holds already."""
        last = after.records[-1] if after and after.records else Record(0, "", 0.0, {})
        self.id = session_id
        self.path = path
        self._descriptor = descriptor
        self._seq = last.seq
        self._turn = last.turn
        self._title = last.title
        self._at = max(last.at, not_before)
        self._size = after.end if after else 0
        self._pending: deque[bytes] = deque()
        self._lock = threading.RLock()  # what warn calls may append
        self._warn = warn
        self.problem = ""
        self._is_new = after is None

    @property
    def artifacts(self) -> Path | None:
        """The directory of the session's artifacts, which need not exist."""
        return None if self.path is None else self.path.with_suffix("")

    @property
    def outputs(self) -> Path | None:
        """The directory of the outputs that were too long for the model, which may read them."""
        return None if self.artifacts is None else self.artifacts / OUTPUTS

    def append(
        self, kind: str, data: Mapping[str, Any], *, sync: bool = False, is_use: bool = True
    ) -> int:
        """Write one record and return its number.

        With *sync* it is on the disk when this returns. *data* must be ready for JSON. A record
        that *is_use* of the session has the time now, another one that of the record before. A
        failing disk never raises here; `warn` is told.
        """
        with self._lock:
            self._at = max(time.time() if is_use else 0.0, self._at)
            return self._append(kind, data, sync=sync)

    def records(self) -> Sequence[Record]:
        """Return the records that are on the disk; raises UsageError."""
        return () if self.path is None else read(self.path)

    def rename(self, title: str) -> None:
        """Give the session a title. That is no use of it: the time of its last record stays.

        Raises: UsageError when the title is empty, or the session is not kept.
        """
        if self.path is None:
            raise UsageError("this session is not kept, so it cannot be named")
        if not title_of(title):
            raise UsageError("the new title is empty")
        self._title = title_of(title)
        self.append("session.changed", {"title": self._title}, is_use=False)

    def artifact(self, name: str, data: bytes) -> str:
        """Keep *data* under a name like *name* and return its path, nothing if that fails."""
        return self._keep(self.artifacts, name, data)

    def output(self, name: str, data: bytes) -> str:
        """Keep a whole output, for the model to read; at most 200 MB, and the oldest go for it.

        Returns its path, nothing if that fails.
        """
        return self._keep(self.outputs, name, data, MAX_OUTPUT_BYTES)

    def _keep(self, folder: Path | None, name: str, data: bytes, limit_bytes: int = 0) -> str:
        if folder is None:
            return ""
        from nanocoder_files import keep_file  # few sessions keep more than their records

        try:
            with self._lock:
                return str(keep_file(folder, name, data, limit_bytes=limit_bytes) or "")
        except OSError as error:
            self._complain_of(error)
            return ""

    def check(self) -> None:
        """Tell once if somebody deleted the file, in which nobody would find the session again."""
        with self._lock, suppress(OSError):
            if self._descriptor >= 0 and not os.fstat(self._descriptor).st_nlink:
                self._complain(
                    f"session {self.id} was deleted while it ran ({self.path} is gone):"
                    " it cannot be resumed"
                )

    def close(self) -> None:
        """Try once more to write what waits, and let go of the file; closing twice is fine."""
        with self._lock:
            if self._descriptor < 0:
                return
            self._flush(sync=False)
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, kind: str, data: Mapping[str, Any], *, sync: bool) -> int:
        self._seq += 1
        if kind == "message" and data.get("role") == "assistant":
            self._turn += 1
        if self._descriptor >= 0:
            record = Record(self._seq, kind, self._at, data, self._turn, self._title)
            self._pending.append(record.line())
            self._flush(sync=sync)
        return self._seq

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
        if self._is_new and self.path is not None:
            sync_directory(self.path.parent)  # a file whose name is lost is lost
            self._is_new = False

    def _complain_of(self, error: OSError) -> None:
        self._complain(
            f"session {self.id} cannot be written to {self.path}: {error.strerror};"
            " it continues in memory; free some space to keep it"
        )

    def _complain(self, problem: str) -> None:
        """Say the first problem, and no other one."""
        if not self.problem:
            self.problem = problem
            self._warn(problem)


def title_of(text: str) -> str:
    """Return the first words of *text*, in one line."""
    line = " ".join(text[: 4 * TITLE_CHARS].split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def read(path: Path) -> list[Record]:
    """Return the whole records of a journal; raises UsageError if it is no file."""
    try:
        descriptor = open_private(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise UsageError(f"{path}: this is not a regular file, so it is no journal") from None
        raise UsageError(f"{path}: the journal cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        return scan(file).records


def scan(file: BinaryIO) -> Scan:
    """Read whole records from the start of *file*."""
    records: list[Record] = []
    missing: list[int] = []
    end = at = last = 0
    file.seek(0)
    while line := file.readline(MAX_LINE_BYTES):
        record = Record.of_line(line.removeprefix(BOM) if at == 0 else line)
        at += len(line)
        if record is None or not last < record.seq <= last + MAX_MISSING:
            continue
        missing += range(last + 1, record.seq)
        records.append(record)
        end, last = at, record.seq
    return Scan(records, end, os.fstat(file.fileno()).st_size, missing)


def locked(path: Path, flags: int = 0) -> int:
    """Open a journal for appending and lock it.

    Raises: UsageError (session_in_use) when somebody else has it, OSError.
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


def _valid(fields: Any) -> Any:
    """Replace halves of surrogate pairs by "?": no request that holds one could be sent."""
    return json.loads(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))


def _record(fields: Any) -> Record:
    seq, kind, at, data = fields["seq"], fields["kind"], fields["at"], fields["data"]
    turn = fields.get("turn", 0)
    if not (isinstance(seq, int) and isinstance(kind, str) and isinstance(data, dict)):
        raise TypeError(kind)
    if not 0.0 <= at < FAR_S:
        raise ValueError(at)
    return Record(seq, kind, float(at), data, int(turn), str(fields.get("title", "")))


def _json(head: Mapping[str, Any], data: Mapping[str, Any]) -> bytes:
    fields = {**head, "data": data}
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name or a model: escaped, it stays valid UTF-8.
        return json.dumps(fields, separators=(",", ":"), default=str).encode()
    except (TypeError, ValueError, RecursionError) as error:
        # A tool's data can hold anything; a record without it beats a session without a journal.
        return _json(head, {"unwritable": f"{type(error).__name__}: {error}"})
