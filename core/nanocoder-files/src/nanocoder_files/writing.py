"""Replacing a file so that it is at every moment wholly the old or wholly the new one."""

import contextlib
import errno
import os
import re
import stat as mode_of
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.beneath import LISTING, Place
from nanocoder_files.content import digest
from nanocoder_files.errors import WorkspaceError

MAX_NAME_BYTES = 200
VERSION = "version:"
COMPARED_BYTES = 65_536
_STRAY = re.compile(r"\..*\.nc-(\d+)-[0-9a-f]{8}", re.DOTALL)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

LARGE_BYTES = 1_000_000
"""From here on starting a thread costs less than waiting for the disk."""

T = TypeVar("T")
# What is written, one after the other; it need not be copied together.
Pieces = Sequence[bytes | memoryview]


@frozen(eq=False, repr=False)
class Written(Value):
    """What a write did. *old* is the content before, None if there was none; *backup* its copy."""

    path: str
    created: bool
    size: int
    digest: str
    backup: Path | None = None
    old: bytes | None = None


@frozen(eq=False, repr=False)
class Old(Value):
    """The file that is to be replaced, as it was when it was read."""

    data: bytes
    status: os.stat_result
    attributes: tuple[tuple[str, bytes], ...] = ()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content; taken when asked for."""
        return digest(self.data)


def replace(
    place: Place,
    temporary: str,
    pieces: Pieces,
    old: Old | None,
    mode: int | None = None,
    *,
    meanwhile: Callable[[], T],
) -> T:
    """Put *pieces* at *place*: a new file beside it, flushed to the disk, then renamed over it.

    The new file is called *temporary* until then.

    What *meanwhile* does is done before the renaming, while the disk works; returns what that
    returns. A file that replaces none gets *mode*, or what the umask leaves. Hard links to the old
    file keep the old content. Raises: WorkspaceError (stale_read) when the file changed since *old*
    was read, OSError, what *meanwhile* raises; either way nothing has changed and no new file is
    left.
    """
    try:
        done = _write(place, temporary, pieces, old, mode, meanwhile)
        check_unchanged(place, old)
        os.rename(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.fd)
        raise
    sync_directory(place.fd)
    return done


def check_unchanged(place: Place, old: Old | None) -> None:
    """Raise WorkspaceError (stale_read) unless *place* still holds *old*."""
    try:
        now = place.stat()
    except FileNotFoundError:
        if old is None:
            return
        raise stale(place.path) from None
    if old is None or _version(now) != _version(old.status):
        raise stale(place.path)


def stale(path: str) -> WorkspaceError:
    """Return the error for a file that changed since it was read."""
    return WorkspaceError(
        f"'{path}' has changed since you read it, so nothing was changed. Read it again, then make"
        " the change to what is there now",
        error_class="stale_read",
        data={"path": path},
    )


def sync_directory(fd: int) -> None:
    """Flush the names in the open directory *fd* to the disk, where that is possible."""
    with contextlib.suppress(OSError):  # a directory without read permission cannot be synced
        listing = os.open(".", LISTING, dir_fd=fd)
        try:
            os.fsync(listing)
        finally:
            os.close(listing)


def content_of(fd: int, size: int, expected: bytes | None = None) -> bytes:
    """Read all of *fd*, which has *size* bytes now; *expected* itself where it holds just that.

    Comparing piece by piece spares the copy, which costs more than the comparison.
    """
    if expected is not None and len(expected) == size:
        at = 0
        while (piece := os.read(fd, COMPARED_BYTES)) and expected.startswith(piece, at):
            at += len(piece)
        if not piece and at == size:
            return expected
        os.lseek(fd, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(fd, size + 1):
        pieces.append(piece)
    return b"".join(pieces)


def read_old(fd: int, data: bytes, status: os.stat_result) -> Old:
    """Return what *fd*, with the content *data*, has beside its content."""
    attributes: list[tuple[str, bytes]] = []
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            attributes.extend((name, os.getxattr(fd, name)) for name in os.listxattr(fd))
    return Old(data, status, tuple(attributes))


def stray_owner(name: str) -> int:
    """Return the process that made the temporary file *name*; 0 when it is none of ours."""
    found = _STRAY.fullmatch(name)
    return int(found[1]) if found else 0


def temporary_name(name: str) -> str:
    """Return a name for a file that will replace *name*; `stray_owner` knows it."""
    kept = os.fsdecode(os.fsencode(name)[:MAX_NAME_BYTES])
    return f".{kept}.nc-{os.getpid()}-{os.urandom(4).hex()}"


def _write(
    place: Place,
    temporary: str,
    pieces: Pieces,
    old: Old | None,
    mode: int | None,
    meanwhile: Callable[[], T],
) -> T:
    # A new file gets the mode that the umask leaves; one that replaces another starts out private.
    fd = os.open(temporary, _NEW_FILE, 0o600 if old else 0o666, dir_fd=place.fd)
    try:
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
        if old:
            _copy_metadata(fd, old)
        elif mode is not None:
            os.fchmod(fd, mode & 0o777)
        return _flushed(fd, sum(map(len, pieces)), meanwhile)
    finally:
        os.close(fd)


def _flushed(fd: int, size: int, meanwhile: Callable[[], T]) -> T:
    """Flush *fd* to the disk and do *meanwhile*, of large files at the same time."""
    if size < LARGE_BYTES:
        done = meanwhile()
        os.fsync(fd)
        return done
    failed: list[OSError] = []

    def flush() -> None:
        try:
            os.fsync(fd)
        except OSError as error:
            failed.append(error)

    flushing = threading.Thread(target=flush, name="nanocoder-flush")
    flushing.start()
    try:
        done = meanwhile()
    finally:
        flushing.join()
    if failed:
        raise failed[0]
    return done


def _copy_metadata(fd: int, old: Old) -> None:
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (old.status.st_uid, old.status.st_gid):
        with contextlib.suppress(OSError):  # only root can give files away
            os.fchown(fd, old.status.st_uid, old.status.st_gid)
    os.fchmod(fd, mode_of.S_IMODE(old.status.st_mode) & 0o777)
    for name, value in old.attributes:
        with contextlib.suppress(OSError):
            os.setxattr(fd, name, value)


def version_mark(status: os.stat_result) -> str:
    """Return what tells a file that was read from a later one, without its content."""
    return VERSION + ":".join(map(str, _version(status)))


def _version(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def rename(here: Place, there: Place, status: os.stat_result, *, overwrite: bool) -> None:
    """Move what is at *here*; unless *overwrite*, raise FileExistsError for what is there."""
    if not overwrite:
        if mode_of.S_ISREG(status.st_mode) and _linked(here, there):
            return
        if _exists(there):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd)


def _linked(here: Place, there: Place) -> bool:
    """Move by a second name, which never replaces anything; False where links are not possible."""
    try:
        os.link(
            here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd, follow_symlinks=False
        )
    except FileExistsError:
        raise
    except OSError:
        return False
    os.unlink(here.name, dir_fd=here.fd)
    return True


def _exists(place: Place) -> bool:
    try:
        place.stat()
    except FileNotFoundError:
        return False
    return True
