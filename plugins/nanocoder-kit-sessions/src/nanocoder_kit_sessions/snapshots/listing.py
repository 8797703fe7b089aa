"""The files of a workspace at one moment: which there are, and a stamp of each."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from stat import S_ISLNK
from typing import NamedTuple, Self

from attrs import define, field
from nanocoder import Workspace, unescape_path
from nanocoder_kit_files.glob.git_ignore import GitIgnore
from nanocoder_kit_files.glob.walks import Files, Sieve, walk_files

MOST_IGNORED = 1_000
MOST_IN_FOLDER = 200
"""Limit of stored files that git ignores, in all and per folder; `node_modules` has more."""
CACHE_TAG = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""
TICK_NS = 20_000_000
"""The clock of a file system may be so far behind."""


class Stamp(NamedTuple):
    """Metadata that changes with a file's content: size in bytes, times in ns, inode and mode."""

    size: int
    modified: int
    changed: int
    inode: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """Return the stamp of a file with *status*."""
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(status.st_size, *times, status.st_ino, status.st_mode)

    @property
    def is_link(self) -> bool:
        """True for a symbolic link."""
        return S_ISLNK(self.mode)


class TooLargeError(Exception):
    """The workspace has more files than the limit."""


@define
class Listing:
    """The files and links of a workspace, and the folders that git would not ignore.

    Compiled Python files are left out, also where no `.gitignore` names them. *ignored* are those
    of *files* that git ignores; folders of these that are *crowded* are left out. *left_out* are
    the paths of all that rules name, and *at_ns* is when the listing began.
    """

    files: dict[str, Stamp] = field(factory=dict)
    folders: set[str] = field(factory=set)
    left_out: set[str] = field(factory=set)
    ignored: set[str] = field(factory=set)
    crowded: set[str] = field(factory=set)
    at_ns: int = field(factory=time.time_ns)

    def add_ignored(
        self, workspace: Workspace, root: Path, left_out: list[tuple[str, list[str]]]
    ) -> None:
        """Add the ignored names in *left_out*, except caches and folders with many files."""
        for folder, names in left_out:
            path = f"{folder}/{names[0]}"
            if len(self.ignored) >= MOST_IGNORED or path in self.crowded:
                continue
            stamps: dict[str, Stamp] = {}
            for files in walk_files(workspace, folder, Sieve(_Only(folder, names))):
                stamps.update(stamps_of(files, root))
                if len(stamps) > MOST_IN_FOLDER:
                    self.crowded.add(path)
                    break
            else:
                self.files.update(stamps)
                self.ignored |= stamps.keys()

    def may_change_unseen(self, stamp: Stamp) -> bool:
        """Return True if the file may change once more without another stamp."""
        return may_change_unseen(stamp, self.at_ns)


class _Ignores:
    """A filter for the walk; records the folders visited, and the names left out."""

    def __init__(self, workspace: Workspace, listing: Listing) -> None:
        self.left_out: list[tuple[str, list[str]]] = []
        self._rules = GitIgnore(workspace)
        self._listing = listing

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return the names in *folder* that git ignores, and Python's caches."""
        if folder != ".":
            self._listing.folders.add(folder)
        caches = {name for name in (*names, *folders) if _is_cache(name)}
        ignored = {*self._rules(folder, names, folders)} - caches
        self.left_out += [(folder, [name]) for name in folders if name in ignored]
        if files := [name for name in names if name in ignored]:
            self.left_out.append((folder, files))
        prefix = "" if folder == "." else f"{folder}/"
        self._listing.left_out.update(prefix + name for name in ignored | caches)
        return ignored | caches


class _Only:
    """Leaves out all but some *names* in a *folder*, and caches below them."""

    def __init__(self, folder: str, names: Collection[str]) -> None:
        self._folder, self._names = folder, frozenset(names)

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return the names in *folder* to leave out."""
        everything = {*names, *folders}
        if folder == self._folder:
            return everything - self._names
        return everything if CACHE_TAG in names else set(filter(_is_cache, everything))


def _is_cache(name: str) -> bool:
    """Return True if *name* is that of a cache which Python derives from other files."""
    return name == "__pycache__" or name.endswith((".pyc", ".pyo"))


def list_workspace(
    workspace: Workspace, root: Path, most_files: int, crowded: Collection[str] = ()
) -> Listing:
    """Return the files of *workspace* as they are now; raises TooLargeError.

    *crowded* are folders that an earlier listing found to be so.
    """
    listing = Listing(crowded={*crowded})
    ignores = _Ignores(workspace, listing)
    sieve = Sieve(ignores)
    for files in walk_files(workspace, ".", sieve, links=True):
        if len(listing.files) + len(files.names) > most_files:
            raise TooLargeError
        listing.files.update(stamps_of(files, root))
    listing.left_out.update(sieve.left_out.files, sieve.left_out.folders, sieve.left_out.unreadable)
    listing.add_ignored(workspace, root, ignores.left_out)
    return listing


def stamps_of(files: Files, root: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the paths of files in the workspace at *root*, with their stamps."""
    folder = os.path.join(root, unescape_path(files.folder), "")
    prefix = f"{files.folder}/" if files.folder else ""
    for name in files.names:
        try:
            status = os.lstat(folder + (name if "\\" not in name else unescape_path(name)))
        except OSError:  # it was removed meanwhile
            continue
        yield prefix + name, Stamp.of(status)


def may_change_unseen(stamp: Stamp, at_ns: int) -> bool:
    """Return True if a file with *stamp*, read at *at_ns*, may change without a new stamp."""
    return max(stamp.modified, stamp.changed) >= at_ns - TICK_NS
