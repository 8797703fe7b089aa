"""One change of one path, for the log of a call and the journal of a session."""

import enum
import os
import stat as mode_of
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from nanocoder_schema import value

from nanocoder_files.paths import escape_path

DAMAGED: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The exceptions that a damaged record raises when it is read."""

NOBODY: Final = (-1, -1)


class FileKind(enum.StrEnum):
    """The kind of file at a path; links are not followed."""

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


@value
class FileState:
    """The state of a path: nothing, a file, a link, a directory, or something else.

    *digest* is the SHA-256 of a file's content, *size* its bytes, *target* that of a link; *owner*
    is (user id, group id).
    """

    kind: str = FileKind.NOTHING
    digest: str = ""
    size: int = 0
    target: str = ""
    mode: int = 0
    owner: tuple[int, int] = NOBODY
    attributes: tuple[tuple[str, bytes], ...] = ()

    @property
    def exists(self) -> bool:
        """Return True if the path has an entry of any kind."""
        return self.kind != FileKind.NOTHING

    @property
    def is_file(self) -> bool:
        """Return True if the entry is a regular file."""
        return self.kind == FileKind.FILE

    @property
    def is_directory(self) -> bool:
        """Return True if the entry is a directory."""
        return self.kind == FileKind.DIRECTORY

    def resembles(self, other: "FileState") -> bool:
        """Return True if both have the same content; modes are ignored."""
        mine = (self.kind, self.digest, self.size, self.target)
        return mine == (other.kind, other.digest, other.size, other.target)

    def apply(self, fd: int) -> None:
        """Set owner, permissions and attributes of the open file *fd*; raises OSError."""
        status = os.fstat(fd)
        if self.owner != (status.st_uid, status.st_gid):
            with suppress(OSError):  # only root can give files away
                os.fchown(fd, *self.owner)
        # After the owner, because a change of owner clears permissions and attributes.
        os.fchmod(fd, self.mode)
        for name, data in self.attributes:
            with suppress(OSError):
                os.setxattr(fd, name, data)

    def data(self) -> dict[str, Any]:
        """Return the fields ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in self.__attrs_attrs__}
        values["attributes"] = [[name, value.hex()] for name, value in self.attributes]
        return {name: value for name, value in values.items() if value not in (0, "", [], NOBODY)}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "FileState":
        """Return the state from `data`; raises KeyError, TypeError or ValueError."""
        user, group = data.get("owner", NOBODY)
        pairs = ((str(name), bytes.fromhex(value)) for name, value in data.get("attributes", ()))
        texts: dict[str, Any] = {name: str(data.get(name, "")) for name in ("digest", "target")}
        numbers: dict[str, Any] = {name: int(data.get(name, 0)) for name in ("size", "mode")}
        owner = (int(user), int(group))
        return cls(str(data["kind"]), owner=owner, attributes=tuple(pairs), **texts, **numbers)

    @classmethod
    def of_status(cls, status: os.stat_result, **more: Any) -> "FileState":
        """Return the state of a file with *status*; *more* are other fields."""
        kind = _KINDS.get(mode_of.S_IFMT(status.st_mode), FileKind.OTHER)
        mode, owner = mode_of.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
        return cls(kind, **{"mode": mode, "owner": owner, **more})


@value
class Change:
    """A change of *path* from *before* to *after*, which a kill may have prevented.

    With a *target* it is a move of *after*, and *before* is the state of the target.
    """

    path: str
    before: FileState
    after: FileState
    target: str = ""

    @property
    def changed_path(self) -> str:
        """The path with the earlier state *before*."""
        return self.target or self.path

    def conflicts_with(self, other: "Change") -> bool:
        """Return True if the order of reverting both matters.

        Several calls may need one directory, which is removed with the last of them.
        """
        is_shared = self.after.is_directory and other.after.is_directory and not self.target
        paths, other_paths = {self.path, self.target} - {""}, {other.path, other.target} - {""}
        return not is_shared and not paths.isdisjoint(other_paths)

    def data(self) -> dict[str, Any]:
        """Return the fields ready for JSON."""
        states = {"before": self.before.data(), "after": self.after.data()}
        return {"path": self.path, "target": self.target, **states}

    @classmethod
    def of_data(cls, data: Mapping[str, Any], **more: Any) -> Self:
        """Return the change from `data`; raises ValueError for anything else."""
        try:
            before, after = FileState.of_data(data["before"]), FileState.of_data(data["after"])
            return cls(str(data["path"]), before, after, str(data["target"]), **more)
        except DAMAGED as error:
            raise ValueError("a record of a change is damaged") from error


def announcement(change: Change, root: Path, backup: Path | None) -> dict[str, Any]:
    """Return the record of *change* for the journal; *backup* has the content before."""
    data = change.data()
    data |= {"path": escape_path(change.path), "target": escape_path(change.target)}
    data |= {"root": str(root), "backup": "/".join(backup.parts[-2:]) if backup else ""}
    return data
