"""What the workspace contains: one directory, or the tree below it."""

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from typing import Generic, TypeVar

from attrs import evolve

from nanocoder_files.beneath import LISTING
from nanocoder_files.entries import Entry, Kind, encoded, entry_of, names_in, not_ignored
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.gate import OPEN_GATE, Gate
from nanocoder_files.ignore import Chain, Ignore, ignored
from nanocoder_files.protected import is_git_name
from nanocoder_files.root import READ, Root
from nanocoder_files.spelling import escape_path, unescape_path

MAX_RULE_BYTES = 1_000_000
# How many levels of a tree keep their directory open while the walk is below them.
MAX_OPEN = 32

Item = TypeVar("Item")


class Files:
    """Regular files in one directory: *names*, sorted, in *folder* ("" for the root)."""

    __slots__ = ("_level", "_root", "folder", "names")

    def __init__(self, root: Root, level: "_Named", names: list[str]) -> None:
        self.folder = "" if level.path == "." else level.path
        self.names = names
        self._root = root
        self._level = level

    def path(self, name: str) -> str:
        """Return the path of one of them, relative to the workspace."""
        return f"{self.folder}/{name}" if self.folder else name

    def mtimes(self, names: list[str]) -> list[float]:
        """Return when these were changed, 0 for what is gone; to be asked before the walk goes on.

        In seconds.
        """
        fd = self._level.fd
        try:
            return [os.stat(one, dir_fd=fd, follow_symlinks=False).st_mtime for one in names]
        except OSError:
            return [self._mtime(one) for one in names]

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
        gate: Gate = OPEN_GATE,
    ) -> Iterator[Entry]:
        """Go through the tree; see `Workspace.walk`."""
        levels: list[_Level[Entry]] = []
        try:
            path = escape_path(raw)
            chain = self._chain(path) if ignore else None
            top = self._root.open_directory(raw)
            levels.append(self._level(top, path, chain, gate, details=details))
            while levels:
                level = levels[-1]
                for entry in level.entries:
                    if _is_left_out(entry, skip, hidden=hidden) or _is_ignored(level.chain, entry):
                        continue
                    if entry.name in level.refused:
                        gate.note(level.path, [entry.name], are_folders=entry.kind == "dir")
                        continue
                    if entry.kind != "dir" or len(levels) == depth:
                        yield entry
                        continue
                    try:
                        levels.append(self._below(level, entry, gate, details=details))
                    except WorkspaceError as error:  # no permission, gone, or too deep to be named
                        yield evolve(entry, problem=str(error))
                        continue
                    if len(levels) > MAX_OPEN:
                        levels[-MAX_OPEN - 1].close()
                    yield entry
                    break
                else:
                    levels.pop().close()
        finally:
            gate.note_cut(self._ignore.cut)
            for level in levels:
                level.close()

    def files(
        self, raw: str, *, skip: Collection[str], depth: int, gate: Gate = OPEN_GATE
    ) -> Iterator[Files]:
        """Go through the files of the tree; see `Workspace.files`."""
        levels: list[_Named] = []
        try:
            top = self._root.open_directory(raw)
            path = escape_path(raw)
            levels.append(self._named(top, path, self._chain(path), skip, gate))
            while levels:
                level = levels[-1]
                for item in level.entries:
                    if isinstance(item, Files):
                        yield item
                        continue
                    if len(levels) == depth:
                        continue
                    try:
                        levels.append(self._named_below(level, item, skip, gate))
                    except WorkspaceError as error:  # no permission, gone, or too deep
                        if error.error_class != "file_not_found":
                            gate.note_unreadable(level.path, item)
                        continue
                    if len(levels) > MAX_OPEN:
                        levels[-MAX_OPEN - 1].close()
                    break
                else:
                    levels.pop().close()
        finally:
            gate.note_cut(self._ignore.cut)
            for level in levels:
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

    def _below(
        self, level: "_Level[Entry]", entry: Entry, gate: Gate, *, details: bool
    ) -> "_Level[Entry]":
        fd = self._open_below(level, entry.name, entry.path)
        below = self._level(fd, entry.path, level.chain, gate, details=details)
        if below.chain is not None and below.has_rules:
            below.chain = self._deeper(below.chain, entry.path)
        return below

    def _open_below(self, level: "_Level[Item]", name: str, path: str) -> int:
        if level.fd < 0 or "\\" in name:
            return self._root.open_directory(self._root.raw(path))
        # From handle to handle, else each level of a deep tree costs more than the one above.
        try:
            return os.open(name, LISTING | os.O_NOFOLLOW, dir_fd=level.fd)
        except OSError as error:
            raise self._root.problem(error, unescape_path(path)) from error

    def _named_below(
        self, level: "_Named", name: str, skip: Collection[str], gate: Gate
    ) -> "_Named":
        path = name if level.path == "." else f"{level.path}/{name}"
        below = self._named(self._open_below(level, name, path), path, level.chain, skip, gate)
        if below.has_rules:
            below.chain = self._deeper(below.chain or (), path)
        return below

    def _named(
        self, fd: int, path: str, chain: Chain | None, skip: Collection[str], gate: Gate
    ) -> "_Named":
        """Make a level of files and the names of directories between them."""
        try:
            names, folders = names_in(fd)
        except OSError as error:
            os.close(fd)
            raise self._root.problem(error, unescape_path(path)) from error
        level: _Named = _Level(fd, path, chain, has_rules=".gitignore" in names)
        level.entries = self._runs(level, names, folders, skip, gate)
        return level

    def _runs(
        self,
        level: "_Named",
        names: list[str],
        folders: list[str],
        skip: Collection[str],
        gate: Gate,
    ) -> Iterator[Files | str]:
        """Yield what is not left out: files up to a directory, the directory, and so on."""
        from bisect import bisect  # half a millisecond of a start that may walk nowhere

        chain = level.chain or ()
        prefix = b"" if level.path == "." else encoded(level.path + "/")
        left = [name for name in names if not _is_out(name, skip)]
        names = not_ignored(chain, prefix, left)
        refused = gate.refused(level.path, [*names, *folders])
        if refused:
            gate.note(level.path, refused.intersection(names))
            names = [name for name in names if name not in refused]
        at = 0
        for folder in folders:
            path = prefix + (name := encoded(folder))
            if _is_out(folder, skip) or ignored(chain, path, name, is_dir=True):
                continue
            if folder in refused:
                gate.note(level.path, [folder], are_folders=True)
                continue
            end = bisect(names, folder, at)
            if at < end:
                yield Files(self._root, level, names[at:end])
            yield folder
            at = end
        if at < len(names):
            yield Files(self._root, level, names[at:])

    def _level(
        self, fd: int, path: str, chain: Chain | None, gate: Gate, *, details: bool
    ) -> "_Level[Entry]":
        try:
            entries = self._entries(fd, path, details=details)
        except BaseException:
            os.close(fd)
            raise
        level: _Level[Entry] = _Level(
            fd, path, chain, has_rules=any(one.name == ".gitignore" for one in entries)
        )
        level.entries = iter(entries)
        level.refused = gate.refused(path, [entry.name for entry in entries])
        return level

    def _entries(self, fd: int, path: str, *, details: bool) -> list[Entry]:
        prefix = "" if path == "." else path + "/"
        try:
            with os.scandir(fd) as found:
                listed = [entry_of(item, prefix, details=details) for item in found]
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
        found = (self._ignore.excluded(), self._ignore.at("."))
        return tuple((0, rules) for rules in found if rules)

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


class _Level(Generic[Item]):
    """A directory on the way down: what of it is still to come, and the rules in force there."""

    __slots__ = ("chain", "entries", "fd", "has_rules", "path", "refused")

    def __init__(self, fd: int, path: str, chain: Chain | None, *, has_rules: bool) -> None:
        self.fd = fd
        self.path = path
        self.entries: Iterator[Item] = iter(())
        self.chain = chain
        self.has_rules = has_rules
        self.refused: set[str] = set()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


_Named = _Level[Files | str]
"""A level of files, and of the names of directories between them."""


def _name(entry: Entry) -> str:
    return entry.name


def _is_out(name: str, skip: Collection[str]) -> bool:
    return name in skip or (name.startswith(".") and is_git_name(unescape_path(name)))


def _is_left_out(entry: Entry, skip: Collection[str], *, hidden: bool) -> bool:
    name = entry.name
    if name in skip:
        return True
    if name.startswith("."):
        return not hidden or is_git_name(unescape_path(name))
    return False


def _is_ignored(chain: Chain | None, entry: Entry) -> bool:
    if not chain:
        return False
    return ignored(chain, encoded(entry.path), encoded(entry.name), is_dir=entry.kind == "dir")
