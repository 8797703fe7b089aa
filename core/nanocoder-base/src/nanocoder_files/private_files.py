"""Files of our own: opened safely, replaced atomically, locked while in use.

Another program may have replaced such a file by a link, a pipe or a device. A lock distinguishes
the files of a killed process from those of a running one. A process id cannot: it may belong to
another process by now, or to one of another container.
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
    """Return *path* or the first directory above it that users other than root can change, or "".

    A link counts with all directories above it and its target; a missing file does not.
    """
    real = path.resolve()
    places = filter(os.path.lexists, (path, *path.parents, real, *real.parents))
    return next((str(place) for place in places if _is_open(place.lstat())), "")


def _is_open(status: os.stat_result) -> bool:
    # The permissions of a link have no effect, and a sticky directory protects its entries.
    is_shielded = stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX
    return status.st_uid != 0 or bool(status.st_mode & 0o022 and not is_shielded)


@contextmanager
def closing_file(descriptor: int) -> Iterator[int]:
    """Yield an open *descriptor* and close it at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Replace *path* atomically: no reader, and no power cut, sees half a file.

    The new file has the permissions of the old one. Raises: OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The random part is for the threads of one process.
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.{os.getpid()}")
    mode = None
    with suppress(FileNotFoundError):
        # A person may have given a group access to the file; a new one is private.
        mode = stat.S_IMODE(path.stat().st_mode)
    write_private(beside, content, mode, sync=True)
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    _remove_leftovers(path)


def write_private(path: Path, data: bytes, mode: int | None = None, *, sync: bool = False) -> None:
    """Write *data* to a new file; raises FileExistsError, OSError."""
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
    """Remove temporary files of killed writers beside *path*."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        with suppress(OSError, ValueError, OverflowError):
            try:
                # Signal 0 only tests whether the process is alive.
                os.kill(int(leftover.suffix[1:]), 0)
            except ProcessLookupError:
                leftover.unlink()


def append_all(
    descriptor: int, data: bytes | bytearray | memoryview, size: int, *, sync: bool = False
) -> int:
    """Append all of *data* or nothing to a file of *size* bytes; return the new size.

    The file must be open for appending, or be new. With *sync* the data is on the disk on return.
    Raises: OSError.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            # A reader would take half an entry for damage.
            os.ftruncate(descriptor, size)
        raise
    return size + len(data)


def sync_directory(path: Path | str, directory: int | None = None) -> None:
    """Flush the directory *path* to the disk; raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with closing_file(os.open(path, flags, dir_fd=directory)) as descriptor:
        os.fsync(descriptor)


def private_directory(path: Path) -> None:
    """Create *path* and missing directories above it with mode 700; raises OSError."""
    missing = [] if path.exists() else [each for each in (path, *path.parents) if not each.exists()]
    # One by one: mkdir with parents gives those the default mode.
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if stat.S_IMODE(path.lstat().st_mode) & 0o077:
        path.chmod(0o700)


def lock_file(descriptor: int, *, wait: bool = True, is_shared: bool = False) -> None:
    """Lock an open file until the descriptor is closed, exclusively unless *is_shared*.

    Raises: BlockingIOError if another process holds it and *wait* is not set, OSError.
    """
    import fcntl  # most starts lock nothing

    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold the lock file *path*, created with its directory; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing_file(open_private(path, os.O_RDWR | os.O_CREAT)) as descriptor:
        lock_file(descriptor)
        yield


def folder_for(base: Path, root: Path) -> Path:
    """Return the directory below *base* for the records of the workspace *root*."""
    return base / digest(bytes(root))[:32]


def create_locked(folder: Path, name: str, suffix: str) -> tuple[Path, int]:
    """Create and lock a file in *folder*, creating that and its parent; raises OSError.

    Returns its path, whose name begins with *name*, and a descriptor for appending.
    """
    for _ in range(TRIES):
        path = folder / f"{name}-{os.urandom(4).hex()}{suffix}"
        # Another process may remove the empty directory, or the file before it is locked.
        with suppress(FileNotFoundError):
            private_directory(folder)
            fd = _open_locked(path, os.O_CREAT | os.O_EXCL, wait=True)
            if fd >= 0:
                return path, fd
    raise OSError(errno.EBUSY, "no file could be made", str(folder))


def lock_ownerless(folder: Path, suffix: str) -> Iterator[tuple[Path, int]]:
    """Yield the locked files of dead processes in *folder*, one by one; raises OSError."""
    for path in files_in(folder, suffix):
        with suppress(FileNotFoundError, BlockingIOError):  # gone, or its owner is alive
            fd = _open_locked(path, 0, wait=False)
            if fd >= 0:
                yield path, fd


def files_in(folder: Path, suffix: str) -> list[Path]:
    """Return the regular files of *folder* with *suffix*, sorted; raises OSError."""
    with os.scandir(folder) as entries:  # a link or a pipe is not ours
        names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    return [folder / name for name in names if name.endswith(suffix)]


def remove_if_empty(folder: Path) -> None:
    """Remove *folder* and its parent if they are empty."""
    with suppress(OSError):
        folder.rmdir()
        # Usually not empty: another process has files there.
        folder.parent.rmdir()


def _open_locked(path: Path, flags: int, *, wait: bool) -> int:
    """Open and lock a file; return -1 if it was removed meanwhile. Raises OSError."""
    fd = open_private(path, flags | os.O_RDWR | os.O_APPEND)
    try:
        lock_file(fd, wait=wait)
        # Its owner may have removed it while we waited for the lock.
        if os.fstat(fd).st_nlink:
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1
