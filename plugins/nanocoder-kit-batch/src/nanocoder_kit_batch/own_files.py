"""Files in a results folder, which may be part of a foreign repository: links are not followed."""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from nanocoder import UsageError
from nanocoder_files import open_private

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NOT_PLAIN: Final = {errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EINVAL, errno.ENXIO}
"""The errors of a link, a pipe or a file where a folder or a plain file is expected."""


def open_own(path: Path, flags: int, *, directory: int | None = None) -> int:
    """Open this user's file *path*, created with mode 0600, and return the file descriptor.

    With *directory*, an open folder's descriptor, only the name of *path* is used.
    Raises: UsageError for a link, another kind of file or the file of another user, OSError.
    """
    name = path if directory is None else path.name
    return _owned(path, lambda: open_private(name, flags, directory=directory))


@contextmanager
def own_folder(folder: Path, below: Iterable[str] = ()) -> Iterator[int]:
    """Open *folder*, or the subfolder *below* it, and yield the file descriptor.

    Missing folders are created with mode 0700. Raises: UsageError for a link or the folder of
    another user on the way, OSError.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _enter(folder, str(folder), None)
    try:
        for name in below:
            folder /= name
            inner = _enter(folder, name, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(path: Path, name: str, directory: int | None) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=directory)
    return _owned(path, lambda: os.open(name, FOLDER, dir_fd=directory))


def _owned(path: Path, opener: Callable[[], int]) -> int:
    """Return the descriptor from *opener*; raises UsageError for a link or another user's file."""
    try:
        descriptor = opener()
    except OSError as error:
        if error.errno in NOT_PLAIN:
            raise _not_plain(path) from error
        raise
    try:
        _refuse_foreign(path, os.fstat(descriptor))
    except UsageError:
        os.close(descriptor)
        raise
    return descriptor


def refuse_traps(folder: Path, directory: int) -> None:
    """Raise UsageError for a link or another user's file directly in an open folder."""
    for name in sorted(os.listdir(directory)):
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise _not_plain(folder / name)
            _refuse_foreign(folder / name, status)


def is_below(path: str) -> bool:
    """Return True if *path* is relative and stays below the folder that it begins in."""
    return {"", ".", ".."}.isdisjoint(path.split("/")) and "\0" not in path


def write_own(folder: Path, path: str, pieces: Iterable[bytes], *, sync: bool = False) -> None:
    """Replace *path* below *folder* atomically, with mode 0600; missing folders are created.

    With *sync* the content is flushed to the disk first.

    Raises: UsageError for a link or another user's file or folder, and for an OSError.
    """
    if not is_below(path):
        raise UsageError(f"{path!r} is not a path below {folder}")
    below = path.split("/")[:-1]
    target = folder / path
    try:
        with own_folder(folder, below) as directory:
            _replace(target, pieces, directory, sync=sync)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def write_page(path: Path, text: str) -> None:
    """Replace the page *path* that the user named atomically, with mode 0600.

    Raises: UsageError for a link or another user's file, and for an OSError.
    """
    try:
        directory = os.open(path.parent.resolve(), FOLDER)
        try:
            _replace(path, [text.encode()], directory, sync=False)
        finally:
            os.close(directory)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def set_mode(folder: Path, path: str, mode: int) -> None:
    """Set the *mode* of the file *path* below *folder*; raises like `write_own`."""
    target = folder / path
    try:
        with own_folder(folder, path.split("/")[:-1]) as directory:
            descriptor = open_own(target, os.O_RDONLY, directory=directory)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise UsageError(f"{target} cannot be changed: {error.strerror}") from error


def _replace(path: Path, pieces: Iterable[bytes], directory: int, *, sync: bool) -> None:
    name = path.name
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise _not_plain(path)
        _refuse_foreign(path, status)
    beside = f".{name}.new"
    with suppress(FileNotFoundError):  # of a batch that was killed
        os.unlink(beside, dir_fd=directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with os.fdopen(open_private(beside, flags, directory=directory), "wb") as file:
            file.writelines(pieces)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=directory)
        raise


def _not_plain(path: Path) -> UsageError:
    problem = "is a link, or not a regular file or folder"
    return UsageError(f"{path} {problem}; remove it, or name another directory")


def _refuse_foreign(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise UsageError(f"{path} belongs to another user; name a directory of your own")
