"""Replace files atomically: at every moment the old or the new content is complete."""

import contextlib
import errno
import os
import re
import stat as mode_of
from collections.abc import Iterator, Sequence
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Final

from nanocoder_schema import value

from nanocoder_files import private_files
from nanocoder_files.beneath import LISTING, READ, Place, check_regular
from nanocoder_files.change import FileKind, FileState
from nanocoder_files.content import MAX_BYTES, digest, read_up_to
from nanocoder_files.paths import WorkspaceError, escape_path
from nanocoder_files.private_files import closing_file

# A name has at most 255 bytes: this leaves room for what `temporary_name` adds.
MAX_NAME_BYTES: Final = 200
_STRAY = re.compile(r"\.[^/]*\.nc-\d+-[0-9a-f]{8}")
HAS_EFFECTIVE_IDS: Final = os.access in os.supports_effective_ids
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Content in pieces, which is never joined in memory.
Pieces = Sequence[bytes | memoryview]


@value
class Written:
    """A finished write. *old* is the content before, None if there was none; *backup* its copy."""

    path: str
    created: bool
    size: int
    digest: str
    backup: Path | None = None
    old: bytes | None = None


@value
class Old:
    """The state and content of the file to replace, as read before."""

    data: bytes
    status: os.stat_result
    attributes: tuple[tuple[str, bytes], ...] = ()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, computed at first use."""
        return digest(self.data)

    @property
    def metadata(self) -> FileState:
        """The metadata for a new file, without set-user-ID: that was for other content."""
        mode = self.status.st_mode & 0o777
        return FileState.of_status(self.status, attributes=self.attributes, mode=mode)

    @property
    def state(self) -> FileState:
        """The full state, including the digest."""
        content = {"digest": self.digest, "size": len(self.data)}
        return FileState.of_status(self.status, attributes=self.attributes, **content)


def read_old(place: Place) -> Old | None:
    """Read the file that will be replaced; None if there is none.

    Raises: WorkspaceError, OSError.
    """
    try:
        fd = os.open(place.name, READ | os.O_NOFOLLOW, dir_fd=place.fd)
    except FileNotFoundError:
        return None
    with closing_file(fd):
        status = os.fstat(fd)
        check_regular(place.path, status)
        data = read_up_to(fd, status.st_size, MAX_BYTES)
        if data is None:
            raise WorkspaceError(
                f"{escape_path(place.path)!r} is larger than {MAX_BYTES:,} bytes",
                error_class="too_large",
            )
        attributes: list[tuple[str, bytes]] = []
        if hasattr(os, "listxattr"):
            with contextlib.suppress(OSError):
                # Some file systems have no attributes, and some attributes are not readable.
                attributes.extend((name, os.getxattr(fd, name)) for name in os.listxattr(fd))
        return Old(data, status, tuple(attributes))


def state_of(place: Place, digest_bytes: int = MAX_BYTES) -> FileState:
    """Return the state of the file at *place*; a link is not followed. Raises OSError.

    A file of more than *digest_bytes* has no digest.
    """
    status = place.status()
    if status is None:
        return FileState()
    if mode_of.S_ISREG(status.st_mode):
        digest_now = _digest(place) if status.st_size <= digest_bytes else ""
        return FileState.of_status(status, digest=digest_now, size=status.st_size)
    if mode_of.S_ISLNK(status.st_mode):  # a link has no other fields that can be set
        return FileState(FileKind.LINK, target=os.readlink(place.name, dir_fd=place.fd))
    return FileState.of_status(status)


def _digest(place: Place) -> str:
    from hashlib import file_digest  # as in content.digest

    with open_regular(place) as file:
        return file_digest(file, "sha256").hexdigest()


def open_regular(place: Place) -> BufferedReader:
    """Open the regular file at *place*, not following a link, for reading; raises OSError."""
    return os.fdopen(private_files.open_private(place.name, directory=place.fd), "rb")


def put(place: Place, state: FileState, data: bytes, temporary: str) -> None:
    """Give *place* the *state*, with the content *data*.

    A file or a link is replaced atomically: it is created as *temporary* and renamed. A directory
    in its way has to be empty. Raises: OSError.
    """
    if state.kind in {FileKind.FILE, FileKind.LINK}:
        with replacing(place, temporary):
            if state.is_file:
                write_new(place, temporary, [data], state)
            else:
                os.symlink(state.target, temporary, dir_fd=place.fd)
        return
    if state.exists:
        with contextlib.suppress(FileExistsError):
            # Private until it has its own mode: no other user may add files before that.
            os.mkdir(place.name, 0o700, dir_fd=place.fd)
        with closing_file(os.open(place.name, LISTING, dir_fd=place.fd)) as fd:
            state.apply(fd)
    elif mode_of.S_ISDIR(place.stat().st_mode):
        os.rmdir(place.name, dir_fd=place.fd)
    else:
        os.unlink(place.name, dir_fd=place.fd)
    flush_names(".", place.fd)


@contextlib.contextmanager
def replacing(place: Place, temporary: str) -> Iterator[None]:
    """Rename *temporary*, created in the block, to *place* and flush; remove it on failure.

    Hard links to a replaced file keep the old content.
    """
    try:
        yield
        os.rename(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.fd)
        raise
    flush_names(".", place.fd)


def check_writable(place: Place, old: Old | None, new: str = "") -> None:
    """Raise WorkspaceError (permission_denied) for a file that may be replaced, but not written.

    A read-only file is refused to root, too. A file of another user is refused to all but root, and
    to a root without that capability as soon as its replacement, the file *new*, is not theirs.
    """
    if old is None:
        return
    mode, owner = mode_of.S_IMODE(old.status.st_mode), old.status.st_uid
    is_own = owner == (user := os.geteuid())
    may_write = os.access(place.name, os.W_OK, dir_fd=place.fd, effective_ids=HAS_EFFECTIVE_IDS)
    if os.fstatvfs(place.fd).f_flag & os.ST_RDONLY:
        problem = "is on a file system that is read-only"
    elif not (is_own or may_write):
        problem = f"belongs to another user, who alone may let others write it (mode {mode:03o})"
    elif not (may_write and mode & (0o200 if is_own else 0o222)):
        problem = f"is read-only (mode {mode:03o}); if the change is meant, use chmod u+w first"
    elif (user and not is_own) or (new and os.lstat(new, dir_fd=place.fd).st_uid != owner):
        problem = "belongs to another user, and a new file would be yours; a command can write it"
    else:
        return
    message = f"nothing was changed: {escape_path(place.path)!r} {problem}"
    raise WorkspaceError(message, error_class="permission_denied")


def check_unchanged(place: Place, old: Old | None) -> None:
    """Raise WorkspaceError (stale_read) unless *place* still holds *old*."""
    now = place.status()
    if (version_of(now) if now else None) != (version_of(old.status) if old else None):
        raise stale(place.path)


def stale(path: str) -> WorkspaceError:
    """Return the error for a file that changed since it was read."""
    return WorkspaceError(
        f"'{path}' has changed since you read it, so nothing was changed. Read it again, then make"
        " the change to what is there now",
        error_class="stale_read",
        data={"path": path},
    )


def flush_names(folder: Path | str, fd: int | None = None) -> None:
    """Flush the names in *folder*, open as *fd*, to the disk, if it is readable."""
    with contextlib.suppress(OSError):
        private_files.sync_directory(folder, fd)


def is_temporary(name: str) -> bool:
    """Return True if *name* is one that `temporary_name` returns."""
    return _STRAY.fullmatch(name) is not None


def temporary_name(name: str) -> str:
    """Return a name for a file that will replace *name*; `is_temporary` recognises it."""
    beginning = os.fsdecode(os.fsencode(name)[:MAX_NAME_BYTES])
    return f".{beginning}.nc-{os.getpid()}-{os.urandom(4).hex()}"


def write_new(
    place: Place, name: str, pieces: Pieces, metadata: FileState | None, mode: int | None = None
) -> None:
    """Create a file *name* beside *place*, flushed to the disk; raises OSError.

    It gets *metadata*, and *mode* if that is set; without both, the default of the umask.
    """
    # A file that gets its permissions from another one is private at first.
    private = 0o600 if metadata else 0o666
    with closing_file(os.open(name, _NEW_FILE, private, dir_fd=place.fd)) as fd:
        size = 0
        for piece in pieces:
            size = private_files.append_all(fd, piece, size)
        if metadata:
            metadata.apply(fd)
        if mode is not None:
            os.fchmod(fd, mode & 0o777)
        os.fsync(fd)


def version_of(status: os.stat_result) -> tuple[int, ...]:
    """Return (device, inode, size, mtime_ns), which changes when the file does."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def rename(here: Place, there: Place, *, overwrite: bool) -> None:
    """Rename *here* to *there*; raises FileExistsError if *there* exists, unless *overwrite*."""
    if not overwrite:
        if mode_of.S_ISREG(here.stat().st_mode) and _move_by_link(here, there):
            return
        if there.status() is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(here.name, there.name, src_dir_fd=here.fd, dst_dir_fd=there.fd)


def _move_by_link(here: Place, there: Place) -> bool:
    """Move by a hard link, which never replaces a file; False if links are not possible."""
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
