"""Resolve paths, read and list files below one root, as far as policies allow it."""

import contextlib
import errno
import os
import stat as mode_of
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nanocoder_files.content import MAX_BYTES, digest, read_up_to
from nanocoder_files.folder import Entry, Folder
from nanocoder_files.paths import WorkspaceError, escape_path, problem, unescape_path
from nanocoder_files.private_files import closing_file, open_private
from nanocoder_files.protected import Protection
from nanocoder_files.readable import Readable
from nanocoder_files.root import Root
from nanocoder_files.snapshot import RECORDING, KnownFiles, Snapshot


class Content(NamedTuple):
    """The *data* of a file; *path* has its links resolved and is relative to the workspace."""

    path: str
    data: bytes
    status: os.stat_result


class Reading:
    """The part of a `Workspace` that only reads, filtered by *readable*.

    The files directly in *outputs*, a directory of ours, can be read by their absolute paths.
    """

    def __init__(self, root: Root, outputs: Path | None, readable: Readable) -> None:
        self.root = root.path
        self._root = root
        self._readable = root.readable = readable
        self._known = KnownFiles(getattr(RECORDING.get(), "known_files", None))
        self._snapshot = Snapshot()
        self._outputs = {f"{outputs}/", f"{os.path.realpath(outputs)}/"} if outputs else set()

    def begin_preview(self) -> Snapshot:
        """Return the record of a preview, whose workspaces know which files this one has read."""
        return Snapshot(self._known)

    # Paths

    def relative(self, path: str) -> str:
        """Return *path* relative to the root, "." for the root; nothing needs to exist.

        Links are followed only if a ".." after them makes it necessary.
        """
        if self._is_output(path):
            return path
        raw = self._root.raw(path)
        return escape_path(self._root.resolved(raw) if ".." in raw.split("/") else raw)

    def resolve(self, path: str) -> str:
        """Return *path* relative to the root with its links resolved as far as it exists.

        Raises: symlink_loop.
        """
        if self._is_output(path):
            return path
        raw = self._root.raw(path)
        self._root.note(raw, is_known=False)
        return escape_path(self._root.resolved(raw))

    def real_path(self, path: str) -> Path:
        """Return the absolute path with its links resolved, for another program.

        The file may be replaced before that program opens it: prefer `open` if it is enough.
        Raises: stale_read for another directory than the one in the approved preview.
        """
        if self._is_output(path):
            return Path(path)
        raw = self._root.raw(path)
        resolved = self._root.resolved(raw)
        with contextlib.suppress(OSError):  # a missing directory cannot be another one
            self._snapshot.check(str(self.root), raw, resolved, self._root.look(raw))
        return self.root / resolved

    def protection(self, path: str) -> Protection | None:
        """Return the protection of *path* from changes without approval; None if it has none.

        Its names and those of its resolved links count, ignoring case; nothing needs to exist.
        """
        return self._root.protection(self._root.raw(path))

    # Reading

    def open(self, path: str) -> BinaryIO:
        """Open a regular file for reading.

        Raises: file_not_found, is_a_directory, not_a_regular_file, permission_denied, symlink_loop.
        """
        fd = self._open(path)[0]
        os.set_blocking(fd, True)
        return os.fdopen(fd, "rb")

    def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """Return the content of a file of at most *max_bytes* (None: 50 MB).

        Raises: too_large, and what `open` raises.
        """
        return self.read(path, max_bytes=max_bytes).data

    def read(self, path: str, *, max_bytes: int | None = None) -> Content:
        """Return the content of a file of at most *max_bytes* (None: 50 MB) with its path.

        Raises: too_large, and what `open` raises.
        """
        limit = MAX_BYTES if max_bytes is None else max_bytes
        fd, canonical, status = self._open(path)
        with closing_file(fd), self._root.errors(path):
            data = read_up_to(fd, status.st_size, limit)
        if data is None:
            raise WorkspaceError(
                f"'{escape_path(canonical)}' is {status.st_size:,} bytes long; at most {limit:,}"
                " can be read at once, so read a part of it or search in it",
                error_class="too_large",
                data={"size": status.st_size, "limit": limit},
            )
        if not self._is_output(path):
            self._root.note(self._root.raw(path), status, data)
        return Content(escape_path(canonical), data, status)

    def read_text(self, path: str, *, max_bytes: int | None = None) -> str:
        r"""Read a file in UTF-8 and record its digest, so that a write detects a change.

        Returns its text with "\n" at its line ends. Raises: binary_file for anything but UTF-8,
        too_large, and what `open` raises.
        """
        content = self.read(path, max_bytes=max_bytes)
        try:
            text = content.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise WorkspaceError(f"'{content.path}' is not UTF-8 text", error_class="binary_file")
        self.note_read(content.path, digest(content.data))
        return text.replace("\r\n", "\n")

    def note_read(
        self, path: str, version: str | os.stat_result, lines: range | None = None, total: int = 0
    ) -> None:
        """Record that *path* was read: its SHA-256, or the result of `fstat`; "" removes it.

        *lines* are the numbers of the lines read, of *total*; without them it was the whole file.
        """
        if not self._is_output(path):
            self._known.note(self._resolved(path), version, lines, total)

    def has_read(self, path: str) -> bool:
        """Return True if this session has read all of *path*, perhaps in parts, or written it."""
        return self._known.get(self._resolved(path), "") not in {"", *self._known.parts}

    def digest_of(self, path: str) -> str:
        """Return the SHA-256 of a file's bytes in hexadecimal; raises as `read_bytes` does."""
        return digest(self.read_bytes(path))

    def stat(self, path: str) -> os.stat_result:
        """Return the status of *path*, following links; raises file_not_found."""
        if not self._is_output(path):
            return self._root.status(self._root.raw(path))
        fd, _, status = self._open(path)
        os.close(fd)
        return status

    def exists(self, path: str) -> bool:
        """Return True if *path*, following links, exists."""
        return self._mode(path) != 0

    def is_file(self, path: str) -> bool:
        """Return True if *path*, following links, is a regular file."""
        return mode_of.S_ISREG(self._mode(path))

    def is_dir(self, path: str) -> bool:
        """Return True if *path*, following links, is a directory."""
        return mode_of.S_ISDIR(self._mode(path))

    # Listing

    def scan(self, path: str = ".") -> list[Entry]:
        """List one directory, sorted by name.

        Raises: file_not_found, not_a_directory, permission_denied.
        """
        with self.open_folder(path) as folder:
            entries = folder.entries(called=escape_path(self._root.raw(path)))
            refused = folder.refused([entry.name for entry in entries])
        return [entry for entry in entries if entry.name not in refused]

    def open_folder(self, path: str = ".") -> Folder:
        """Open a directory, to list it and those below; close it, or use it in a `with`.

        Raises: what `scan` raises.
        """
        folder, readable, asks = self._start(path)
        fd = self._root.open_directory(folder)
        return Folder(self._root, fd, escape_path(folder), readable, asks=asks)

    def readable_below(self, path: str = ".") -> Callable[[str], bool]:
        """Return a predicate that tells whether a walk below *path* may reach a path.

        It filters the paths of another program, relative to the workspace and without links.
        Raises: read_denied for *path* itself.
        """
        if self._is_output(path):
            return self._is_output
        _, readable, asks = self._start(path)
        return lambda name: not (readable.refuses(name) or (asks and readable.asks(name)))

    def _resolved(self, path: str) -> str:
        return self._root.resolved(self._root.raw(path))

    def _mode(self, path: str) -> int:
        if not self._is_output(path):
            return self._root.mode(self._root.raw(path))
        with contextlib.suppress(WorkspaceError):
            return self.stat(path).st_mode
        return 0

    def _is_output(self, path: str) -> bool:
        """Return True if *path*, existing or not, is directly in the outputs."""
        folder, _, name = path.rpartition("/")
        return f"{folder}/" in self._outputs and name not in {"", ".", ".."}

    def _start(self, path: str) -> tuple[str, Readable, bool]:
        """Return a walk's resolved directory, its filter, and whether paths that ask are omitted.

        A walk that starts at a path that needs approval was approved. Raises: read_denied.
        """
        folder, readable = self._resolved(path), self._readable.now()
        if reason := readable.refuses(escape_path(folder)):
            raise _read_denied(escape_path(folder), reason)
        return folder, readable, not readable.asks(escape_path(folder))

    def _open(self, path: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file; return descriptor, path with links resolved, status."""
        if self._is_output(path):
            return _open_output(path)
        raw = self._root.raw(path)
        fd, canonical, status = self._root.open_file(raw)
        if reason := self._readable.refuses(escape_path(canonical)):
            os.close(fd)
            raise _read_denied(escape_path(raw), reason)
        return fd, canonical, status

    def _refuse_to_reveal(self, source: str, target: str) -> None:
        """Raise read_denied if moving *source* to *target* would make a refused file readable.

        Files below a directory count. A link is only a name: its target is not moved.
        """
        readable = self._readable.now()
        here = escape_path(self._root.resolved(source, follow=False))
        there = escape_path(self._root.resolved(target, follow=False))
        for path in (here, *self._refused_below(source, readable)):
            after = there + path[len(here) :]
            reason = readable.refuses(path) or ("" if readable.asks(after) else readable.asks(path))
            if reason and not readable.refuses(after):
                raise _read_denied(path, reason)

    def _refused_below(self, folder: str, readable: Readable) -> Iterator[str]:
        """Yield the paths that a search of *folder* leaves out; none if it is no directory."""
        waiting: list[str] = []
        with contextlib.suppress(OSError), self._root.locate(folder, follow=False) as place:
            # If it is missing, the move reports it.
            waiting += [folder] if mode_of.S_ISDIR(place.stat().st_mode) else []
        while waiting:
            raw = waiting.pop()
            try:
                fd = self._root.open_directory(raw)
            except WorkspaceError:  # it cannot be read at any path
                continue
            with Folder(self._root, fd, escape_path(raw), readable, asks=True) as opened:
                entries = opened.entries(details=False)
                refused = opened.refused([entry.name for entry in entries])
            yield from (entry.path for entry in entries if entry.name in refused)
            below = (e for e in entries if e.kind == "dir" and e.name not in refused)
            waiting += [unescape_path(entry.path) for entry in below]


def _open_output(path: str) -> tuple[int, str, os.stat_result]:
    try:
        fd = open_private(path)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise problem(error, path) from error
        raise WorkspaceError(f"{path!r} is not a file", error_class="not_a_regular_file") from None
    return fd, path, os.fstat(fd)


def _read_denied(path: str, reason: str) -> WorkspaceError:
    return WorkspaceError(f"'{path}' may not be read: {reason}", error_class="read_denied")
