"""The complete outputs that a session stores beside its workspace: they can only be read."""

import errno
import os
from pathlib import Path

from nanocoder_files.errors import WorkspaceError
from nanocoder_files.os_errors import problem
from nanocoder_files.private_files import open_private


class Outputs:
    """The files directly in one directory of ours, by their absolute paths; None has none."""

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
