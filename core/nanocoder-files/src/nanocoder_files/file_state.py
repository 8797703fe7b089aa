"""The state of a name in a directory: noted before a change, and put back."""

import contextlib
import enum
import os
import stat as mode_of
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.beneath import LISTING, Place
from nanocoder_files.private_files import open_private
from nanocoder_files.writing import (
    Metadata,
    Old,
    replacing,
    sync_directory,
    temporary_name,
    write_new,
)

DIGEST_BYTES: Final = 50_000_000
"""Up to this size a file is known by its content, a larger one by its size alone."""
PIECE_BYTES: Final = 1 << 20


class FileKind(enum.StrEnum):
    """The file or folder at a path: links are not followed."""

    NOTHING = "nothing"
    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    OTHER = "other"


_KINDS: Final = {
    mode_of.S_IFREG: FileKind.FILE,
    mode_of.S_IFLNK: FileKind.LINK,
    mode_of.S_IFDIR: FileKind.DIRECTORY,
}


@frozen(eq=False, repr=False)
class FileState(Value):
    """One of nothing, a file, a link, a directory, or something else.

    *digest* is the SHA-256 of a file's content, *size* its bytes, *target* where a link leads to;
    *owner* is user and group by number.
    """

    kind: str = FileKind.NOTHING
    digest: str = ""
    size: int = 0
    target: str = ""
    mode: int = 0
    owner: tuple[int, int] = (-1, -1)
    attributes: tuple[tuple[str, bytes], ...] = ()

    @property
    def exists(self) -> bool:
        """Whether anything is there."""
        return self.kind != FileKind.NOTHING

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.kind == FileKind.FILE

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.kind == FileKind.DIRECTORY

    def resembles(self, other: "FileState") -> bool:
        """Tell whether both hold the same; the mode does not count."""
        mine = (self.kind, self.digest, self.size, self.target)
        return mine == (other.kind, other.digest, other.size, other.target)

    @property
    def metadata(self) -> Metadata:
        """What a file in this state has beside its content."""
        return Metadata(self.mode, self.owner, self.attributes)

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        if not self.exists:
            return {"kind": self.kind}
        fields: dict[str, Any] = {"kind": self.kind, "mode": self.mode, "owner": self.owner}
        if self.is_file:
            fields |= {"digest": self.digest, "size": self.size}
        if self.target:
            fields["target"] = self.target
        if self.attributes:
            fields["attributes"] = [[name, value.hex()] for name, value in self.attributes]
        return fields

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "FileState":
        """Return the state that `data` was made of; raises KeyError, TypeError or ValueError."""
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
    def of_old(cls, old: Old) -> "FileState":
        """Return the state of a file that was read."""
        status = old.status
        return cls(
            FileKind.FILE,
            digest=old.digest,
            size=len(old.data),
            mode=mode_of.S_IMODE(status.st_mode),
            owner=(status.st_uid, status.st_gid),
            attributes=old.attributes,
        )


def state_of(place: Place, digest_bytes: int = DIGEST_BYTES) -> FileState:
    """Return what is at *place*, itself: a link is not followed. Raises OSError.

    A file of more than *digest_bytes* has no digest.
    """
    try:
        status = place.stat()
    except FileNotFoundError:
        return FileState()
    mode, owner = mode_of.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
    kind = _KINDS.get(mode_of.S_IFMT(status.st_mode), FileKind.OTHER)
    if kind == FileKind.FILE:
        digest = _digest(place) if status.st_size <= digest_bytes else ""
        return FileState(FileKind.FILE, digest, status.st_size, mode=mode, owner=owner)
    if kind == FileKind.LINK:
        return FileState(FileKind.LINK, target=os.readlink(place.name, dir_fd=place.fd))
    return FileState(kind, mode=mode, owner=owner)


def put(place: Place, state: FileState, data: bytes) -> None:
    """Bring *place* into *state*, with the content *data*.

    A file or a link is at every moment wholly the one or the other; a directory that stands in
    their way has to be empty. Raises OSError.
    """
    if state.kind in {FileKind.FILE, FileKind.LINK}:
        _replace(place, state, data)
        return
    if state.exists:
        _make_directory(place, state.metadata)
    else:
        _remove(place)
    sync_directory(place.fd)


def is_same(here: Place, there: Place) -> bool:
    """Tell whether two names lead to one file; raises OSError."""
    return os.path.samestat(here.stat(), there.stat())


def read_bytes(place: Place) -> bytes:
    """Return the content of a regular file; raises OSError."""
    return b"".join(_pieces(place))


def _digest(place: Place) -> str:
    from hashlib import sha256  # as in content.digest

    hasher = sha256()
    for piece in _pieces(place):
        hasher.update(piece)
    return hasher.hexdigest()


def _pieces(place: Place) -> Iterator[bytes]:
    fd = open_private(place.name, directory=place.fd)
    try:
        while piece := os.read(fd, PIECE_BYTES):
            yield piece
    finally:
        os.close(fd)


def _remove(place: Place) -> None:
    if mode_of.S_ISDIR(place.stat().st_mode):
        os.rmdir(place.name, dir_fd=place.fd)
    else:
        os.unlink(place.name, dir_fd=place.fd)


def _make_directory(place: Place, metadata: Metadata) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(place.name, 0o700, dir_fd=place.fd)
    fd = os.open(place.name, LISTING, dir_fd=place.fd)
    try:
        metadata.apply(fd)
    finally:
        os.close(fd)


def _replace(place: Place, state: FileState, data: bytes) -> None:
    temporary = temporary_name(place.name)
    with replacing(place, temporary):
        if state.kind == FileKind.LINK:
            os.symlink(state.target, temporary, dir_fd=place.fd)
        else:
            write_new(place, temporary, [data], state.metadata, meanwhile=lambda: None)
