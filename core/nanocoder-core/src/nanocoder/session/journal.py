"""The journal of one session: appended to, never rewritten, owned by one process at a time.

Kinds of records: `session.started`, `session.resumed`, `session.changed` (new model, mode, cwd or
title), `message`, `call.started` (before the call runs), `call.finished`, `file.changed` (before
a file is), `undo.started` and `undo.finished` (which changes it took back),
`transcript.compacted` (its messages replace those before), `session.finished`, and any event.
Readers keep kinds they do not know.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nanocoder_files import append_all, lock_file, open_private, sync_directory

from nanocoder.errors import UsageError
from nanocoder.session.records import Record, Scan, read, title_of

Warn = Callable[[str], None]

OUTPUTS: Final = "outputs"
MAX_OUTPUT_BYTES: Final = 200_000_000
"""What a session keeps of whole outputs; beyond it the oldest go."""


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
        last = after.records[-1] if after and after.records else None
        self.id = session_id
        self.path = path
        self._descriptor = descriptor
        self._seq = last.seq if last else 0
        self._turn = last.turn if last else 0
        self._title = last.title if last else ""
        self._at = max(last.at if last else 0.0, not_before)
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

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> int:
        """Write one record and return its number.

        With *sync* it is on the disk when this returns. *data* must be ready for JSON. What the
        disk does never raises here; `warn` is told.
        """
        with self._lock:
            self._at = max(time.time(), self._at)
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
        title = title_of(title)
        if not title:
            raise UsageError("the new title is empty")
        with self._lock:
            self._title = title
            self._append("session.changed", {"title": title}, sync=False)

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
            self._complain(error)
            return ""

    def check(self) -> None:
        """Tell once if somebody deleted the file, in which nobody would find the session again."""
        with self._lock, suppress(OSError):
            if (
                self._descriptor >= 0
                and not self.problem
                and not os.fstat(self._descriptor).st_nlink
            ):
                self.problem = (
                    f"session {self.id} was deleted while it ran ({self.path} is gone):"
                    " it cannot be resumed"
                )
                self._warn(self.problem)

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
            self._complain(error)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if self._is_new and self.path is not None:
            sync_directory(self.path.parent)  # a file whose name is lost is lost
            self._is_new = False

    def _complain(self, error: OSError) -> None:
        if self.problem:
            return
        self.problem = (
            f"session {self.id} cannot be written to {self.path}: {error.strerror};"
            " it continues in memory; free some space to keep it"
        )
        self._warn(self.problem)


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
