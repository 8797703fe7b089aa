"""One open directory: its entries, and the directories below, opened by descriptor."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal

from nanocoder_schema import value

from nanocoder_files.beneath import LISTING
from nanocoder_files.paths import escape_path, unescape_path
from nanocoder_files.readable import Readable
from nanocoder_files.root import Root

Kind = Literal["file", "dir", "link", "other"]


@value
class Entry:
    """One entry of a directory; *size* in bytes and *mtime* in seconds are of the entry itself.

    *path* is relative to the workspace. A symbolic link is a "link", whatever its target; "other"
    is a pipe, socket or device. *size* and *mtime* are 0 if the status cannot be read. *problem* is
    the reason why a walk could not enter a directory.
    """

    name: str
    path: str
    kind: Kind
    size: int = 0
    mtime: float = 0.0
    problem: str = ""


class Folder(AbstractContextManager["Folder"]):
    """An open directory; *fd* is its file descriptor, *path* its path in the workspace or ".".

    Names and paths are escaped as everywhere outside this package. *readable* filters searches;
    with *asks* it also omits paths that need approval.
    """

    __slots__ = ("_asks", "_readable", "_root", "fd", "path")

    def __init__(self, root: Root, fd: int, path: str, readable: Readable, *, asks: bool) -> None:
        self._root = root
        self.fd = fd
        self.path = path
        self._readable = readable
        self._asks = asks

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; closing twice is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def open_again(self) -> None:
        """Open it again by its path if it was closed; raises WorkspaceError."""
        if self.fd < 0:
            self.fd = self._root.open_directory(unescape_path(self.path))

    def path_of(self, name: str) -> str:
        """Return the path of its entry *name*."""
        return name if self.path == "." else f"{self.path}/{name}"

    def open(self, name: str) -> "Folder":
        """Open its subdirectory *name*; raises WorkspaceError, also for a link."""
        path = self.path_of(name)
        with self._root.errors(unescape_path(path)):
            fd = os.open(unescape_path(name), LISTING | os.O_NOFOLLOW, dir_fd=self.fd)
        return Folder(self._root, fd, path, self._readable, asks=self._asks)

    def errors(self) -> AbstractContextManager[None]:
        """Translate OSErrors about it into WorkspaceError; a context manager."""
        return self._root.errors(unescape_path(self.path))

    def entries(self, *, details: bool = True, called: str = "") -> list[Entry]:
        """Return its entries, sorted by name; without *details* no sizes and times.

        Their paths begin with *called*, if somebody named the directory so.
        """
        prefix = "" if (called or self.path) == "." else f"{called or self.path}/"
        with self.errors(), os.scandir(self.fd) as items:
            entries = [_entry(item, prefix, details=details) for item in items]
        return sorted(entries, key=lambda entry: entry.name)

    def refused(self, names: Sequence[str]) -> set[str]:
        """Return those of its *names* that policies omit from a search."""
        folder = "" if self.path == "." else self.path
        return self._readable.left_out(folder, names, asks=self._asks)


def _entry(item: "os.DirEntry[str]", prefix: str, *, details: bool) -> Entry:
    name = escape_path(item.name)
    try:
        status = item.stat(follow_symlinks=False) if details else None
    except OSError:
        status = None
    if status is None:
        return Entry(name, prefix + name, _kind(item))
    return Entry(name, prefix + name, _kind(item), status.st_size, status.st_mtime)


def _kind(item: "os.DirEntry[str]") -> Kind:
    try:
        if item.is_file(follow_symlinks=False):
            return "file"
        if item.is_dir(follow_symlinks=False):
            return "dir"
        return "link" if item.is_symlink() else "other"
    except OSError:  # an unknown kind
        return "other"
