"""Files of our own state that stay locked while the process that made them lives.

A lock tells what a killed process has left from the work of one that runs. A process number cannot:
it may belong to another process by now, or to one of another container.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_files.private_files import lock_file, open_private

TRIES: Final = 20


def folder_for(base: Path, root: Path) -> Path:
    """Return the folder below *base* for the files about *root*."""
    from hashlib import sha256  # as in content.digest

    return base / sha256(bytes(root)).hexdigest()[:32]


def create_locked(folder: Path, name: str, suffix: str) -> tuple[Path, int]:
    """Make and lock a file in *folder*, which is made with the folder above it; raises OSError.

    Returns its path, which begins with *name*, and the descriptor, which appends.
    """
    for _ in range(TRIES):
        for directory in (folder.parent, folder):
            with suppress(FileExistsError):
                directory.mkdir(mode=0o700)
        path = folder / f"{name}-{os.urandom(4).hex()}{suffix}"
        # Another process may remove the empty folder, or the file before it is locked.
        with suppress(FileNotFoundError):
            fd = _open_locked(path, os.O_CREAT | os.O_EXCL, wait=True)
            if fd >= 0:
                return path, fd
    raise OSError(errno.EBUSY, "no file could be made", str(folder))


def lock_ownerless(folder: Path, suffix: str) -> Iterator[tuple[Path, int]]:
    """Lock the files of dead processes in *folder*, one after the other; raises OSError."""
    with os.scandir(folder) as entries:  # a link or a pipe is none of ours
        names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    for name in names:
        if not name.endswith(suffix):
            continue
        with suppress(FileNotFoundError, BlockingIOError):  # gone, or its owner lives
            fd = _open_locked(folder / name, 0, wait=False)
            if fd >= 0:
                yield folder / name, fd


def remove_if_empty(folder: Path) -> None:
    """Remove *folder* and the folder above it where they are empty."""
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def _open_locked(path: Path, flags: int, *, wait: bool) -> int:
    """Open and lock; -1 where the file was removed meanwhile. Raises OSError."""
    fd = open_private(path, flags | os.O_RDWR | os.O_APPEND)
    try:
        lock_file(fd, wait=wait)
        if os.fstat(fd).st_nlink:
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1
