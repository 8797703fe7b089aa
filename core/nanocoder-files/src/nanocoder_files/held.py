"""Files of our own state that are locked while their owner lives.

So what a killed process has left can be told from the work of one that runs, also where its number
belongs to another process by now, or to one of another container.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TRIES: Final = 20


def folder_of(base: Path, root: Path) -> Path:
    """Return where the files that are about *root* are kept, below *base*."""
    from hashlib import sha256  # as in content.digest

    return base / sha256(bytes(root)).hexdigest()[:32]


def made(folder: Path, name: str, suffix: str) -> tuple[Path, int]:
    """Make and lock a file in *folder*, which is made with the one above it; raises OSError.

    Returns its path, which begins with *name*, and the descriptor, which appends.
    """
    for _ in range(TRIES):
        for directory in (folder.parent, folder):
            with contextlib.suppress(FileExistsError):
                directory.mkdir(mode=0o700)
        path = folder / f"{name}-{os.urandom(4).hex()}{suffix}"
        # Whoever tidies up may take the folder away, or the file before it is locked.
        with contextlib.suppress(FileNotFoundError):
            fd = _locked(path, os.O_CREAT | os.O_EXCL, fcntl.LOCK_EX)
            if fd >= 0:
                return path, fd
    raise OSError(errno.EBUSY, "no file could be made", str(folder))


def ownerless(folder: Path, suffix: str) -> Iterator[tuple[Path, int]]:
    """Lock what dead processes have left in *folder*, one after the other; raises OSError."""
    with os.scandir(folder) as entries:  # a link or a pipe is none of ours
        names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    for name in names:
        if not name.endswith(suffix):
            continue
        with contextlib.suppress(FileNotFoundError, BlockingIOError):  # gone, or its owner lives
            fd = _locked(folder / name, 0, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if fd >= 0:
                yield folder / name, fd


def tidied(folder: Path) -> None:
    """Remove *folder* and the one above it where they are empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def _locked(path: Path, flags: int, lock: int) -> int:
    """Open and lock; -1 where the file was removed meanwhile. Raises OSError."""
    wanted = flags | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, wanted, 0o600)
    try:
        fcntl.flock(fd, lock)
        if os.fstat(fd).st_nlink:
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1
