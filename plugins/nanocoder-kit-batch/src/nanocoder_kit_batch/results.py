"""The store of results: one line of JSON for each task, by the digest of the task.

`results.jsonl` only grows while a batch works; a line that a kill cut off is dropped at the next
start. Artifacts lie in `artifacts/KEY/` and are there before their line is.
"""

import errno
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from nanocoder import UsageError
from nanocoder_files import lock_file, open_private
from nanocoder_kit_process.trees import remove_tree

from nanocoder_kit_batch.own_files import open_own, own_folder, refuse_traps, write_own

LINES: Final = "results.jsonl"
ARTIFACTS: Final = "artifacts"
LOCK: Final = "lock"
MOST: Final = 1e15
"""No tokens, dollars or seconds are more."""
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
            with own_folder(self.folder) as directory:
                refuse_traps(self.folder, directory)
                lock = os.O_RDWR | os.O_CREAT
                self._lock = open_own(self.folder / LOCK, lock, directory=directory)
            lock_file(self._lock, wait=False)
            self._drop_torn_line()
            self._file = self._open()
        except BlockingIOError as error:
            self.close()
            raise UsageError(f"another batch works in {self.folder}; wait for its end") from error
        except UsageError:
            self.close()
            raise
        except OSError as error:
            self.close()
            problem = f"results cannot be kept in {self.folder}: {error.strerror}"
            raise UsageError(problem) from error
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write nothing more, and let others work here."""
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each result; raises UsageError for an invalid line."""
        try:
            descriptor = open_private(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as lines:
            for number, line in enumerate(lines, 1):
                with suppress(ValueError, RecursionError):
                    result = json.loads(line)
                    if _is_result(result):
                        yield result
                        continue
                problem = "is not a result; repair or remove the line, or name another directory"
                raise UsageError(f"{self.path}:{number}: {problem}")

    def drop(self, is_dropped: "Collection[str]") -> None:
        """Delete the results with these keys atomically, and then their artifacts."""
        if not is_dropped:
            return
        remaining = (_line(result) for result in self if result["key"] not in is_dropped)
        write_own(self.folder, LINES, remaining, sync=True)
        os.close(self._file)
        self._file = self._open()
        with own_folder(self.folder, [ARTIFACTS]):
            for key in filter(KEY.fullmatch, is_dropped):  # a file may have any key: ".."
                with suppress(OSError):
                    remove_tree(self.folder / ARTIFACTS / key)

    def add(self, result: Mapping[str, Any], artifacts: Mapping[str, str]) -> None:
        """Store one result: first its artifacts, then its line."""
        for name, text in artifacts.items():
            data = text.encode("utf-8", "surrogateescape")
            write_own(self.folder, f"{ARTIFACTS}/{result['key']}/{name}", [data])
        self._append(_line({**result, "artifacts": sorted(artifacts)}))

    def _append(self, line: bytes) -> None:
        """Write a whole line or none: the next one would be joined to a part of it."""
        size = os.fstat(self._file).st_size
        why = os.strerror(errno.ENOSPC)
        try:
            if os.write(self._file, line) == len(line):
                return
        except OSError as error:
            why = str(error.strerror)
        with suppress(OSError):
            os.ftruncate(self._file, size)
        problem = f"{self.path} cannot be written: {why}"
        raise UsageError(f"{problem}; free some space, and repeat the command")

    def _open(self) -> int:
        return open_own(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def _drop_torn_line(self) -> None:
        with suppress(FileNotFoundError), os.fdopen(open_own(self.path, os.O_RDWR), "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)


def _is_result(value: Any) -> bool:
    """Return True if a line has all that figures and pages are made from."""
    if not isinstance(value, dict) or not all(value.get(name) for name in ("id", "key")):
        return False
    usage, texts = value.get("usage"), ("id", "key", "stop_reason")
    error = value.get("error", "")
    return (
        all(isinstance(value.get(name), str) for name in texts)
        and isinstance(usage, dict)
        and all(_is_number(usage.get(name)) for name in ("input_tokens", "output_tokens"))
        and (value.get("cost", "") is None or _is_number(value.get("cost")))
        and _is_number(value.get("seconds", 0.0))
        and isinstance(value.get("checked", ""), bool | None)
        and (error is None or (isinstance(error, dict) and _has_texts(error, *error)))
        and _has_texts(value, "model", "set", "session_id")
    )


def _has_texts(value: Mapping[str, Any], *names: str) -> bool:
    """Return True if the values with these *names*, as far as present, are strings."""
    return all(isinstance(value.get(name), str | None) for name in names)


def _is_number(value: Any) -> bool:
    """Return True if *value* is a finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= MOST


def _line(result: Mapping[str, Any]) -> bytes:
    return json.dumps(result, ensure_ascii=True, default=str).encode() + b"\n"
