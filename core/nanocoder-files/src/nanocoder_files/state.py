"""What stands under a name, and putting it there again."""

import contextlib
import os
import stat as mode_of
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.beneath import Place
from nanocoder_files.writing import Old, sync_directory, temporary_name

NOTHING, FILE, LINK, DIRECTORY, OTHER = "nothing", "file", "link", "directory", "other"
DIGEST_BYTES: Final = 50_000_000
"""A file that is larger is known by its size alone."""
PIECE_BYTES: Final = 1 << 20


@frozen(eq=False, repr=False)
class State(Value):
    """One of nothing, a file, a link, a directory, or something else.

    *digest* is the SHA-256 of a file's content, *size* its bytes, *target* where a link leads to;
    *owner* is user and group by number.
    """

    kind: str = NOTHING
    digest: str = ""
    size: int = 0
    target: str = ""
    mode: int = 0
    owner: tuple[int, int] = (-1, -1)
    attributes: tuple[tuple[str, bytes], ...] = ()

    def resembles(self, other: "State") -> bool:
        """Tell whether both hold the same; the mode does not count."""
        mine = (self.kind, self.digest, self.size, self.target)
        return mine == (other.kind, other.digest, other.size, other.target)

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON, without what says nothing."""
        told = {
            "kind": self.kind,
            "digest": self.digest,
            "size": self.size,
            "target": self.target,
            "mode": self.mode,
            "owner": list(self.owner) if self.owner != (-1, -1) else None,
            "attributes": [[name, value.hex()] for name, value in self.attributes],
        }
        return {name: value for name, value in told.items() if value}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "State":
        """Return what `data` has told; raises KeyError, TypeError or ValueError."""
        user, group = data.get("owner", (-1, -1))
        attributes = (
            (str(name), bytes.fromhex(value)) for name, value in data.get("attributes", ())
        )
        return cls(
            kind=str(data["kind"]),
            digest=str(data.get("digest", "")),
            size=int(data.get("size", 0)),
            target=str(data.get("target", "")),
            mode=int(data.get("mode", 0)),
            owner=(int(user), int(group)),
            attributes=tuple(attributes),
        )

    @classmethod
    def of_old(cls, old: Old) -> "State":
        """Return the state of a file that was read."""
        status = old.status
        return cls(
            FILE,
            digest=old.digest,
            size=len(old.data),
            mode=mode_of.S_IMODE(status.st_mode),
            owner=(status.st_uid, status.st_gid),
            attributes=old.attributes,
        )


def state_of(place: Place) -> State:
    """Return what is at *place*, itself: a link is not followed. Raises OSError."""
    try:
        status = place.stat()
    except FileNotFoundError:
        return State()
    mode, owner = mode_of.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
    if mode_of.S_ISREG(status.st_mode):
        digest = _digest(place) if status.st_size <= DIGEST_BYTES else ""
        return State(FILE, digest, status.st_size, mode=mode, owner=owner)
    if mode_of.S_ISLNK(status.st_mode):
        return State(LINK, target=os.readlink(place.name, dir_fd=place.fd))
    return State(DIRECTORY if mode_of.S_ISDIR(status.st_mode) else OTHER, mode=mode, owner=owner)


def put(place: Place, wanted: State, data: bytes) -> None:
    """Make *place* what *wanted* says, with the content *data*.

    A file or a link is at every moment wholly the one or the other; a directory that stands in
    their way has to be empty. Raises OSError.
    """
    if wanted.kind == NOTHING:
        _remove(place)
    elif wanted.kind == DIRECTORY:
        _make_directory(place, wanted)
    else:
        _replace(place, wanted, data)
    sync_directory(place.fd)


def is_same(here: Place, there: Place) -> bool:
    """Tell whether two names lead to one file; raises OSError."""
    return os.path.samestat(here.stat(), there.stat())


def content_of(place: Place) -> bytes:
    """Return the bytes of a regular file; raises OSError."""
    with _opened(place) as fd:
        return b"".join(iter(lambda: os.read(fd, PIECE_BYTES), b""))


def _digest(place: Place) -> str:
    from hashlib import sha256  # as in content.digest

    found = sha256()
    with _opened(place) as fd:
        while piece := os.read(fd, PIECE_BYTES):
            found.update(piece)
    return found.hexdigest()


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(place.name, flags, dir_fd=place.fd)
    try:
        yield fd
    finally:
        os.close(fd)


def _remove(place: Place) -> None:
    if mode_of.S_ISDIR(place.stat().st_mode):
        os.rmdir(place.name, dir_fd=place.fd)
    else:
        os.unlink(place.name, dir_fd=place.fd)


def _make_directory(place: Place, wanted: State) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(place.name, 0o700, dir_fd=place.fd)
    fd = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.fd)
    try:
        _own(fd, wanted)
    finally:
        os.close(fd)


def _replace(place: Place, wanted: State, data: bytes) -> None:
    temporary = temporary_name(place.name)
    try:
        if wanted.kind == LINK:
            os.symlink(wanted.target, temporary, dir_fd=place.fd)
        else:
            _write(place, temporary, wanted, data)
        os.rename(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.fd)
        raise


def _write(place: Place, name: str, wanted: State, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=place.fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        for attribute, value in wanted.attributes:
            with contextlib.suppress(OSError):
                os.setxattr(fd, attribute, value)
        _own(fd, wanted)
        os.fsync(fd)
    finally:
        os.close(fd)


def _own(fd: int, wanted: State) -> None:
    mine = os.fstat(fd)
    if wanted.owner != (mine.st_uid, mine.st_gid):
        with contextlib.suppress(OSError):  # only root can give files away
            os.fchown(fd, *wanted.owner)
    os.fchmod(fd, wanted.mode)  # after the owner: giving away takes bits off
