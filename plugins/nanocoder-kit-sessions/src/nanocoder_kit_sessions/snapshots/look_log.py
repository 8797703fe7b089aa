"""The index of a running session on the disk, so that a kill loses nothing.

The file of a session is locked while its process lives. Its first line names the session, and each
further line has the changes by one look, so that a write is as small as the changes. The next
session of the workspace begins with the last index.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from nanocoder import Workspace
from nanocoder_files import append_all, create_locked, lock_ownerless, open_private

from nanocoder_kit_sessions.snapshots.command_log import (
    DAMAGED,
    CommandEntry,
    append_entry,
    last_number,
)
from nanocoder_kit_sessions.snapshots.index import Index, IndexedFile, Limits, Look, rows_of
from nanocoder_kit_sessions.snapshots.listing import TooLargeError, list_workspace

SUFFIX: Final = ".looks"
VERSION: Final = 2
MAX_FILES: Final = 1_000_000


@frozen
class StoredLooks:
    """The content of a file: the *index*, and the calls that were *running* in the last look.

    *session* is the folder of the session's own files.
    """

    path: Path
    session: Path
    index: Index
    running: tuple[str, ...] = ()


@define
class LookLog:
    """The file of one session that lives, open and locked."""

    path: Path
    _fd: int
    _size: int = 0
    _left_out: set[str] = field(factory=set)
    _folders: set[str] = field(factory=set)

    @classmethod
    def create(cls, folder: Path, session: Path, index: Index) -> "LookLog":
        """Make the file of *session* in *folder*, with all of *index*; raises OSError."""
        number = 1 + max((_number(path) for path in _files(folder)), default=0)
        log = cls(*create_locked(folder, f"{number:08d}", SUFFIX))
        log._append({"version": VERSION, "session": str(session)})
        log.write(index, index.files, ())
        return log

    def write(
        self, index: Index, rows: Mapping[str, IndexedFile | None], running: Iterable[str]
    ) -> None:
        """Append the changes by a look, and the running calls; raises OSError."""
        line: dict[str, Any] = {"files": rows_of(rows), "running": [*running]}
        if index.folders != self._folders:
            line["folders"] = sorted(index.folders)
        if index.left_out != self._left_out:
            line["left_out"] = sorted(index.left_out)
        self._folders, self._left_out = index.folders, index.left_out
        self._append(line)

    def close(self) -> None:
        """Leave the file to the next session."""
        os.close(self._fd)

    def _append(self, data: Mapping[str, Any]) -> None:
        line = json.dumps(data, separators=(",", ":")).encode() + b"\n"
        self._size = append_all(self._fd, line, self._size)


def latest_looks(folder: Path, session: Path) -> StoredLooks | None:
    """Return the looks of *session* stored in *folder*, else the newest of any session."""
    stored = [*filter(None, map(_read, sorted(_files(folder), key=_number)))]
    own = [each for each in stored if each.session == session]
    return next(reversed(own or stored), None)


def remove_looks(folder: Path) -> None:
    """Remove the files of sessions that have ended."""
    with contextlib.suppress(OSError):
        for path, fd in lock_ownerless(folder, SUFFIX):
            path.unlink(missing_ok=True)
            os.close(fd)


def finish_interrupted(folder: Path, workspace: Workspace) -> None:
    """Log the changes of commands that were running when their process was killed.

    *folder* has the looks of the sessions of *workspace*. Later changes by others are attributed
    to the commands, since nothing tells them apart. Raises: OSError.
    """
    if not _files(folder):
        return
    for path, fd in lock_ownerless(folder, SUFFIX):
        try:
            stored = _read(path)
            if stored is not None and stored.running:
                with contextlib.suppress(TooLargeError):
                    append_entry(stored.session, _entry_of(stored, workspace))
                line = json.dumps({"files": {}, "running": []}).encode() + b"\n"
                append_all(fd, line, os.fstat(fd).st_size)
        finally:
            os.close(fd)


def _entry_of(stored: StoredLooks, workspace: Workspace) -> CommandEntry:
    # The present content is not stored: rules may hide it.
    look = Look(stored.index, workspace, Limits())
    look.compare(list_workspace(workspace, workspace.root, MAX_FILES))
    return CommandEntry(
        at=time.time(),
        root=str(workspace.root),
        calls=stored.running,
        ended=stored.running,
        changes=look.changes,
        after=last_number(stored.session),
    )


def _files(folder: Path) -> list[Path]:
    return [*folder.glob(f"*{SUFFIX}")]


def _number(path: Path) -> int:
    digits = path.name[:8]
    return int(digits) if digits.isdecimal() else 0


def _read(path: Path) -> StoredLooks | None:
    """Return the content of a file, up to the first damaged line, or None."""
    try:
        with os.fdopen(open_private(path), "rb") as file:
            head, *lines = file.read().splitlines(keepends=True)
        data = json.loads(head)
        if data["version"] != VERSION:
            return None
        session = Path(data["session"])
    except (OSError, *DAMAGED):
        return None
    index, running = Index(session.name, is_new=False), tuple[str, ...]()
    for line in _parse_lines(lines):
        _apply(index, line)
        running = tuple(map(str, line["running"]))
    return StoredLooks(path, session, index, running)


def _parse_lines(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            return


def _apply(index: Index, line: Mapping[str, Any]) -> None:
    for path, row in line["files"].items():
        if row is None:
            index.files.pop(path, None)
        else:
            index.files[path] = IndexedFile.of_row(row)
    index.folders = set(line.get("folders", index.folders))
    index.left_out = set(line.get("left_out", index.left_out))
