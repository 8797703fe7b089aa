"""One change of one path: what the change log of a call and the journal of a session record."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.file_state import DIRECTORY, NOTHING, FileState
from nanocoder_files.path_text import escape_path

DAMAGED: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The exceptions that a damaged record raises when it is read."""
UNKNOWN: Final = FileState("unknown")


@frozen(eq=False, repr=False)
class Change(Value):
    """A change of *path* from *before* to *after*; a kill may have come before it.

    With a *target* it is a move of *after*, and *before* is the state of the target.
    """

    path: str
    before: FileState
    after: FileState
    target: str = ""

    @property
    def changed_path(self) -> str:
        """The path whose earlier state is *before*."""
        return self.target or self.path

    @property
    def is_new_folder(self) -> bool:
        """Whether a directory is made."""
        return self.before.kind == NOTHING and self.after.kind == DIRECTORY and not self.target

    def conflicts_with(self, other: "Change") -> bool:
        """Tell whether the order matters in which both are taken back.

        Several calls may need one directory, which goes with the last of them.
        """
        is_shared = self.after.kind == other.after.kind == DIRECTORY and not self.target
        paths, other_paths = {self.path, self.target} - {""}, {other.path, other.target} - {""}
        return not is_shared and not paths.isdisjoint(other_paths)

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        states = {"before": self.before.data(), "after": self.after.data()}
        return {"path": self.path, "target": self.target, **states}

    @classmethod
    def of_data(cls, data: Mapping[str, Any], **more: Any) -> Self:
        """Return the change that `data` was made of; raises one of DAMAGED."""
        before, after = FileState.of_data(data["before"]), FileState.of_data(data["after"])
        return cls(str(data["path"]), before, after, str(data["target"]), **more)


@frozen(eq=False, repr=False)
class FileChange(Change):
    """A change as a session's journal has it; *seq* orders the changes.

    *root* is the directory of the files, *backup* the copy of the content before, below the folder
    of backups. Both states are UNKNOWN in a record of an earlier version.
    """

    seq: int = 0
    root: str = ""
    backup: str = ""
    call_id: str = ""

    @classmethod
    def parse(cls, seq: int, data: Mapping[str, Any], call_id: str) -> "FileChange | None":
        """Return the change that was announced as *data*; None where it is damaged."""
        texts = [data.get(name, "") for name in ("root", "path", "backup")]
        if not all(isinstance(text, str) for text in texts) or "" in texts[:2]:
            return None
        root, path, backup = texts
        more = {"seq": seq, "root": root, "backup": backup, "call_id": call_id}
        try:
            return cls.of_data(data, **more)
        except DAMAGED:
            return cls(path, UNKNOWN, UNKNOWN, **more)


def announcement(change: Change, root: Path, backup: Path | None) -> dict[str, Any]:
    """Return the record of *change* for the journal; *backup* has the content before."""
    paths = {"path": escape_path(change.path), "target": escape_path(change.target)}
    name = {"backup": f"{backup.parent.name}/{backup.name}"} if backup else {}
    return {"root": str(root), **change.data(), **paths, **name}


def apart_from(changes: Sequence[FileChange], paths: Iterable[str]) -> list[FileChange]:
    """Return the *changes* that neither touch *paths* nor where those were moved.

    A directory that was made for one of them belongs to it.
    """
    tied = set(paths)
    while True:
        more = {
            path
            for change in changes
            if change.target and {change.path, change.target} & tied
            for path in (change.path, change.target)
        }
        if more <= tied:
            return [change for change in changes if not _touches(change, tied)]
        tied |= more


def _touches(change: Change, paths: set[str]) -> bool:
    is_above = change.is_new_folder and any(path.startswith(f"{change.path}/") for path in paths)
    return is_above or bool({change.path, change.target} & paths)
