"""A log file that several processes write at once, and that is replaced when it gets long."""

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from nanocoder import state_dir
from nanocoder_files import append_all, lock_file, open_private, private_directory


class LogFile:
    """Appends lines to *path*; beyond *max_bytes* it is rotated to FILE.1, FILE.1 to FILE.2 etc.

    *keep* is the number of rotated files. An empty *path* is log/nanocoder.jsonl in the state
    directory. *tools* has the tool of each running call, by the call's id.
    """

    def __init__(self, path: str, max_bytes: int, keep: int) -> None:
        self.path = Path(path).expanduser() if path else state_dir() / "log/nanocoder.jsonl"
        self.tools: dict[str, str] = {}
        self._max_bytes = max_bytes
        self._keep = keep
        self._lock = threading.Lock()

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record as a line; raises OSError."""
        line = json.dumps(record, ensure_ascii=False, default=str).encode() + b"\n"
        with self._lock:
            descriptor = self._open_locked()
            try:
                size = os.fstat(descriptor).st_size
                if size and size + len(line) > self._max_bytes:
                    self._rotate()
                    os.close(descriptor)
                    descriptor = self._open_locked()
                    size = os.fstat(descriptor).st_size
                append_all(descriptor, line, size)
            finally:
                os.close(descriptor)

    def _open_locked(self) -> int:
        """Open and lock the file, again if another process has just rotated it."""
        if not self.path.parent.is_dir():
            private_directory(self.path.parent)
        while True:
            descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            lock_file(descriptor)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                    return descriptor
            os.close(descriptor)

    def _rotate(self) -> None:
        """Move each file to the next number; the last one is dropped. The file is locked."""
        paths = [self.path, *(Path(f"{self.path}.{number + 1}") for number in range(self._keep))]
        for older, newer in reversed(list(pairwise(paths))):
            with suppress(FileNotFoundError):
                older.replace(newer)
        if not self._keep:
            self.path.unlink()
