"""The index of files: the stamp of each, and the content that it had with that stamp."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Any, Final

from attrs import define, evolve, field, frozen
from nanocoder import NanocoderError, Workspace, unescape_path
from nanocoder_files import Change, FileKind, FileState

from nanocoder_kit_sessions.snapshots.command_log import CommandChange
from nanocoder_kit_sessions.snapshots.git_store import blob_of
from nanocoder_kit_sessions.snapshots.listing import Listing, Stamp

READ_LIMIT_S: Final = 5.0
"""Seconds after which a look leaves new files to the next one."""
MISSING: Final = FileState()
FOLDER: Final = FileState(FileKind.DIRECTORY)


class TooMuchError(Exception):
    """The files exceed the limit of stored content."""


@frozen
class IndexedFile:
    """A file as it was: *digest* is its SHA-256, *blob* its name in git, or "" if not stored.

    *target* is the target of a link. *stamp* is None if a later change could have the same stamp.
    """

    stamp: Stamp | None
    size: int
    mode: int
    digest: str = ""
    blob: str = ""
    target: str = ""

    @property
    def state(self) -> FileState:
        """The state for the record of a change."""
        if self.target:
            return FileState(FileKind.LINK, target=self.target)
        return FileState(FileKind.FILE, self.digest, self.size, mode=self.mode)

    def row(self) -> list[Any]:
        """Return it ready for JSON."""
        return [self.stamp, self.size, self.mode, self.digest, self.blob, self.target]

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> "IndexedFile":
        """Return the file that `row` describes; raises TypeError or ValueError."""
        stamp, size, mode, digest, blob, target = row
        words = str(digest), str(blob), str(target)
        return cls(Stamp(*map(int, stamp)) if stamp else None, int(size), int(mode), *words)


@frozen
class Limits:
    """Bytes of one file, of all files together, and of those that git ignores."""

    file_bytes: int = 2_000_000
    total_bytes: int = 100_000_000
    ignored_bytes: int = 20_000_000


@define
class Index:
    """The files, by their paths, the *folders*, and the *left_out* paths of a workspace.

    *crowded* folders of ignored files are not listed. *session* owns the contents. An index that
    *is_new* has no earlier state to compare with.
    """

    session: str = ""
    files: dict[str, IndexedFile] = field(factory=dict)
    folders: set[str] = field(factory=set)
    left_out: set[str] = field(factory=set)
    crowded: set[str] = field(factory=set)
    is_new: bool = True

    def had_left_out(self, path: str) -> bool:
        """Return True if *path*, or a folder above it, existed but was left out."""
        return not self.left_out.isdisjoint([path, *_folders_of(path)])


@define
class Look:
    """One look at *workspace*: the *changes* since the index was made, and new *contents*.

    *rows* are the changed files of the index, None for a deleted one.
    """

    index: Index
    workspace: Workspace
    limits: Limits
    changes: list[CommandChange] = field(factory=list)
    contents: dict[str, bytes | None] = field(factory=dict)
    rows: dict[str, IndexedFile | None] = field(factory=dict)
    _new_bytes: int = 0
    _deadline: float = field(factory=lambda: time.monotonic() + READ_LIMIT_S)

    def compare(self, listing: Listing) -> None:
        """Update the index to the state of *listing*; raises TooMuchError."""
        index, before = self.index, self.index.files
        changed = {
            path: stamp
            for path, stamp in listing.files.items()
            if (file := before.get(path)) is None or file.stamp != stamp or self._is_unread(file)
        }
        if changed or before.keys() - listing.files.keys() or listing.folders != index.folders:
            self._compare_new_folders(listing.folders - index.folders)
            # Deleted files first: a file or link may have replaced a folder.
            self._compare_deleted(sorted(before.keys() - listing.files.keys()), listing)
            for path in sorted(index.folders - listing.folders, reverse=True):
                if self._state(path, listing) == MISSING:
                    self._add_change(path, FOLDER, MISSING)
            # Known files come first: the rest may have to wait.
            new, ignored = changed.keys() - before.keys(), listing.ignored
            for path in sorted(changed, key=lambda path: (path in ignored, path in new, path)):
                self._compare_file(path, changed[path], listing)
        index.folders, index.left_out = listing.folders, listing.left_out
        index.crowded, index.is_new = listing.crowded, False

    def _compare_new_folders(self, paths: Iterable[str]) -> None:
        for path in sorted(paths):
            if path in self.index.files:  # the folder replaced a file
                file = self._drop(path)
                self._add_change(path, file.state, FOLDER, file.blob)
            elif not self.index.had_left_out(path):
                self._add_change(path, MISSING, FOLDER)

    def _compare_deleted(self, paths: Iterable[str], listing: Listing) -> None:
        for path in paths:
            before, now = self._drop(path), self._state(path, listing)
            if now is not None:
                self._add_change(path, before.state, now, before.blob)

    def _compare_file(self, path: str, stamp: Stamp, listing: Listing) -> None:
        before, is_ignored = self.index.files.get(path), path in listing.ignored
        if is_ignored and self._new_bytes > self.limits.ignored_bytes:
            return
        was_there = self.index.is_new or is_ignored or self.index.had_left_out(path)
        is_new = before is None and not was_there
        is_same = before is not None and before.stamp == stamp
        file = self._read(path, stamp, listing, can_wait=is_same or not (before or is_new))
        if file is None:
            return
        self.index.files[path] = self.rows[path] = file
        if is_ignored:
            return  # programs write these all the time, and recreate them
        if is_new:
            self._add_change(path, FOLDER if path in self.index.folders else MISSING, file.state)
        elif before is not None and not is_same:
            self._add_change(path, before.state, file.state, before.blob)

    def _drop(self, path: str) -> IndexedFile:
        self.contents[path] = self.rows[path] = None
        return self.index.files.pop(path)

    def _add_change(self, path: str, before: FileState, after: FileState, blob: str = "") -> None:
        if not self.index.is_new and not before.resembles(after):
            self.changes.append(CommandChange(Change(path, before, after), blob))

    def _is_unread(self, file: IndexedFile) -> bool:
        return not (file.digest or file.target) and file.size <= self.limits.file_bytes

    def _read(
        self, path: str, stamp: Stamp, listing: Listing, *, can_wait: bool
    ) -> IndexedFile | None:
        """Read a file, or return None if that is impossible: it is left out."""
        file = IndexedFile(stamp, stamp.size, S_IMODE(stamp.mode))
        is_late = can_wait and time.monotonic() > self._deadline
        if is_late or (stamp.size > self.limits.file_bytes and not stamp.is_link):
            return file
        try:
            if stamp.is_link:
                target = os.readlink(self.workspace.root / unescape_path(path))
                return evolve(file, size=0, target=target)
            data = self.workspace.read_bytes(path, max_bytes=self.limits.file_bytes)
        except (OSError, NanocoderError):
            listing.files.pop(path, None)
            listing.left_out.add(path)
            return None
        is_settled = not listing.may_change_unseen(stamp)
        return self._with_content(path, data, evolve(file, stamp=stamp if is_settled else None))

    def _with_content(self, path: str, data: bytes, file: IndexedFile) -> IndexedFile:
        digest, blob = sha256(data).hexdigest(), blob_of(data)
        before = self.index.files.get(path)
        if before is None or before.blob != blob:
            self.contents[path] = data
            self._new_bytes += len(data)
            if self._new_bytes > self.limits.total_bytes:
                raise TooMuchError("the files have too much content")
        return evolve(file, size=len(data), digest=digest, blob=blob)

    def _state(self, path: str, listing: Listing) -> FileState | None:
        """Return the state of a file or folder that is no longer listed.

        Returns None if it still exists but is left out now.
        """
        if not listing.files.keys().isdisjoint(_folders_of(path)):
            return MISSING  # its folder is a link now, or a file
        try:
            status = (self.workspace.root / unescape_path(path)).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return MISSING
        except OSError:
            return None
        if S_ISDIR(status.st_mode):
            return FOLDER
        return None if S_ISREG(status.st_mode) else FileState(FileKind.OTHER)


def _folders_of(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def rows_of(files: Mapping[str, IndexedFile | None]) -> dict[str, Any]:
    """Return *files* ready for JSON."""
    return {path: file.row() if file else None for path, file in files.items()}
