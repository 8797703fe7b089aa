"""Reading the files below one root that the policies let be read."""

import errno
import os
import stat
from pathlib import Path

from nanocoder_files import content
from nanocoder_files.errors import WorkspaceError, problem
from nanocoder_files.path_text import escape_path
from nanocoder_files.private_files import open_private
from nanocoder_files.readable import LeftOut, Readable, WalkFilter, read_denied
from nanocoder_files.root import Root
from nanocoder_files.tree import Entry, Sieve, Tree

MAX_BYTES = 50_000_000


class Outputs:
    """The files directly in one directory of ours, by their absolute paths; None has none.

    They are the complete outputs that a session stores, and can only be read.
    """

    def __init__(self, folder: Path | None) -> None:
        self._prefixes: tuple[str, ...] = ()
        if folder is not None:
            self._prefixes = tuple({f"{folder}/", f"{os.path.realpath(folder)}/"})

    def has(self, path: str) -> bool:
        """Tell whether *path* is one of them, there or not; there are no folders in between."""
        folder, _, name = path.rpartition("/")
        return f"{folder}/" in self._prefixes and name not in {"", ".", ".."}

    def open(self, path: str) -> tuple[int, str, os.stat_result]:
        """Return descriptor, path and status; raises WorkspaceError."""
        try:
            fd = open_private(path)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise problem(error, path) from error
            raise WorkspaceError(
                f"{path!r} is not a file", error_class="not_a_regular_file"
            ) from None
        return fd, path, os.fstat(fd)

    def mode(self, path: str) -> int:
        """Return the mode of *path*, 0 when it is not there."""
        try:
            return self.status(path).st_mode
        except WorkspaceError:
            return 0

    def status(self, path: str) -> os.stat_result:
        """Return the status of *path*; raises WorkspaceError."""
        fd, _, status = self.open(path)
        os.close(fd)
        return status


class Reader:
    """Opens files; what *readable* refuses stays closed, by whatever path it is reached."""

    def __init__(self, root: Root, outputs: Outputs, readable: Readable) -> None:
        self.readable = readable
        self._root = root
        self.outputs = outputs

    def open(self, path: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file; return descriptor, path with links resolved, status."""
        if self.outputs.has(path):
            return self.outputs.open(path)
        raw = self._root.raw(path)
        fd, canonical, status = self._root.open_file(raw)
        reason = self.readable.refuses(escape_path(canonical))
        if reason:
            os.close(fd)
            raise read_denied(escape_path(raw), reason)
        return fd, canonical, status

    def read(self, path: str, max_bytes: int | None) -> tuple[bytes, str, os.stat_result]:
        """Return content, path with links resolved and status; see `Workspace.read_bytes`."""
        limit = MAX_BYTES if max_bytes is None else max_bytes
        fd, canonical, status = self.open(path)
        try:
            data = content.read_up_to(fd, min(status.st_size, limit), limit)
        except OSError as error:
            raise self._root.problem(error, path) from error
        finally:
            os.close(fd)
        if data is None or status.st_size > limit:
            raise WorkspaceError(
                f"'{escape_path(canonical)}' is {status.st_size:,} bytes long; at most {limit:,}"
                " can be read at once, so read a part of it or search in it",
                error_class="too_large",
                data={"size": status.st_size, "limit": limit},
            )
        if not self.outputs.has(path):
            self._root.note(self._root.raw(path), status, data)
        return data, canonical, status

    def passed(self, folder: str, entries: list[Entry]) -> list[Entry]:
        """Return those of the *entries* of *folder*, links resolved, that a walk gets to."""
        refused = self.walk_filter(folder, None).refused(
            escape_path(folder), [entry.name for entry in entries]
        )
        return [entry for entry in entries if entry.name not in refused]

    def walk_filter(self, folder: str, left_out: LeftOut | None) -> WalkFilter:
        """Return what a walk below *folder*, links resolved, lets pass; raises read_denied.

        A walk that starts where a person has to agree was agreed to.
        """
        readable, path = self.readable.now(), escape_path(folder)
        reason = readable.refuses(path)
        if reason:
            raise read_denied(path, reason)
        return WalkFilter(readable, left_out, asks=not readable.asks(path))

    def refuse_to_reveal(self, tree: Tree, source: str, target: str) -> None:
        """Raise read_denied where moving *source* to *target* makes readable what is refused.

        Files below a folder count. A link is only a name: its target stays where it is.
        """
        readable = self.readable.now()
        here = escape_path(self._root.resolved(source, follow=False))
        there = escape_path(self._root.resolved(target, follow=False))
        below = _left_out(tree, readable, source) if _is_folder(self._root, source) else []
        for path in (here, *below):
            reason = _reveals(readable, path, there + path[len(here) :])
            if reason:
                raise read_denied(path, reason)


def _is_folder(root: Root, raw: str) -> bool:
    try:
        with root.place(raw, follow=False) as place:
            return stat.S_ISDIR(place.stat().st_mode)
    except OSError:  # missing: the move says so
        return False


def _left_out(tree: Tree, readable: Readable, folder: str) -> list[str]:
    """Return what a walk of *folder* leaves out."""
    left_out = LeftOut()
    for _ in tree.walk(folder, Sieve(WalkFilter(readable, left_out, asks=True))):
        pass
    return [*left_out.files, *left_out.folders]


def _reveals(readable: Readable, before: str, after: str) -> str:
    """Return why *before* may not simply be read, if that is no reason for *after*; or ""."""
    if readable.refuses(after):
        return ""
    refusal = readable.refuses(before)
    return refusal or (readable.asks(before) if not readable.asks(after) else "")
