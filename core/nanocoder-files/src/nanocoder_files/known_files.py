"""What a session knows of the files that it has read, or written as a whole."""

import os

from nanocoder_files.path_text import escape_path
from nanocoder_files.writing import Old, stale, version_of

VERSION = "version:"


class KnownFiles(dict[str, str]):
    """The digest or the version mark of each file, by its path with links resolved.

    A file that differs from what is known is not changed, moved or deleted.
    """

    def check(self, path: str, old: Old | None) -> None:
        """Raise WorkspaceError (stale_read) when *old* is not what is known of *path*."""
        expected = self.get(path)
        if expected is None or old is None:  # a file that is gone has nothing left to lose
            return
        if expected != (version_mark(old.status) if expected.startswith(VERSION) else old.digest):
            raise stale(escape_path(path))

    def note(self, path: str, version: str | os.stat_result) -> None:
        """Know a digest, or a status, of *path*; "" forgets it."""
        self.pop(path, None)
        if version:
            self[path] = version if isinstance(version, str) else version_mark(version)

    def move(self, source: str, target: str) -> None:
        """Know what was moved, and what is below it, by its new name."""
        for path in [path for path in self if path == source or path.startswith(source + "/")]:
            self[target + path[len(source) :]] = self.pop(path)


def version_mark(status: os.stat_result) -> str:
    """Return what tells a file that was read from a later one, without its content."""
    return VERSION + ":".join(map(str, version_of(status)))
