"""The index of files: the stamp of each, and the content that it had with that stamp."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import Final

from attrs import define, evolve, field, frozen
from nanocoder import NanocoderError, Workspace, unescape_path
from nanocoder_files import Change, FileKind, FileState, open_private, replace_file
from nanocoder_kit_snapshots import CommandChange, blob_of

from nanocoder_undo_snapshots.listing import Listing, Stamp

INDEX: Final = "index.json"
VERSION: Final = 1
READ_LIMIT_S: Final = 3.0
IGNORE_FILES: Final = frozenset({".gitignore"})
MISSING: Final = FileState()


class TooMuchError(Exception):
    """The files have more content than is kept, or reading it takes too long."""


@frozen
class IndexedFile:
    """A file as it was: *digest* is its SHA-256 and *blob* its name in git, "" if not kept."""

    stamp: Stamp | None
    size: int
    mode: int
    digest: str = ""
    blob: str = ""

    @property
    def state(self) -> FileState:
        """The state for the record of a change."""
        return FileState(FileKind.FILE, self.digest, self.size, mode=self.mode)


@frozen
class Limits:
    """Bytes of one file, of all files together, and of those that git ignores."""

    file_bytes: int
    total_bytes: int
    ignored_bytes: int = 20_000_000


@define
class Index:
    """The files, by their paths, and the *folders*; *session* keeps the contents."""

    session: str = ""
    files: dict[str, IndexedFile] = field(factory=dict)
    folders: set[str] = field(factory=set)
    listing: Listing | None = None

    @classmethod
    def load(cls, folder: Path) -> "Index":
        """Return the index that was stored in *folder*, an empty one if it cannot be read."""
        try:
            with os.fdopen(open_private(folder / INDEX), encoding="utf-8") as file:
                data = json.load(file)
            if data["version"] != VERSION:
                return cls()
            files = {
                path: IndexedFile(Stamp(*stamp) if stamp else None, size, mode, digest, blob)
                for path, (stamp, size, mode, digest, blob) in data["files"].items()
            }
            return cls(str(data["session"]), files, set(data["folders"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls()

    def store(self, folder: Path) -> None:
        """Write the index to *folder*; raises OSError."""
        files = {
            path: (file.stamp, file.size, file.mode, file.digest, file.blob)
            for path, file in self.files.items()
        }
        data = {
            "version": VERSION,
            "session": self.session,
            "files": files,
            "folders": sorted(self.folders),
        }
        replace_file(folder / INDEX, json.dumps(data, separators=(",", ":")).encode())


@define
class Look:
    """One look at *workspace*: the *changes* since the index was made, and new *contents*."""

    index: Index
    workspace: Workspace
    limits: Limits
    changes: list[CommandChange] = field(factory=list)
    contents: dict[str, bytes | None] = field(factory=dict)
    _new_bytes: int = 0
    _deadline: float = field(factory=lambda: time.monotonic() + READ_LIMIT_S)

    def compare(self, listing: Listing) -> None:
        """Bring the index to the state of *listing*; raises TooMuchError."""
        before = self.index.files
        changed = {
            path: stamp
            for path, stamp in listing.files.items()
            if (file := before.get(path)) is None or file.stamp != stamp
        }
        gone = before.keys() - listing.files.keys()
        if changed or gone or listing.folders != self.index.folders:
            self._compare_folders(listing, new=True)
            self._compare_files(listing, changed, sorted(gone))
            self._compare_folders(listing, new=False)
        self.index.folders = listing.folders
        self.index.listing = listing

    def _compare_files(
        self, listing: Listing, changed: Mapping[str, Stamp], gone: list[str]
    ) -> None:
        inodes = {file.stamp.inode for file in self.index.files.values() if file.stamp}
        rules_changed = any(path.rpartition("/")[2] in IGNORE_FILES for path in (*changed, *gone))
        earlier = self.index.listing
        for path in sorted(changed, key=lambda path: (path in listing.ignored, path)):
            if path in listing.ignored and self._new_bytes > self.limits.ignored_bytes:
                continue
            file = self._read(path, changed[path], listing)
            if file is None:
                continue
            before = self.index.files.get(path)
            self.index.files[path] = file
            if path in listing.ignored:
                continue  # programs write these all the time: they come back when they are gone
            if before is not None:
                self._note(path, before.state, file.state, before.blob)
            elif earlier is None or (
                earlier.existed_before(changed[path]) and changed[path].inode not in inodes
            ):
                continue  # it was there, and something left it out
            elif not (rules_changed and earlier.ignores.ignores(path)):
                self._note(path, MISSING, file.state)
        for path in gone:
            before = self.index.files.pop(path)
            self.contents[path] = None
            state = self._state(path)
            if state is not None:
                self._note(path, before.state, state, before.blob)

    def _compare_folders(self, listing: Listing, *, new: bool) -> None:
        if self.index.listing is None:
            return
        folder = FileState(FileKind.DIRECTORY)
        if new:
            for path in sorted(listing.folders - self.index.folders):
                self._note(path, MISSING, folder)
            return
        for path in sorted(self.index.folders - listing.folders, reverse=True):
            if self._state(path) == MISSING:
                self._note(path, folder, MISSING)

    def _note(self, path: str, before: FileState, after: FileState, blob: str = "") -> None:
        if not before.resembles(after):
            self.changes.append(CommandChange(Change(path, before, after), blob))

    def _read(self, path: str, stamp: Stamp, listing: Listing) -> IndexedFile | None:
        """Read a file; None if that is not possible: it counts as left out."""
        file = IndexedFile(stamp, stamp.size, S_IMODE(stamp.mode))
        if stamp.size > self.limits.file_bytes:
            return file
        try:
            data = self.workspace.read_bytes(path, max_bytes=self.limits.file_bytes)
        except NanocoderError:
            listing.files.pop(path, None)
            return None
        if time.monotonic() > self._deadline:
            raise TooMuchError("reading the files takes too long")
        from hashlib import sha256  # only where files have changed

        digest, blob = sha256(data).hexdigest(), blob_of(data)
        before = self.index.files.get(path)
        if before is None or before.blob != blob:
            self.contents[path] = data
            self._new_bytes += len(data)
            if self._new_bytes > self.limits.total_bytes:
                raise TooMuchError("the files have too much content")
        is_settled = not listing.may_change_unseen(stamp)
        return evolve(
            file, stamp=stamp if is_settled else None, size=len(data), digest=digest, blob=blob
        )

    def _state(self, path: str) -> FileState | None:
        """Return what is there in place of a file that is not listed any more.

        None for one that is still there and is left out now.
        """
        try:
            status = (self.workspace.root / unescape_path(path)).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return MISSING
        except OSError:
            return None
        return None if S_ISREG(status.st_mode) else FileState(FileKind.OTHER)
