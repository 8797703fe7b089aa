"""The journal of one session: appended to, never rewritten, owned by one process at a time.

Kinds of records: `session.started`, `session.resumed`, `session.changed` (new model, mode, cwd or
title), `message`, `call.started` (before the call runs), `call.finished`, `file.changed` (before
a file is), `undo.started` and `undo.finished` (which changes it took back),
`transcript.compacted` (its messages replace those before), `session.finished`, and any event.
Readers keep kinds they do not know.
"""

import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from nanocoder_files import lock_file, open_private

from nanocoder.errors import UsageError
from nanocoder.session.records import Record, Scan, encode, read

Warn = Callable[[str], None]

ODD_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME_CHARS: Final = 80
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

    def rename(self, title: str) -> None:
        """Give the session a name. That is no use of it: the time of its last record stays."""
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
        if self.outputs is None or len(data) > MAX_OUTPUT_BYTES:
            return ""
        with self._lock:
            _make_room(self.outputs, MAX_OUTPUT_BYTES - len(data))
            return self._keep(self.outputs, name, data)

    def _keep(self, folder: Path | None, name: str, data: bytes) -> str:
        if folder is None:
            return ""
        try:
            private_directory(folder)
            return str(_written(folder, name, data))
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
            self._pending.append(encode(record))
            self._flush(sync=sync)
        return self._seq

    def _flush(self, *, sync: bool) -> None:
        try:
            while self._pending:
                self._write(self._pending[0])
                self._pending.popleft()
            if sync:
                self._sync()
        except OSError as error:
            self._complain(error)

    def _write(self, line: bytes) -> None:
        """Write one whole line or none of it."""
        rest = line
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if self._is_new and self.path is not None:
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)  # a file whose name is lost is lost
            finally:
                os.close(folder)
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


def private_directory(path: Path) -> None:
    """Make *path* and what is missing above it, for the user's eyes only."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(path.lstat().st_mode) & 0o077:
        path.chmod(0o700)


def _make_room(folder: Path, most: int) -> None:
    """Remove the oldest files of *folder* until those that stay have at most *most* bytes."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            found.append((status.st_mtime_ns, entry.path, status.st_size))
    total = sum(size for _, _, size in found)
    for _, path, size in sorted(found):
        if total <= most:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size


def _in_use(path: Path) -> UsageError:
    owners = [record.data["pid"] for record in read(path) if "pid" in record.data]
    owner = f"process {owners[-1]}" if owners else "another process"
    error = UsageError(
        f"session {path.stem} is in use by {owner}; end it there, or start another session"
    )
    error.error_class = "session_in_use"
    return error


def _written(folder: Path, name: str, data: bytes) -> Path:
    """Write *data* to a new file; a name that is taken gets a number."""
    stem = ODD_CHARACTERS.sub("_", name).strip("._")[:MAX_NAME_CHARS] or "artifact"
    number = 0
    while True:
        path = folder / (f"{number}-{stem}" if number else stem)
        try:
            descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            number += 1
            continue
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path
