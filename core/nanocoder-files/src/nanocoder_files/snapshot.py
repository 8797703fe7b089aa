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
"""The preview that is being made on this thread."""
VERSION: Final = "version:"


@value
class Sighting:
    """The state of a path when a preview looked at it.

    *path* has its links resolved, "" when they led nowhere. *version* is the mark of what was
    there, "" for nothing; *is_known* is False where only the path was resolved. *digest* is of a
    file that was read.
    """

    path: str
    version: str = ""
    digest: str = ""
    is_known: bool = True

    def matches(self, path: str, status: os.stat_result | None, now: Callable[[], str]) -> bool:
        """Tell whether *path*, links resolved, still is what was seen; *now* takes its digest."""
        if self.path != path:
            # A link itself is deleted or moved: what it leads to does not matter, unless somebody
            # has put a file in its place.
            return status is not None and mode_of.S_ISLNK(status.st_mode)
        if not self.is_known:
            return True
        if self.digest and status is not None and (current := now()):
            return current == self.digest
        return self.version == version_mark(status)


class Snapshot:
    """The state of every file and directory that one preview opened or looked at.

    Plugins need not know of it: a `Workspace` that is used while a preview is recorded notes what
    is read through it, and the workspace of the call that follows compares.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Sighting] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Tell whether anything was recorded."""
        return bool(self._seen)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Note what this thread sees of any workspace."""
        # A context variable: previews on other threads do not note here.
        token = RECORDING.set(self)
        try:
            yield
        finally:
            RECORDING.reset(token)

    def copy(self) -> "Snapshot":
        """Return a copy that a preview which is late adds nothing to."""
        other = Snapshot()
        with self._lock:
            other._seen = dict(self._seen)
        return other

    def add(self, root: str, raw: str, sighting: Sighting) -> None:
        """Remember what was seen first; the content of a file adds to that."""
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
        """Raise WorkspaceError (stale_read) unless *raw*, which is *path*, is what was sighting."""
        for sighting in self._sightings(root, raw, path):
            if not sighting.matches(path, status, now):
                raise WorkspaceError(
                    f"{escape_path(path)!r} has changed since this call was shown for approval, so"
                    " nothing was done; look at it again, then repeat the call if it still fits",
                    error_class="stale_read",
                )

    def forget(self, *paths: str) -> None:
        """Expect nothing of *paths* any more: the call itself has changed them."""
        with self._lock:
            self._seen = {
                key: sighting
                for key, sighting in self._seen.items()
                if not {key[1], sighting.path} & set(paths)
            }

    def clear(self) -> None:
        """Expect nothing any more: a process of the call may have changed anything."""
        with self._lock:
            self._seen = {}

    def _sightings(self, root: str, raw: str, path: str) -> list[Sighting]:
        with self._lock:
            if (root, raw) in self._seen:
                return [self._seen[root, raw]]
            return [
                sighting
                for key, sighting in self._seen.items()
                if (key[0], sighting.path) == (root, path)
            ]


class KnownFiles(dict[str, str]):
    """The digest or the version mark of each file, by its path with links resolved.

    A file that differs from what is known is not changed, moved or deleted. *parts* has the numbers
    of the lines that were read of a version, where those are not all.
    """

    def __init__(self) -> None:
        self.parts: dict[str, set[int]] = {}

    def check(self, path: str, old: Old | None) -> None:
        """Raise WorkspaceError (stale_read) when *old* is not what is known of *path*."""
        expected = self.get(path)
        if not expected or old is None:  # a file that is gone has nothing left to lose
            return
        if expected != (version_mark(old.status) if expected.startswith(VERSION) else old.digest):
            raise stale(escape_path(path))

    def note(
        self, path: str, version: str | os.stat_result, lines: range | None = None, total: int = 0
    ) -> None:
        """Know a digest, or a status, of *path*; "" forgets it.

        With *lines* only those of its *total* lines were read, besides those read before.
        """
        mark = version if isinstance(version, str) else version_mark(version)
        is_all = lines is None or (self.get(path) == mark and mark not in self.parts)
        part = {*self.parts.pop(mark, ()), *(lines or ())}
        if not is_all and len(part) < total:
            self.parts[mark] = part
        self[path] = mark

    def move(self, source: str, target: str) -> None:
        """Know what was moved, and what is below it, by its new name."""
        for path in [path for path in self if path == source or path.startswith(source + "/")]:
            self[target + path[len(source) :]] = self.pop(path)


def version_mark(status: os.stat_result | None) -> str:
    """Return a version that changes when another file takes the path; "" if there is none.

    A directory may get other content.
    """
    if status is None:
        return ""
    is_directory = mode_of.S_ISDIR(status.st_mode)
    version = (status.st_dev, status.st_ino) if is_directory else version_of(status)
    return VERSION + ":".join(map(str, version))
