"""What the workspace contains: one directory, or the tree below it."""

import os
from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, TypedDict

from attrs import evolve, frozen
from nanocoder_schema import Value

from nanocoder_files.beneath import LISTING
from nanocoder_files.paths import WorkspaceError, escape_path, unescape_path
from nanocoder_files.private_files import closing_file
from nanocoder_files.protected import is_git_name
from nanocoder_files.readable import LeftOut, Readable
from nanocoder_files.root import Root

# How many levels of a tree keep their directory open while the walk is below them.
MAX_OPEN = 32

Kind = Literal["file", "dir", "link", "other"]
WalkRules = Callable[[str, Sequence[str], Sequence[str]], Collection[str]]
"""Says what a walk leaves out of a folder, "." for the root.

It is called once for each folder, from the top down, with the names of its files and links and with
those of its folders.
"""


@frozen(eq=False, repr=False)
class Entry(Value):
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


class _Level:
    """A directory on the way down, open; a walk that lists entries keeps them by name."""

    __slots__ = ("_root", "entries", "fd", "items", "path")

    def __init__(self, root: Root, fd: int, path: str) -> None:
        self._root = root
        self.fd = fd
        self.path = path
        self.entries: dict[str, Entry] = {}
        self.items: Iterator[Files | str] = iter(())

    def open(self) -> int:
        """Return the handle; one that was closed on the way down is opened again."""
        if self.fd < 0:
            self.fd = self._root.open_directory(unescape_path(self.path))
        return self.fd

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Files:
    """Regular files in one directory: *names*, sorted, in *folder* ("" for the root)."""

    __slots__ = ("_level", "folder", "names")

    def __init__(self, level: _Level, names: list[str]) -> None:
        self.folder = "" if level.path == "." else level.path
        self.names = names
        self._level = level

    def path(self, name: str) -> str:
        """Return the path of one of them, relative to the workspace."""
        return f"{self.folder}/{name}" if self.folder else name

    def mtimes(self, names: list[str]) -> list[float]:
        """Return when these were changed, in seconds, 0 for a file that is gone.

        It has to be asked before the walk goes on.
        """
        return [self._mtime(name) for name in names]

    def _mtime(self, name: str) -> float:
        try:
            name, fd = unescape_path(name), self._level.open()
            return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime
        except (OSError, WorkspaceError):
            return 0.0


class WalkOptions(TypedDict, total=False):
    """What a walk leaves out, besides `.git`, and how deep it goes.

    It leaves out names in *skip*, names with a dot at their start unless *hidden*, and what *rules*
    say. *left_out* is told of what policies keep out; *depth* is how many levels to go through, 0
    for all.
    """

    rules: WalkRules | None
    skip: Collection[str]
    hidden: bool
    depth: int
    left_out: LeftOut | None


@frozen(eq=False, repr=False)
class Sieve(Value):
    """What a walk leaves out: see `WalkOptions`, and what policies say.

    With *asks* it leaves out what a person has to agree to.
    """

    readable: Readable
    asks: bool = True
    left_out: LeftOut | None = None
    rules: WalkRules | None = None
    skip: Collection[str] = ()
    hidden: bool = True
    depth: int = 0

    def passed(
        self, folder: str, names: list[str], folders: list[str]
    ) -> tuple[list[str], list[str]]:
        """Return those of the *names* of files, and of *folders*, that are not left out."""
        if self.rules is not None and (ruled_out := self.rules(folder, names, folders)):
            names = [name for name in names if name not in ruled_out]
            folders = [name for name in folders if name not in ruled_out]
        names, folders = self._not_skipped(names), self._not_skipped(folders)
        if refused := self.refused(folder, [*names, *folders]):
            if self.left_out is not None:
                self.left_out.add(self.left_out.files, folder, refused.intersection(names))
                self.left_out.add(self.left_out.folders, folder, refused.intersection(folders))
            names = [name for name in names if name not in refused]
            folders = [name for name in folders if name not in refused]
        return names, folders

    def refused(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return those of the *names* in *folder* ("." for the root) that policies keep out."""
        return self.readable.left_out("" if folder == "." else folder, names, asks=self.asks)

    def passes(self, path: str) -> bool:
        """Tell whether policies let a walk get to *path*, which has no link in it."""
        return not (self.readable.refuses(path) or (self.asks and self.readable.asks(path)))

    def _not_skipped(self, names: list[str]) -> list[str]:
        remaining = [name for name in names if name not in self.skip] if self.skip else names
        return [name for name in remaining if not (name[0] == "." and self._hides(name))]

    def _hides(self, name: str) -> bool:
        return not self.hidden or is_git_name(unescape_path(name))


class Tree:
    """Lists below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root

    def scan(self, raw: str) -> list[Entry]:
        """List one directory, sorted by name; raises WorkspaceError."""
        with closing_file(self._root.open_directory(raw)) as fd:
            return self._entries(fd, escape_path(raw), details=True)

    def walk(self, raw: str, sieve: Sieve, *, details: bool = False) -> Iterator[Entry]:
        """Go through the tree; see `Workspace.walk`."""

        def list_names(level: _Level) -> tuple[list[str], list[str]]:
            entries = self._entries(level.fd, level.path, details=details)
            level.entries = {entry.name: entry for entry in entries}
            folders = [entry.name for entry in entries if entry.kind == "dir"]
            return [entry.name for entry in entries if entry.kind != "dir"], folders

        for level, item, error in self._descend(raw, list_names, sieve):
            if isinstance(item, Files):
                yield from map(level.entries.__getitem__, item.names)
            else:
                entry = level.entries[item]
                yield evolve(entry, problem=str(error)) if error else entry

    def files(self, raw: str, sieve: Sieve) -> Iterator[Files]:
        """Go through the files of the tree; see `Workspace.files`."""
        for level, item, error in self._descend(raw, self._names, sieve):
            if isinstance(item, Files):
                yield item
            elif error and error.error_class != "file_not_found" and sieve.left_out is not None:
                sieve.left_out.add(sieve.left_out.unreadable, level.path, [item])

    def _descend(
        self,
        raw: str,
        list_names: Callable[[_Level], tuple[list[str], list[str]]],
        sieve: Sieve,
    ) -> Iterator[tuple[_Level, Files | str, WorkspaceError | None]]:
        """Go through the tree, each directory before its content.

        *list_names* reads one directory. Yields the level of each item, runs of files and the names
        of directories, and the error of a directory that cannot be opened.
        """

        def enter(fd: int, path: str) -> _Level:
            level = _Level(self._root, fd, path)
            try:
                names, folders = sieve.passed(path, *list_names(level))
            except BaseException:
                level.close()
                raise
            level.items = self._runs(level, names, folders)
            return level

        levels: list[_Level] = []
        try:
            levels.append(enter(self._root.open_directory(raw), escape_path(raw)))
            while levels:
                level = levels[-1]
                item = next(level.items, None)
                if item is None:
                    levels.pop().close()
                elif isinstance(item, Files) or len(levels) == sieve.depth:
                    yield level, item, None
                else:
                    try:
                        levels.append(enter(*self._open_below(level, item)))
                    except WorkspaceError as error:  # no permission, gone, or too deep to be named
                        yield level, item, error
                        continue
                    if len(levels) > MAX_OPEN:
                        levels[-MAX_OPEN - 1].close()
                    yield level, item, None
        finally:
            for level in levels:
                level.close()

    def _open_below(self, level: _Level, name: str) -> tuple[int, str]:
        """Open from handle to handle, else each level of a deep tree costs more than its parent."""
        path = name if level.path == "." else f"{level.path}/{name}"
        with self._root.errors(unescape_path(path)):
            flags = LISTING | os.O_NOFOLLOW
            return os.open(unescape_path(name), flags, dir_fd=level.open()), path

    def _runs(self, level: _Level, names: list[str], folders: list[str]) -> Iterator[Files | str]:
        """Yield the files up to a directory, the directory, and so on."""
        at = 0
        for folder in folders:
            end = bisect(names, folder, at)
            if at < end:
                yield Files(level, names[at:end])
            yield folder
            at = end
        if at < len(names):
            yield Files(level, names[at:])

    def _names(self, level: _Level) -> tuple[list[str], list[str]]:
        """Return the names of files and of directories, each sorted."""
        names: list[str] = []
        folders: list[str] = []
        with self._root.errors(unescape_path(level.path)), os.scandir(level.fd) as items:
            for item in items:
                try:  # a call of `_kind` for each would be noticed
                    if item.is_file(follow_symlinks=False):
                        names.append(item.name)
                    elif item.is_dir(follow_symlinks=False):
                        folders.append(item.name)
                except OSError:  # neither, as far as can be known
                    continue
        return sorted(_escaped(names)), sorted(_escaped(folders))

    def _entries(self, fd: int, path: str, *, details: bool) -> list[Entry]:
        prefix = "" if path == "." else path + "/"
        with self._root.errors(unescape_path(path)), os.scandir(fd) as items:
            entries = [_entry(item, prefix, details=details) for item in items]
        return sorted(entries, key=lambda entry: entry.name)


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


def _escaped(names: list[str]) -> list[str]:
    joined = "".join(names)
    if "\\" not in joined and joined.isprintable():
        return names
    return [escape_path(name) for name in names]
