"""Files of our own: opened without following traps, replaced in one step, locked while in use.

Another program may have put a link, a pipe or a device in the place of such a file. A lock tells
what a killed process has left from the work of one that runs. A process number cannot: it may
belong to another process by now, or to one of another container.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from nanocoder_files.content import digest

TRIES: Final = 20


def open_private(
    path: Path | str,
    flags: int = os.O_RDONLY,
    *,
    directory: int | None = None,
    follow_link: bool = False,
) -> int:
    """Open a regular file, relative to *directory*, and return its descriptor.

    A last component that is a symbolic link is refused, unless *follow_link* is set.
    Raises: OSError, with EINVAL for anything but a regular file.
    """
    # O_NONBLOCK: opening a pipe without a writer would wait for ever.
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if follow_link else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, 0o600, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return descriptor


def writable_by_others(path: Path) -> str:
    """Return *path* or the first folder above it that a user other than root could change, or "".

    A link counts with everything that leads to it and to its target; a missing file does not.
    """
    real = path.resolve()
    places = filter(os.path.lexists, (path, *path.parents, real, *real.parents))
    return next((str(place) for place in places if _is_open(place.lstat())), "")


def _is_open(status: os.stat_result) -> bool:
    # The permissions of a link mean nothing, and a sticky folder protects what is in it.
    is_shielded = stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX
    return status.st_uid != 0 or bool(status.st_mode & 0o022 and not is_shielded)


@contextmanager
def closing_file(descriptor: int) -> Iterator[int]:
    """Give an open *descriptor*, and close it in the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside *path*, then take its place: no reader, and no power cut, sees half a file.

    The new file keeps the permissions of the old one. Raises: OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The random part is for the threads of one process.
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.{os.getpid()}")
    mode = None
    with suppress(FileNotFoundError):
        # A person may have opened the file to a group; a new one is private.
        mode = stat.S_IMODE(path.stat().st_mode)
    write_private(beside, content, mode, sync=True)
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    _remove_leftovers(path)


def write_private(path: Path, data: bytes, mode: int | None = None, *, sync: bool = False) -> None:
    """Write *data* to a new file; raises FileExistsError where there is one, OSError."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with closing_file(descriptor):
            if mode is not None:
                os.fchmod(descriptor, mode)
            append_all(descriptor, data, 0, sync=sync)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _remove_leftovers(path: Path) -> None:
    """Remove what writers that were killed have left beside *path*."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        with suppress(OSError, ValueError, OverflowError):
            try:
                # Signal 0 sends nothing: it tells whether the process still lives.
                os.kill(int(leftover.suffix[1:]), 0)
            except ProcessLookupError:
                leftover.unlink()


def append_all(
    descriptor: int, data: bytes | bytearray | memoryview, size: int, *, sync: bool = False
) -> int:
    """Write *data* at the end of a file of *size* bytes, all of it or nothing; return the new size.

    The file must be open for appending, or be written for the first time. With *sync* it is on the
    disk when this returns. Raises: OSError.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            # Half an entry would be taken for damage by those who read the file.
            os.ftruncate(descriptor, size)
        raise
    return size + len(data)


def sync_directory(path: Path | str, directory: int | None = None) -> None:
    """Put the names of the files in *path* on the disk; raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with closing_file(os.open(path, flags, dir_fd=directory)) as descriptor:
        os.fsync(descriptor)


def private_directory(path: Path) -> None:
    """Make *path* and what is missing above it, for the user's eyes only; raises OSError."""
    missing = [] if path.exists() else [each for each in (path, *path.parents) if not each.exists()]
    # One by one, since mkdir with parents gives those the default mode.
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(path.lstat().st_mode) & 0o077:
        path.chmod(0o700)


def lock_file(descriptor: int, *, wait: bool = True, is_shared: bool = False) -> None:
    """Lock an open file until the descriptor is closed, for this process alone unless *is_shared*.

    Raises: BlockingIOError if another process has it and *wait* is not set, OSError.
    """
    import fcntl  # a start that locks nothing does not need it

    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold the lock file *path*, making it and its folder; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing_file(open_private(path, os.O_RDWR | os.O_CREAT)) as descriptor:
        lock_file(descriptor)
        yield


def folder_for(base: Path, root: Path) -> Path:
    """Return the folder below *base* for the files about *root*."""
    return base / digest(bytes(root))[:32]


def create_locked(folder: Path, name: str, suffix: str) -> tuple[Path, int]:
    """Make and lock a file in *folder*, which is made with the folder above it; raises OSError.

    Returns its path, which begins with *name*, and the descriptor, which appends.
    """
    for _ in range(TRIES):
        path = folder / f"{name}-{os.urandom(4).hex()}{suffix}"
        # Another process may remove the empty folder, or the file before it is locked.
        with suppress(FileNotFoundError):
            private_directory(folder)
            fd = _open_locked(path, os.O_CREAT | os.O_EXCL, wait=True)
            if fd >= 0:
                return path, fd
    raise OSError(errno.EBUSY, "no file could be made", str(folder))


def lock_ownerless(folder: Path, suffix: str) -> Iterator[tuple[Path, int]]:
    """Lock the files of dead processes in *folder*, one after the other; raises OSError."""
    for path in files_in(folder, suffix):
        with suppress(FileNotFoundError, BlockingIOError):  # gone, or its owner lives
            fd = _open_locked(path, 0, wait=False)
            if fd >= 0:
                yield path, fd


def files_in(folder: Path, suffix: str) -> list[Path]:
    """Return the regular files of *folder* whose names end so, sorted; raises OSError."""
    with os.scandir(folder) as entries:  # a link or a pipe is none of ours
        names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    return [folder / name for name in names if name.endswith(suffix)]


def remove_if_empty(folder: Path) -> None:
    """Remove *folder* and the folder above it where they are empty."""
    with suppress(OSError):
        folder.rmdir()
        # Not empty is the usual case: another process has files there.
        folder.parent.rmdir()


def _open_locked(path: Path, flags: int, *, wait: bool) -> int:
    """Open and lock; -1 where the file was removed meanwhile. Raises OSError."""
    fd = open_private(path, flags | os.O_RDWR | os.O_APPEND)
    try:
        lock_file(fd, wait=wait)
        # Its owner may have removed it while we waited: such a file has no name any more.
        if os.fstat(fd).st_nlink:
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1
