"""A private folder that its process deletes, or the next process with such a folder."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_files import lock_file

from nanocoder_kit_process.trees import remove_tree

NEW: Final = "nanocoder-new-"


class TemporaryFolder:
    """A folder below the directory for temporary files, for this process alone."""

    def __init__(self, prefix: str) -> None:
        """Make it, and delete those of its *prefix* whose processes were killed; raises OSError."""
        parent = Path(tempfile.gettempdir())
        _remove_orphans(parent, prefix)
        new = Path(tempfile.mkdtemp(prefix=NEW, dir=parent))
        # It is locked before it has the name by which others look for orphans.
        self._descriptor = _lock(new)
        self.path = new.rename(parent / f"{prefix}{new.name.removeprefix(NEW)}")

    def remove(self) -> None:
        """Delete it with all that is in it; a second time does nothing."""
        if self._descriptor >= 0:
            with suppress(OSError):
                remove_tree(self.path)
            os.close(self._descriptor)
            self._descriptor = -1


def _remove_orphans(parent: Path, prefix: str) -> None:
    """Delete the folders of this user that no process has locked."""
    for path in parent.glob(f"{prefix}*"):
        try:
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            descriptor = _lock(path)
        except OSError:  # in use, or gone by now
            continue
        with suppress(OSError):
            remove_tree(path)
        os.close(descriptor)


def _lock(path: Path) -> int:
    """Open and lock a directory; raises OSError, BlockingIOError where another process has it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        lock_file(descriptor, wait=False)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
