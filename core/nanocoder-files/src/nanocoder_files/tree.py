"""What the workspace contains: one directory, or the tree below it."""

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from attrs import evolve

from nanocoder_files.beneath import LISTING
from nanocoder_files.entries import Entry, Kind, encoded, entry_of, names_in, not_ignored
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.ignore import Chain, Ignore, ignored
from nanocoder_files.path_text import escape_path, unescape_path
from nanocoder_files.protected import is_git_name
from nanocoder_files.root import READ, Root
from nanocoder_files.walk_filter import UNFILTERED, WalkFilter

MAX_RULE_BYTES = 1_000_000
# How many levels of a tree keep their directory open while the walk is below them.
MAX_OPEN = 32

Item = TypeVar("Item")


class Files:
    """Regular files in one directory: *names*, sorted, in *folder* ("" for the root)."""

    __slots__ = ("_level", "_root", "folder", "names")

    def __init__(self, root: Root, level: "_Level", names: list[str]) -> None:
        self.folder = "" if level.path == "." else level.path
        self.names = names
        self._root = root
        self._level = level

    def path(self, name: str) -> str:
        """Return the path of one of them, relative to the workspace."""
        return f"{self.folder}/{name}" if self.folder else name

    def mtimes(self, names: list[str]) -> list[float]:
        """Return when these were changed, in seconds, 0 for a file that is gone.

        It has to be asked before the walk goes on.
        """
        fd = self._level.fd
        try:
            return [os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime for name in names]
        except OSError:
            return [self._mtime(name) for name in names]

    def _mtime(self, name: str) -> float:
        try:
            with self._root.place(self._root.raw(self.path(name)), follow=False) as place:
                return place.stat().st_mtime
        except (OSError, WorkspaceError):
            return 0.0


class Tree:
    """Lists below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._ignore = Ignore(self._read_rules)

    def scan(self, raw: str) -> list[Entry]:
        """List one directory, sorted by name; raises WorkspaceError."""
        fd = self._root.open_directory(raw)
        try:
            return self._entries(fd, escape_path(raw), details=True)
        finally:
            os.close(fd)

    def walk(
        self,
        raw: str,
        *,
        ignore: bool,
        skip: Collection[str],
        hidden: bool,
        details: bool,
        depth: int,
        walk_filter: WalkFilter = UNFILTERED,
    ) -> Iterator[Entry]:
        """Go through the tree; see `Workspace.walk`."""

        def list_entries(level: _Level) -> Iterator[Entry]:
            entries = self._entries(level.fd, level.path, details=details)
            level.has_rules = any(entry.name == ".gitignore" for entry in entries)
            refused = walk_filter.refused(level.path, [entry.name for entry in entries])
            entries = [
                entry for entry in entries if not _is_skipped(entry.name, skip, hidden=hidden)
            ]
            return _passing(level, entries, refused, walk_filter)

        walk = self._descend(raw, list_entries, _folder_name, depth, walk_filter, ignore=ignore)
        for _, entry, error in walk:
            yield evolve(entry, problem=str(error)) if error else entry

    def files(
        self, raw: str, *, skip: Collection[str], depth: int, walk_filter: WalkFilter = UNFILTERED
    ) -> Iterator[Files]:
        """Go through the files of the tree; see `Workspace.files`."""

        def list_names(level: _Level) -> Iterator[Files | str]:
            try:
                names, folders = names_in(level.fd)
            except OSError as error:
                raise self._root.problem(error, unescape_path(level.path)) from error
            level.has_rules = ".gitignore" in names
            return self._runs(level, names, folders, skip, walk_filter)

        for level, item, error in self._descend(
            raw, list_names, _name_of_folder, depth, walk_filter
        ):
            if isinstance(item, Files):
                yield item
            elif error and error.error_class != "file_not_found":
                walk_filter.note_unreadable(level.path, item)

    def _descend(
        self,
        raw: str,
        list_items: "Callable[[_Level], Iterator[Item]]",
        folder_name: Callable[[Item], str],
        depth: int,
        walk_filter: WalkFilter,
        *,
        ignore: bool = True,
    ) -> "Iterator[tuple[_Level, Item, WorkspaceError | None]]":
        """Go through the tree, each directory before its content.

        *list_items* reads one directory and returns what passes of it, one after the other;
        *folder_name* is "" for an item that is no directory. Yields the level of each item, and the
        error of a directory that cannot be opened.
        """
        levels: list[tuple[_Level, Iterator[Item]]] = []
        path = escape_path(raw)
        chain = self._chain(path) if ignore else None
        try:
            levels.append(_start(_Level(self._root.open_directory(raw), path, chain), list_items))
            while levels:
                level, items = levels[-1]
                for item in items:
                    name = folder_name(item)
                    if not name or len(levels) == depth:
                        yield level, item, None
                        continue
                    try:
                        levels.append(self._enter(level, name, list_items))
                    except WorkspaceError as error:  # no permission, gone, or too deep to be named
                        yield level, item, error
                        continue
                    if len(levels) > MAX_OPEN:
                        levels[-MAX_OPEN - 1][0].close()
                    yield level, item, None
                    break
                else:
                    levels.pop()[0].close()
        finally:
            walk_filter.note_cut(self._ignore.cut)
            for level, _ in levels:
                level.close()

    def is_ignored(self, raw: str) -> bool:
        """Tell whether git would ignore *raw* (its directory resolved), or a directory above it."""
        names = escape_path(raw).split("/")
        chain = self._top()
        for end in range(1, len(names)):
            folder = "/".join(names[:end])
            if _is_ignored(chain, Entry(names[end - 1], folder, "dir")):
                return True
            chain = self._deeper(chain, folder)
        return _is_ignored(chain, Entry(names[-1], "/".join(names), self._kind(raw)))

    def _kind(self, raw: str) -> Kind:
        try:
            with self._root.place(raw, follow=False) as place:
                return "dir" if stat.S_ISDIR(place.stat().st_mode) else "file"
        except (OSError, WorkspaceError):
            return "file"

    def _enter(
        self, level: "_Level", name: str, list_items: "Callable[[_Level], Iterator[Item]]"
    ) -> "tuple[_Level, Iterator[Item]]":
        path = name if level.path == "." else f"{level.path}/{name}"
        below = _Level(self._open_below(level, name, path), path, level.chain)
        started = _start(below, list_items)
        if below.chain is not None and below.has_rules:
            below.chain = self._deeper(below.chain, path)
        return started

    def _open_below(self, level: "_Level", name: str, path: str) -> int:
        if level.fd < 0 or "\\" in name:
            return self._root.open_directory(self._root.raw(path))
        # From handle to handle, else each level of a deep tree costs more than the one above.
        try:
            return os.open(name, LISTING | os.O_NOFOLLOW, dir_fd=level.fd)
        except OSError as error:
            raise self._root.problem(error, unescape_path(path)) from error

    def _runs(
        self,
        level: "_Level",
        names: list[str],
        folders: list[str],
        skip: Collection[str],
        walk_filter: WalkFilter,
    ) -> Iterator[Files | str]:
        """Yield the files up to a directory, the directory, and so on, if they are not left out."""
        from bisect import bisect  # half a millisecond of a start that may walk nowhere

        chain = level.chain or ()
        prefix = b"" if level.path == "." else encoded(level.path + "/")
        names = [name for name in names if not _is_skipped(name, skip)]
        names = not_ignored(chain, prefix, names)
        refused = walk_filter.refused(level.path, [*names, *folders])
        if refused:
            walk_filter.note(level.path, refused.intersection(names))
            names = [name for name in names if name not in refused]
        at = 0
        for folder in folders:
            path = prefix + (name := encoded(folder))
            if _is_skipped(folder, skip) or ignored(chain, path, name, is_dir=True):
                continue
            if folder in refused:
                walk_filter.note(level.path, [folder], are_folders=True)
                continue
            end = bisect(names, folder, at)
            if at < end:
                yield Files(self._root, level, names[at:end])
            yield folder
            at = end
        if at < len(names):
            yield Files(self._root, level, names[at:])

    def _entries(self, fd: int, path: str, *, details: bool) -> list[Entry]:
        prefix = "" if path == "." else path + "/"
        try:
            with os.scandir(fd) as items:
                listed = [entry_of(item, prefix, details=details) for item in items]
        except OSError as error:
            raise self._root.problem(error, unescape_path(path)) from error
        listed.sort(key=_name)
        return listed

    def _chain(self, raw: str) -> Chain:
        chain = self._top()
        if raw != ".":
            names = raw.split("/")
            for end in range(1, len(names) + 1):
                chain = self._deeper(chain, "/".join(names[:end]))
        return chain

    def _top(self) -> Chain:
        top_rules = (self._ignore.excluded(), self._ignore.at("."))
        return tuple((0, rules) for rules in top_rules if rules)

    def _deeper(self, chain: Chain, folder: str) -> Chain:
        rules = self._ignore.at(unescape_path(folder))
        return (*chain, (len(encoded(folder)) + 1, rules)) if rules else chain

    def _read_rules(self, raw: str) -> tuple[bytes, object] | None:
        # Git does not follow a link here either.
        with contextlib.suppress(WorkspaceError, OSError):
            fd, canonical = self._root.beneath.open(raw, READ)
            try:
                status = os.fstat(fd)
                if canonical == raw and stat.S_ISREG(status.st_mode):
                    stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
                    return os.read(fd, MAX_RULE_BYTES), stamp
            finally:
                os.close(fd)
        return None


class _Level:
    """A directory on the way down, open, with the rules in force there."""

    __slots__ = ("chain", "fd", "has_rules", "path")

    def __init__(self, fd: int, path: str, chain: Chain | None) -> None:
        self.fd = fd
        self.path = path
        self.chain = chain
        self.has_rules = False

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _start(
    level: _Level, list_items: Callable[[_Level], Iterator[Item]]
) -> tuple[_Level, Iterator[Item]]:
    try:
        return level, list_items(level)
    except BaseException:
        level.close()
        raise


def _passing(
    level: _Level, entries: list[Entry], refused: Collection[str], walk_filter: WalkFilter
) -> Iterator[Entry]:
    """Yield the *entries* that neither git's rules nor policies leave out."""
    for entry in entries:
        if _is_ignored(level.chain, entry):
            continue
        if entry.name in refused:
            walk_filter.note(level.path, [entry.name], are_folders=entry.kind == "dir")
        else:
            yield entry


def _folder_name(entry: Entry) -> str:
    return entry.name if entry.kind == "dir" else ""


def _name_of_folder(item: Files | str) -> str:
    return item if isinstance(item, str) else ""


def _name(entry: Entry) -> str:
    return entry.name


def _is_skipped(name: str, skip: Collection[str], *, hidden: bool = True) -> bool:
    if name in skip:
        return True
    return name.startswith(".") and (not hidden or is_git_name(unescape_path(name)))


def _is_ignored(chain: Chain | None, entry: Entry) -> bool:
    if not chain:
        return False
    return ignored(chain, encoded(entry.path), encoded(entry.name), is_dir=entry.kind == "dir")
