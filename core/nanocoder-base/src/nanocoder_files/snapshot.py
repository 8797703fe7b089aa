"""Refuse to change files that differ from their preview, or from what the session read."""

import os
import stat as mode_of
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from nanocoder_schema import value

from nanocoder_files.paths import WorkspaceError, escape_path
from nanocoder_files.writing import Old, stale, version_of

RECORDING: "Final[ContextVar[Snapshot | None]]" = ContextVar("nanocoder_snapshot", default=None)
"""The preview in progress on this thread."""
VERSION: Final = "version:"


@value
class Sighting:
    """The state of a path when a preview looked at it.

    *path* has its links resolved, "" if they led nowhere. *version* is the file's version mark, ""
    if nothing was there; *is_known* is False if only the path was resolved. *digest* is of a file
    that was read.
    """

    path: str
    version: str = ""
    digest: str = ""
    is_known: bool = True

    def matches(self, path: str, status: os.stat_result | None, now: Callable[[], str]) -> bool:
        """Return True if the resolved *path* is unchanged; *now* computes its digest."""
        if self.path != path:
            # The link itself is deleted or moved: its target does not matter, unless a file has
            # replaced the link.
            return status is not None and mode_of.S_ISLNK(status.st_mode)
        if not self.is_known:
            return True
        if self.digest and status is not None and (current := now()):
            return current == self.digest
        return self.version == version_mark(status)


class Snapshot:
    """The state of every file and directory that one preview opened or looked at.

    Plugins need not know it: during a preview every `Workspace` records its reads, and the
    workspace of the call afterwards compares. During it, every `Workspace` has read what the
    session has: *known_files*.
    """

    def __init__(self, known_files: "KnownFiles | None" = None) -> None:
        self.known_files = known_files
        self._seen: dict[tuple[str, str], Sighting] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Return True if a path was recorded."""
        return bool(self._seen)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record this thread's reads of any workspace."""
        # A context variable: previews on other threads are not recorded here.
        token = RECORDING.set(self)
        try:
            yield
        finally:
            RECORDING.reset(token)

    def copy(self) -> "Snapshot":
        """Return a copy, which an abandoned preview does not change."""
        other = Snapshot()
        with self._lock:
            other._seen = dict(self._seen)
        return other

    def add(self, root: str, raw: str, sighting: Sighting) -> None:
        """Record the first sighting; a file's digest is added to it."""
        with self._lock:
            before = self._seen.get((root, raw))
            if before is None or not before.is_known or (sighting.digest and not before.digest):
                self._seen[root, raw] = sighting

    def check(
        self,
        root: str,
        raw: str,
        path: str,
        status: os.stat_result | None,
        now: Callable[[], str] = str,
    ) -> None:
        """Raise WorkspaceError (stale_read) unless *raw*, resolved to *path*, is unchanged."""
        for sighting in self._matching_sightings(root, raw, path):
            if not sighting.matches(path, status, now):
                raise WorkspaceError(
                    f"{escape_path(path)!r} has changed since this call was shown for approval, so"
                    " nothing was done; look at it again, then repeat the call if it still fits",
                    error_class="stale_read",
                )

    def forget(self, *paths: str) -> None:
        """Drop the sightings of *paths*, which the call itself has changed."""
        with self._lock:
            self._seen = {
                key: sighting
                for key, sighting in self._seen.items()
                if not {key[1], sighting.path} & set(paths)
            }

    def clear(self) -> None:
        """Drop all sightings: a process of the call may have changed any file."""
        with self._lock:
            self._seen = {}

    def _matching_sightings(self, root: str, raw: str, path: str) -> list[Sighting]:
        with self._lock:
            if (root, raw) in self._seen:
                return [self._seen[root, raw]]
            return [each for key, each in self._seen.items() if (key[0], each.path) == (root, path)]


class KnownFiles(dict[str, str]):
    """The known digest or version mark of each file, by its resolved path.

    A file that differs from it is not changed, moved or deleted. *parts* has the numbers of the
    lines that were read of a version, if not all.
    """

    def __init__(self, other: "KnownFiles | None" = None) -> None:
        super().__init__(other or {})
        self.parts: dict[str, set[int]] = dict(other.parts) if other else {}

    def check(self, path: str, old: Old | None) -> None:
        """Raise WorkspaceError (stale_read) if *old* differs from the known version of *path*."""
        expected = self.get(path)
        if not expected or old is None:  # a missing file has no content to lose
            return
        if expected != (version_mark(old.status) if expected.startswith(VERSION) else old.digest):
            raise stale(escape_path(path))

    def note(
        self, path: str, version: str | os.stat_result, lines: range | None = None, total: int = 0
    ) -> None:
        """Record a digest, or a status, of *path*; "" removes it.

        With *lines* only those of its *total* lines were read, besides those read before.
        """
        mark = version if isinstance(version, str) else version_mark(version)
        is_all = lines is None or (self.get(path) == mark and mark not in self.parts)
        part = {*self.parts.pop(mark, ()), *(lines or ())}
        if not is_all and len(part) < total:
            self.parts[mark] = part
        self[path] = mark

    def move(self, source: str, target: str) -> None:
        """Rename the records of a moved file, or of a directory and the files below it."""
        for path in [path for path in self if path == source or path.startswith(source + "/")]:
            self[target + path[len(source) :]] = self.pop(path)


def version_mark(status: os.stat_result | None) -> str:
    """Return a version that changes when another file takes the path; "" if there is none.

    The mark of a directory does not depend on its content.
    """
    if status is None:
        return ""
    is_directory = mode_of.S_ISDIR(status.st_mode)
    version = (status.st_dev, status.st_ino) if is_directory else version_of(status)
    return VERSION + ":".join(map(str, version))
