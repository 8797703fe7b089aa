"""Reading the files below one root that the policies let be read."""

import os

from nanocoder_files import content
from nanocoder_files.entries import Entry
from nanocoder_files.errors import WorkspaceError
from nanocoder_files.outputs import Outputs
from nanocoder_files.path_text import escape_path
from nanocoder_files.readable import Readable
from nanocoder_files.root import Root
from nanocoder_files.walk_filter import LeftOut, WalkFilter, read_denied

MAX_BYTES = 50_000_000


class Reader:
    """Opens files; what *readable* refuses stays closed, by whatever path it is reached."""

    def __init__(self, root: Root, outputs: Outputs, readable: Readable) -> None:
        self.readable = readable
        self._root = root
        self._outputs = outputs

    def open(self, path: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file; return descriptor, path with links resolved, status."""
        if self._outputs.has(path):
            return self._outputs.open(path)
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
        if not self._outputs.has(path):
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
