"""One open directory: what is in it, and the directories below, from handle to handle."""

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
    """One thing in a directory; *size* in bytes and *mtime* in seconds are of the thing itself.

    *path* is relative to the workspace. A link is a "link", whatever it points to; "other" is a
    pipe, socket or device. Where the system tells nothing, *size* and *mtime* are 0.
    *problem* says why a walk could not go into a directory.
    """

    name: str
    path: str
    kind: Kind
    size: int = 0
    mtime: float = 0.0
    problem: str = ""


class Folder(AbstractContextManager["Folder"]):
    """An open directory; *fd* is its handle, *path* its place in the workspace, "." for the root.

    Names and paths are written as everywhere outside this package. *readable* says what policies
    keep out of a search, and with *asks* so does what a person has to agree to.
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
        """Open it once more by its path, where it was closed; raises WorkspaceError."""
        if self.fd < 0:
            self.fd = self._root.open_directory(unescape_path(self.path))

    def path_of(self, name: str) -> str:
        """Return the path of *name* in it."""
        return name if self.path == "." else f"{self.path}/{name}"

    def open(self, name: str) -> "Folder":
        """Open the directory *name* in it; raises WorkspaceError, also for a link."""
        path = self.path_of(name)
        with self._root.errors(unescape_path(path)):
            fd = os.open(unescape_path(name), LISTING | os.O_NOFOLLOW, dir_fd=self.fd)
        return Folder(self._root, fd, path, self._readable, asks=self._asks)

    def errors(self) -> AbstractContextManager[None]:
        """Translate what the system says of it into WorkspaceError; use this in a `with`."""
        return self._root.errors(unescape_path(self.path))

    def entries(self, *, details: bool = True, called: str = "") -> list[Entry]:
        """Return all that is in it, sorted by name; without *details* no sizes and times.

        Their paths are below *called*, where that is how somebody named the directory.
        """
        prefix = "" if (called or self.path) == "." else f"{called or self.path}/"
        with self.errors(), os.scandir(self.fd) as items:
            entries = [_entry(item, prefix, details=details) for item in items]
        return sorted(entries, key=lambda entry: entry.name)

    def refused(self, names: Sequence[str]) -> set[str]:
        """Return those of its *names* that policies keep out of a search."""
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
    except OSError:  # none of these, as far as can be known
        return "other"
