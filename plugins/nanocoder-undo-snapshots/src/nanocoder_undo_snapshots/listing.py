"""The files of a workspace at one moment: which there are, and a stamp of each."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from attrs import define, field
from nanocoder import Workspace, unescape_path
from nanocoder_kit_glob.git_ignore import GitIgnore
from nanocoder_kit_glob.walks import Files, Sieve, walk_files

MOST_IGNORED = 1_000
MOST_IN_FOLDER = 200
"""So many files that git ignores are kept, in all and in one folder; `node_modules` has more."""
CACHE_TAG = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""
TICK_NS = 20_000_000
"""The clock of a file system may be so far behind."""


class Stamp(NamedTuple):
    """What changes with a file's content: size in bytes, times in nanoseconds, number and mode."""

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


class TooLargeError(Exception):
    """The workspace has more files than are looked at."""


@define
class Listing:
    """The regular files of a workspace that git would not ignore, and its folders.

    Compiled Python files are left out, also where no `.gitignore` names them.

    *at_ns* is when the listing began. *ignores* goes by the rules of that moment. *ignored* are
    those of *files* that git ignores; folders of these that are *crowded* are left out.
    """

    ignores: "Ignores"
    at_ns: int = field(factory=time.time_ns)
    files: dict[str, Stamp] = field(factory=dict)
    ignored: set[str] = field(factory=set)
    crowded: set[str] = field(factory=set)

    @property
    def folders(self) -> set[str]:
        """The folders that were looked into, besides the root."""
        return self.ignores.folders - {"."}

    def add_ignored(self, workspace: Workspace, root: Path, earlier: "Listing | None") -> None:
        """Add the files that git ignores, but for caches, and folders with many of them."""
        self.crowded = set() if earlier is None else earlier.crowded
        for folder, names in self.ignores.left_out:
            place = f"{folder}/{names[0]}"
            if len(self.ignored) >= MOST_IGNORED or place in self.crowded:
                continue
            stamps: dict[str, Stamp] = {}
            for files in walk_files(workspace, folder, Sieve(_Only(folder, names))):
                stamps.update(stamps_of(files, root))
                if len(stamps) > MOST_IN_FOLDER:
                    self.crowded.add(place)
                    break
            else:
                self.files.update(stamps)
                self.ignored |= stamps.keys()

    def may_change_unseen(self, stamp: Stamp) -> bool:
        """Tell whether the file may change once more without another stamp."""
        return may_change_unseen(stamp, self.at_ns)

    def existed_before(self, stamp: Stamp) -> bool:
        """Tell whether a file with *stamp* was there, unchanged, when this listing began."""
        return stamp.changed < self.at_ns - TICK_NS


class Ignores:
    """What a listing leaves out; it notes the folders that the walk comes through."""

    def __init__(self, workspace: Workspace) -> None:
        self.folders: set[str] = set()
        self.left_out: list[tuple[str, list[str]]] = []
        self._rules = GitIgnore(workspace)

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return what git ignores of the names in *folder*, and Python's caches."""
        self.folders.add(folder)
        caches = {name for name in (*names, *folders) if _is_cache(name)}
        ignored = {*self._rules(folder, names, folders)} - caches
        self.left_out += [(folder, [name]) for name in folders if name in ignored]
        if files := [name for name in names if name in ignored]:
            self.left_out.append((folder, files))
        return ignored | caches

    def ignores(self, path: str) -> bool:
        """Tell whether *path* was ignored when the walk came by."""
        return any(map(_is_cache, path.split("/"))) or self._rules.ignores(path)


class _Only:
    """Leaves out all but some *names* in a *folder*, and caches below them."""

    def __init__(self, folder: str, names: Collection[str]) -> None:
        self._folder, self._names = folder, frozenset(names)

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return what is left out of the names in *folder*."""
        everything = {*names, *folders}
        if folder == self._folder:
            return everything - self._names
        return everything if CACHE_TAG in names else set(filter(_is_cache, everything))


def _is_cache(name: str) -> bool:
    """Tell whether Python writes what has this name by itself, from other files."""
    return name == "__pycache__" or name.endswith((".pyc", ".pyo"))


def list_workspace(
    workspace: Workspace, root: Path, most_files: int, earlier: Listing | None = None
) -> Listing:
    """Return the files of *workspace* as they are now; raises TooLargeError."""
    listing = Listing(Ignores(workspace))
    for files in walk_files(workspace, ".", Sieve(listing.ignores)):
        if len(listing.files) + len(files.names) > most_files:
            raise TooLargeError
        listing.files.update(stamps_of(files, root))
    listing.add_ignored(workspace, root, earlier)
    return listing


def stamps_of(files: Files, root: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the paths of files in the workspace at *root*, with their stamps."""
    folder = os.path.join(root, unescape_path(files.folder), "")
    prefix = f"{files.folder}/" if files.folder else ""
    for name in files.names:
        with suppress(OSError):  # it went meanwhile
            status = os.lstat(folder + (name if "\\" not in name else unescape_path(name)))
            yield prefix + name, Stamp.of(status)


def may_change_unseen(stamp: Stamp, at_ns: int) -> bool:
    """Tell whether a file that was looked at then may change once more without another stamp."""
    return max(stamp.modified, stamp.changed) >= at_ns - TICK_NS
