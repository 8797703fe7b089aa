"""Replacing a file so that it is at every moment wholly the old or wholly the new one."""

import contextlib
import errno
import os
import re
import stat as mode_of
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files import private_files
from nanocoder_files.beneath import Place
from nanocoder_files.content import digest
from nanocoder_files.errors import WorkspaceError

MAX_NAME_BYTES = 200
COMPARED_BYTES = 65_536
_STRAY = re.compile(r"\..*\.nc-(\d+)-[0-9a-f]{8}", re.DOTALL)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

LARGE_BYTES = 1_000_000
"""From here on starting a thread costs less than waiting for the disk."""

T = TypeVar("T")
# A content in pieces, which need not be copied together.
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
class Metadata(Value):
    """The permissions, owner and attributes of a file; *owner* is user and group by number."""

    mode: int
    owner: tuple[int, int] = (-1, -1)
    attributes: tuple[tuple[str, bytes], ...] = ()

    def apply(self, fd: int) -> None:
        """Give it to the open file *fd*; raises OSError."""
        status = os.fstat(fd)
        if self.owner != (status.st_uid, status.st_gid):
            with contextlib.suppress(OSError):  # only root can give files away
                os.fchown(fd, *self.owner)
        # After the owner: a change of owner takes permissions and attributes off.
        os.fchmod(fd, self.mode)
        for name, value in self.attributes:
            with contextlib.suppress(OSError):
                os.setxattr(fd, name, value)


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

    @property
    def metadata(self) -> Metadata:
        """The metadata of the new file, without set-user-ID: that was for other content."""
        owner = (self.status.st_uid, self.status.st_gid)
        return Metadata(self.status.st_mode & 0o777, owner, self.attributes)


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

    The new file is called *temporary* until then. *meanwhile* is called before the renaming, while
    the disk works; its result is returned. A file that replaces none gets *mode*, or what the umask
    leaves. Hard links to the old file keep the old content. Raises: WorkspaceError (stale_read)
    when the file changed since *old* was read, OSError, what *meanwhile* raises; either way nothing
    has changed and no new file is left.
    """
    metadata = old.metadata if old else None
    with replacing(place, temporary):
        result = write_new(place, temporary, pieces, metadata, mode, meanwhile=meanwhile)
        check_unchanged(place, old)
    return result


@contextlib.contextmanager
def replacing(place: Place, temporary: str) -> Iterator[None]:
    """Rename what is made as *temporary* to *place*; remove it when that fails."""
    try:
        yield
        os.rename(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.fd)
        raise
    sync_directory(place.fd)


def check_unchanged(place: Place, old: Old | None) -> None:
    """Raise WorkspaceError (stale_read) unless *place* still holds *old*."""
    try:
        now = place.stat()
    except FileNotFoundError:
        if old is None:
            return
        raise stale(place.path) from None
    if old is None or version_of(now) != version_of(old.status):
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
        private_files.sync_directory(".", fd)


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
    match = _STRAY.fullmatch(name)
    return int(match[1]) if match else 0


def temporary_name(name: str) -> str:
    """Return a name for a file that will replace *name*; `stray_owner` knows it."""
    beginning = os.fsdecode(os.fsencode(name)[:MAX_NAME_BYTES])
    return f".{beginning}.nc-{os.getpid()}-{os.urandom(4).hex()}"


def write_new(
    place: Place,
    name: str,
    pieces: Pieces,
    metadata: Metadata | None,
    mode: int | None = None,
    *,
    meanwhile: Callable[[], T],
) -> T:
    """Make a file called *name* beside *place*, flushed to the disk; see `replace`.

    It gets *metadata*, or without them *mode*, or what the umask leaves.
    """
    # A file that gets its permissions from another starts out private.
    fd = os.open(name, _NEW_FILE, 0o600 if metadata else 0o666, dir_fd=place.fd)
    try:
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
        if metadata:
            metadata.apply(fd)
        elif mode is not None:
            os.fchmod(fd, mode & 0o777)
        return _flush(fd, sum(map(len, pieces)), meanwhile)
    finally:
        os.close(fd)


def _flush(fd: int, size: int, meanwhile: Callable[[], T]) -> T:
    """Flush *fd* to the disk and do *meanwhile*, for large files at the same time."""
    if size < LARGE_BYTES:
        result = meanwhile()
        os.fsync(fd)
        return result
    errors: list[OSError] = []

    def flush() -> None:
        try:
            os.fsync(fd)
        except OSError as error:
            errors.append(error)

    flushing = threading.Thread(target=flush, name="nanocoder-flush")
    flushing.start()
    try:
        result = meanwhile()
    finally:
        flushing.join()
    if errors:
        raise errors[0]
    return result


def version_of(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file from what replaced it, without its content."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def rename(here: Place, there: Place, status: os.stat_result, *, overwrite: bool) -> None:
    """Move what is at *here*; unless *overwrite*, raise FileExistsError for what is there."""
    if not overwrite:
        if mode_of.S_ISREG(status.st_mode) and _move_by_link(here, there):
            return
        if _exists(there):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd)


def _move_by_link(here: Place, there: Place) -> bool:
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
