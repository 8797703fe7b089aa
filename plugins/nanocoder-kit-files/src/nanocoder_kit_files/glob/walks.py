"""Walks through the tree below a folder, without `.git` and paths excluded by policies.

`git_ignore` has the walks of tools, which also leave out paths that git ignores.
"""

import os
from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen
from nanocoder import WorkspaceError, escape_path, unescape_path
from nanocoder_files import is_git_name

from nanocoder_kit_files.glob.left_out import LeftOut

if TYPE_CHECKING:
    from nanocoder import Entry, Folder, Workspace

# Limit of the levels of a tree whose directory stays open while the walk is below them.
MAX_OPEN = 32

WalkRules = Callable[[str, Sequence[str], Sequence[str]], Collection[str]]
"""Returns the names to leave out of a folder, "." for the root.

It is called once for each folder, from the top down, with the names of its files and links and with
those of its folders.
"""


@frozen
class Sieve:
    """The filter of a walk: *rules*, `.git`, folders in *skip*, and policies.

    *left_out* records all excluded paths but `.git`. *depth* is the number of levels, 0 for all.
    """

    rules: WalkRules | None = None
    skip: Collection[str] = ()
    depth: int = 0
    left_out: LeftOut = field(factory=LeftOut)

    def passed(
        self, folder: "Folder", names: list[str], folders: list[str]
    ) -> tuple[list[str], list[str]]:
        """Return those of the *names* of files, and of *folders*, that are not left out."""
        left_out, path = self.left_out, folder.path
        names, folders = _without_git(names), _without_git(folders)
        if self.rules is not None and (ruled_out := set(self.rules(path, names, folders))):
            names = _without(names, ruled_out, left_out, left_out.ignored_files, path)
            folders = _without(folders, ruled_out, left_out, left_out.ignored_folders, path)
        if self.skip:
            folders = _without(folders, self.skip, left_out, left_out.skipped, path)
        if refused := folder.refused([*names, *folders]):
            names = _without(names, refused, left_out, left_out.files, path)
            folders = _without(folders, refused, left_out, left_out.folders, path)
        return names, folders


def _without(
    names: list[str], unwanted: Collection[str], left_out: LeftOut, paths: list[str], folder: str
) -> list[str]:
    """Return *names* without the *unwanted* ones, which *left_out* adds to *paths*."""
    dropped = [name for name in names if name in unwanted]
    if not dropped:
        return names
    left_out.add(paths, folder, dropped)
    return [name for name in names if name not in unwanted]


def _without_git(names: list[str]) -> list[str]:
    # No file system takes an ASCII name without these letters for `.git`.
    joined = "".join(names)
    if joined.isascii() and "\\" not in joined and "git" not in joined.lower():
        return names
    return [name for name in names if not is_git_name(unescape_path(name))]


class _Level:
    """A folder on the way down, with its entries by name in a walk that lists entries."""

    __slots__ = ("entries", "folder", "items")

    def __init__(self, folder: "Folder") -> None:
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        self.items: Iterator[Files | str] = iter(())

    def enter(self, name: str) -> "Folder":
        """Open the folder *name*; this one is opened again if it was closed on the way down."""
        self.folder.open_again()
        return self.folder.open(name)


class Files:
    """Regular files in one directory: *names*, sorted, in *folder* ("" for the root)."""

    __slots__ = ("_opened", "folder", "names")

    def __init__(self, opened: "Folder", names: list[str]) -> None:
        self.folder = "" if opened.path == "." else opened.path
        self.names = names
        self._opened = opened

    def path(self, name: str) -> str:
        """Return the path of one of them, relative to the workspace."""
        return f"{self.folder}/{name}" if self.folder else name

    def mtimes(self, names: list[str]) -> list[float]:
        """Return the modification times of *names*, in seconds since the epoch, 0 if missing.

        It has to be called before the walk continues.
        """
        return [self._mtime(name) for name in names]

    def _mtime(self, name: str) -> float:
        try:
            self._opened.open_again()
            name, fd = unescape_path(name), self._opened.fd
            return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        except (OSError, WorkspaceError):
            return 0.0


def walk_tree(
    workspace: "Workspace", path: str, sieve: Sieve, *, details: bool = True
) -> "Iterator[Entry]":
    """Walk the tree below *path*: names sorted, each directory before its content.

    Links are listed and never followed. Directories that cannot be read are listed with a
    *problem*. Without *details* entries have no size and time, which is faster. Raises: the errors
    of `Workspace.open_folder` for *path* itself.
    """

    def list_names(level: _Level) -> tuple[list[str], list[str]]:
        entries = level.folder.entries(details=details)
        level.entries = {entry.name: entry for entry in entries}
        folders = [entry.name for entry in entries if entry.kind == "dir"]
        return [entry.name for entry in entries if entry.kind != "dir"], folders

    for level, item, error in _descend(workspace.open_folder(path), list_names, sieve):
        if isinstance(item, Files):
            yield from map(level.entries.__getitem__, item.names)
        else:
            entry = level.entries[item]
            yield evolve(entry, problem=str(error)) if error else entry


def walk_files(
    workspace: "Workspace", path: str, sieve: Sieve, *, links: bool = False
) -> Iterator[Files]:
    """Walk the files of `walk_tree` in batches of one directory, which is faster.

    The order is the same, there are no sizes, and *links* includes symbolic links. Raises: the
    same errors.
    """
    folder, list_names = workspace.open_folder(path), partial(_list_names, links=links)
    for level, item, error in _descend(folder, list_names, sieve):
        if isinstance(item, Files):
            yield item
        elif error and error.error_class != "file_not_found":
            sieve.left_out.add(sieve.left_out.unreadable, level.folder.path, [item])


def _descend(
    top: "Folder", list_names: Callable[[_Level], tuple[list[str], list[str]]], sieve: Sieve
) -> Iterator[tuple[_Level, Files | str, WorkspaceError | None]]:
    """Go through the tree, each directory before its content; closes *top*.

    *list_names* reads one directory. Yields the level of each item, runs of files and the names
    of directories, and the error of a directory that cannot be opened.
    """

    def list_level(folder: "Folder") -> _Level:
        level = _Level(folder)
        try:
            names, folders = sieve.passed(folder, *list_names(level))
        except BaseException:
            folder.close()
            raise
        level.items = _runs(folder, names, folders)
        return level

    levels = [list_level(top)]
    try:
        while levels:
            level = levels[-1]
            item = next(level.items, None)
            if item is None:
                levels.pop().folder.close()
            elif isinstance(item, Files) or len(levels) == sieve.depth:
                yield level, item, None
            else:
                try:
                    levels.append(list_level(level.enter(item)))
                except WorkspaceError as error:  # no permission, missing, or a path too long
                    yield level, item, error
                    continue
                if len(levels) > MAX_OPEN:
                    levels[-MAX_OPEN - 1].folder.close()
                yield level, item, None
    finally:
        for level in levels:
            level.folder.close()


def _list_names(level: _Level, *, links: bool) -> tuple[list[str], list[str]]:
    """Return the names of its regular files, with its *links*, and of its directories, sorted."""
    names: list[str] = []
    folders: list[str] = []
    with level.folder.errors(), os.scandir(level.folder.fd) as items:
        for item in items:
            try:
                if item.is_file(follow_symlinks=False) or (links and item.is_symlink()):
                    names.append(item.name)
                elif item.is_dir(follow_symlinks=False):
                    folders.append(item.name)
            except OSError:  # neither, as far as can be known
                continue
    return sorted(_escaped(names)), sorted(_escaped(folders))


def _escaped(names: list[str]) -> list[str]:
    joined = "".join(names)
    if "\\" not in joined and joined.isprintable():
        return names
    return [escape_path(name) for name in names]


def _runs(opened: "Folder", names: list[str], folders: list[str]) -> Iterator[Files | str]:
    """Yield the files up to a directory, the directory, and so on."""
    at = 0
    for folder in folders:
        end = bisect(names, folder, at)
        if at < end:
            yield Files(opened, names[at:end])
        yield folder
        at = end
    if at < len(names):
        yield Files(opened, names[at:])
