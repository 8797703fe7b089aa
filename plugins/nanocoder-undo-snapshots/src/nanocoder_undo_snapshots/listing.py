"""The files of a workspace at one moment: which there are, and a stamp of each."""

import os
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from attrs import define, field
from nanocoder import Workspace, unescape_path
from nanocoder_kit_glob.git_ignore import GitIgnore
from nanocoder_kit_glob.walks import Sieve, walk_files

TICK_NS = 20_000_000
"""The clock of a file system may be so far behind."""


class Stamp(NamedTuple):
    """What changes with a file's content: size in bytes, times in nanoseconds, number and mode."""

    size: int
    modified: int
    changed: int
    inode: int
    mode: int


class TooLargeError(Exception):
    """The workspace has more files than are looked at."""


@define
class Listing:
    """The regular files of a workspace that git would not ignore, and its folders.

    Compiled Python files are left out, also where no `.gitignore` names them.

    *at_ns* is when the listing began. *ignores* goes by the rules of that moment.
    """

    ignores: "Ignores"
    at_ns: int = field(factory=time.time_ns)
    files: dict[str, Stamp] = field(factory=dict)

    @property
    def folders(self) -> set[str]:
        """The folders that were looked into, besides the root."""
        return self.ignores.folders - {"."}

    def may_change_unseen(self, stamp: Stamp) -> bool:
        """Tell whether the file may change once more without another stamp."""
        return max(stamp.modified, stamp.changed) >= self.at_ns - TICK_NS

    def existed_before(self, stamp: Stamp) -> bool:
        """Tell whether a file with *stamp* was there, unchanged, when this listing began."""
        return stamp.changed < self.at_ns - TICK_NS


class Ignores:
    """What a listing leaves out; it notes the folders that the walk comes through."""

    def __init__(self, workspace: Workspace) -> None:
        self.folders: set[str] = set()
        self._rules = GitIgnore(workspace)

    def __call__(
        self, folder: str, names: Sequence[str], folders: Sequence[str]
    ) -> Collection[str]:
        """Return what git ignores of the names in *folder*, and Python's caches."""
        self.folders.add(folder)
        caches = {name for name in (*names, *folders) if _is_cache(name)}
        return {*self._rules(folder, names, folders), *caches}

    def ignores(self, path: str) -> bool:
        """Tell whether *path* was ignored when the walk came by."""
        return any(map(_is_cache, path.split("/"))) or self._rules.ignores(path)


def _is_cache(name: str) -> bool:
    """Tell whether Python writes what has this name by itself, from other files."""
    return name == "__pycache__" or name.endswith((".pyc", ".pyo"))


def list_workspace(workspace: Workspace, root: Path, most_files: int) -> Listing:
    """Return the files of *workspace* as they are now; raises TooLargeError."""
    listing = Listing(Ignores(workspace))
    for files in walk_files(workspace, ".", Sieve(listing.ignores)):
        if len(listing.files) + len(files.names) > most_files:
            raise TooLargeError
        folder = os.path.join(root, unescape_path(files.folder), "")
        prefix = f"{files.folder}/" if files.folder else ""
        for name in files.names:
            with suppress(OSError):  # it went meanwhile
                status = os.lstat(folder + (name if "\\" not in name else unescape_path(name)))
                listing.files[prefix + name] = Stamp(
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                    status.st_mode,
                )
    return listing
