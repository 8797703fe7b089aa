"""Leases: a session holds a locked file as long as it lives, so that others see who was killed.

Beside it is a folder with the session's own files.
"""

import contextlib
import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from nanocoder_files import create_locked
from nanocoder_kit_process.trees import remove_tree

SUFFIX: Final = ".lease"
LOCK: Final = "lock"
"""The file of a session that all which runs inside holds."""
_LOCK_FORMAT: Final = "hhqqi"  # struct flock
_WHOLE: Final = (os.SEEK_SET, 0, 0, 0)


class Lease:
    """The lease at *path*, open as *descriptor*, of the session with the folder beside it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.folder = path.with_suffix("")
        self.lock = self.folder / LOCK
        self._path, self._descriptor = path, descriptor

    def end(self) -> None:
        """Remove all files of the session, the lease last, and the folder above them if empty."""
        with contextlib.suppress(OSError):
            remove_tree(self.folder)
        self._path.unlink(missing_ok=True)
        self.release()
        with contextlib.suppress(OSError):
            self._path.parent.rmdir()

    def is_of_living(self, name: str) -> bool:
        """Tell whether a session whose folder has that *name* has its lease."""
        return self._path.with_name(name + SUFFIX).exists()

    def release(self) -> None:
        """Give the lease back, and leave it to a later session."""
        os.close(self._descriptor)


def take_lease(base: Path, name: str) -> Lease:
    """Make the folder of a new session in *base*, beginning with *name*, and a lease for it.

    Raises: OSError, also where others could write there.
    """
    with contextlib.suppress(FileNotFoundError):  # its last session ends
        _make_ours(base)
    lease = Lease(*create_locked(base, name, SUFFIX))
    _make_ours(base)  # it may be another one than before
    lease.folder.mkdir(mode=0o700)
    lease.lock.touch(mode=0o600)
    return lease


def is_held(lock: str | Path) -> bool:
    """Tell whether a process holds the file *lock*; raises OSError."""
    # Asked, not taken: bubblewrap fails to start where it cannot lock the file at once.
    question = struct.pack(_LOCK_FORMAT, fcntl.F_WRLCK, *_WHOLE)
    with open(lock, "r+b") as file:
        answer = fcntl.fcntl(file.fileno(), fcntl.F_GETLK, question)
    return bool(struct.unpack(_LOCK_FORMAT, answer)[0] != fcntl.F_UNLCK)


def _make_ours(folder: Path) -> None:
    """Make a directory that is ours alone; raises OSError where another user has it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or folder.is_symlink() or facts.st_mode & 0o077:
        raise PermissionError(f"{folder} belongs to somebody else, or others may write to it")
