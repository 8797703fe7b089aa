"""The store of results: one line of JSON for each task, by the digest of the task.

`results.jsonl` only grows while a batch works; a line that a kill cut off is dropped at the next
start. Artifacts lie in `artifacts/KEY/` and are there before their line is.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from nanocoder import UsageError

LINES: Final = "results.jsonl"
ARTIFACTS: Final = "artifacts"
LOCK: Final = "lock"
KEY: Final = re.compile(r"[0-9a-f]+")


class Results:
    """The results below one directory, and a context manager that holds its lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / LINES
        self._lock = self._file = -1

    def __enter__(self) -> Self:
        """Make the directory and lock it; raises UsageError when another batch works there."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._drop_torn_line()
            self._file = self._open()
        except BlockingIOError as error:
            self.close()
            raise UsageError(f"another batch works in {self.folder}; wait for its end") from error
        except OSError as error:
            self.close()
            problem = f"results cannot be kept in {self.folder}: {error.strerror}"
            raise UsageError(problem) from error
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write nothing more, and let others work here."""
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each result; raises UsageError for a line that is none."""
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    result = json.loads(line)
                    if result["id"] and result["key"]:
                        yield result
                        continue
                except (ValueError, KeyError, TypeError):
                    pass
                problem = "is not a result; repair or remove the line, or name another directory"
                raise UsageError(f"{self.path}:{number}: {problem}")

    def drop(self, is_dropped: "Collection[str]") -> None:
        """Forget the results with these keys, in one step, and then their artifacts."""
        if not is_dropped:
            return
        new = self.path.with_suffix(".new")
        with new.open("wb") as file:
            for result in self:
                if result["key"] not in is_dropped:
                    file.write(_line(result))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
        os.close(self._file)
        self._file = self._open()
        for key in filter(KEY.fullmatch, is_dropped):  # a file may hold any key, such as ".."
            shutil.rmtree(self.folder / ARTIFACTS / key, ignore_errors=True)

    def add(self, result: Mapping[str, Any], artifacts: Mapping[str, str]) -> None:
        """Keep one result: first its artifacts, then its line."""
        if artifacts:
            folder = self.folder / ARTIFACTS / result["key"]
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in artifacts.items():
                (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        os.write(self._file, _line({**result, "artifacts": sorted(artifacts)}))

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(self.path, flags, 0o644)

    def _drop_torn_line(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)


def _line(result: Mapping[str, Any]) -> bytes:
    return json.dumps(result, ensure_ascii=True, default=str).encode() + b"\n"
