"""Folders and files, read again only when they have changed."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
CLOCK_NS: Final = 2_000_000_000
"""Two changes within a tick of a file system's clock have the same time."""


def listed(folder: str) -> "list[os.DirEntry[str]]":
    """Return the entries of a folder, nothing where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # also where its path is too long
        return []


class Unchanged(Generic[T]):
    """Reads each place by *read*, again only when it changed, or had just changed before."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._latest: dict[str, _Latest[T]] = {}

    def of(self, path: str) -> T:
        """Return the content read at *path*; raises OSError if it cannot be inspected."""
        now_ns = time.time_ns()
        facts = os.stat(path)
        # A remote file system gives the number of a removed file to a new one, though it is in use.
        state = facts.st_dev, facts.st_ino, facts.st_ctime_ns
        latest = self._latest.get(path)
        if latest is None or latest.state != state or latest.is_doubtful:
            # The state is from before: what changes meanwhile is read again.
            is_doubtful = state[-1] + CLOCK_NS >= now_ns
            latest = self._latest[path] = _Latest(state, self._read(path), is_doubtful=is_doubtful)
        return latest.content

    def keep(self, paths: Iterable[str]) -> None:
        """Forget what is not among *paths*, all of which were read."""
        self._latest = {path: self._latest[path] for path in paths}


class _Latest(NamedTuple, Generic[T]):
    """The content of a path in a *state*; *is_doubtful* if it had just changed."""

    state: tuple[int, ...]
    content: T
    is_doubtful: bool
