"""Copies of files before they were changed, outside the workspace."""

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Final

from nanocoder_files.beneath import Place
from nanocoder_files.private_files import open_private, private_directory, write_private

LINKED_BYTES: Final = 1_000_000
"""From this size on, a second name of a file costs less than a copy."""
_CAN_TELL: Final = hasattr(fcntl, "F_SETLEASE")


class Backups:
    """Keeps at most *keep* copies of each file in *folder*, which only its owner can enter.

    They are the first, which is the file as the session found it, and the newest. *folder* may be
    on another disk than the files.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep

    def add(self, path: str, data: bytes) -> Path:
        """Store *data* as the content that *path* had, and return where; raises OSError."""
        target = self._target(path)
        write_private(target, data)
        self._prune(target.parent)
        return target

    def link(self, place: Place, status: os.stat_result) -> Path | None:
        """Keep the large file at *place* by a second name: it is about to be replaced or deleted.

        Returns its path, for `settle` or `drop` afterwards; None where only a copy will do: for a
        file that is small, has other names, is not the file of *status*, or is on another disk.
        Raises: OSError.
        """
        if status.st_size < LINKED_BYTES or status.st_nlink != 1 or not _CAN_TELL:
            return None
        target = self._target(place.path)
        try:
            os.link(place.name, target, src_dir_fd=place.fd, follow_symlinks=False)
        except OSError:
            return None
        if not os.path.samestat(os.lstat(target), status):
            target.unlink()
            return None
        self._prune(target.parent)
        return target

    def settle(self, backup: Path, data: bytes) -> None:
        """Turn a linked *backup* into a copy of *data* if a program can still write to it.

        Such a program has it open, or gave it another name just before the change.
        """
        with contextlib.suppress(OSError):  # the change has been made all the same
            if os.lstat(backup).st_nlink > 1 or _is_writable_to_others(backup):
                copy = backup.with_name(f".{backup.name}")  # not among those that `of` returns
                write_private(copy, data)
                copy.rename(backup)

    def drop(self, backup: Path) -> None:
        """Remove a linked *backup* whose file is still in use."""
        with contextlib.suppress(OSError):
            if os.lstat(backup).st_nlink > 1:
                backup.unlink()

    def _target(self, path: str) -> Path:
        folder = self._of(path)
        private_directory(folder)
        # The name sorts by age; the random part keeps two writes in one tick apart.
        name = f"{time.time_ns():020d}-{os.urandom(2).hex()}-{_plain(path)}"
        return folder / name

    def of(self, path: str) -> list[Path]:
        """Return the copies of *path*, oldest first."""
        folder = self._of(path)
        return _sorted(folder) if folder.is_dir() else []

    def _of(self, path: str) -> Path:
        from hashlib import sha256  # as in content.digest

        return self._folder / sha256(os.fsencode(path)).hexdigest()[:32]

    def _prune(self, folder: Path) -> None:
        for old in _sorted(folder)[1 : 1 - self._keep or None]:
            with contextlib.suppress(OSError):
                old.unlink()


def _sorted(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _is_writable_to_others(path: Path) -> bool:
    """Tell whether a program has *path* open or mapped for writing; no other can open it.

    Linux gives no lease for reading while there is one.
    """
    try:
        fd = open_private(path)
    except OSError:
        return True
    try:
        # The end of a lease is announced by SIGIO, which would end the process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _plain(path: str) -> str:
    name = path.rpartition("/")[2]
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)[-80:]
