"""One change of one path: what the change log of a call and the journal of a session record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from attrs import frozen
from nanocoder_schema import Value

from nanocoder_files.file_state import FileState
from nanocoder_files.path_text import escape_path

DAMAGED: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The exceptions that a damaged record raises when it is read."""


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
        return not self.before.exists and self.after.is_directory and not self.target

    def conflicts_with(self, other: "Change") -> bool:
        """Tell whether the order matters in which both are taken back.

        Several calls may need one directory, which goes with the last of them.
        """
        is_shared = self.after.is_directory and other.after.is_directory and not self.target
        paths, other_paths = {self.path, self.target} - {""}, {other.path, other.target} - {""}
        return not is_shared and not paths.isdisjoint(other_paths)

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        states = {"before": self.before.data(), "after": self.after.data()}
        return {"path": self.path, "target": self.target, **states}

    @classmethod
    def of_data(cls, data: Mapping[str, Any], **more: Any) -> Self:
        """Return the change that `data` was made of; raises ValueError for anything else."""
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
