"""A change of a file as the journal of a session has it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from nanocoder_files import Change, FileState

from nanocoder_kit_sessions.snapshots import CommandChange, CommandEntry

UNKNOWN: Final = FileState("unknown")


@frozen
class FileChange(Change):
    """A change as a session's journal has it; *seq* orders the changes.

    *root* is the directory of the files, *backup* the copy of the old content, below the folder
    of backups. Both states are UNKNOWN in a record of an earlier version. A change by a command is
    no record of the journal: *entry* is its number in the log of commands, counted from 1, *seq*
    the last record before it and *blob* the name of the old content among the snapshots.
    """

    seq: int = 0
    root: str = ""
    backup: str = ""
    call_id: str = ""
    entry: int = 0
    blob: str = ""

    @property
    def key(self) -> int | str:
        """Identifier of the change in the record of an undo."""
        return f"{self.entry}:{self.path}" if self.entry else self.seq

    @property
    def is_lost(self) -> bool:
        """True if a command changed a file that was too large for the snapshot before it."""
        return bool(self.entry) and self.before.is_file and not self.blob

    @classmethod
    def of_command(
        cls, change: CommandChange, entry: CommandEntry, *, seq: int, call_id: str
    ) -> "FileChange":
        """Return a change that was seen while commands ran."""
        change_of_file = change.change
        return cls(
            change_of_file.path,
            change_of_file.before,
            change_of_file.after,
            seq=seq,
            root=entry.root,
            call_id=call_id,
            entry=entry.number,
            blob=change.blob,
        )

    @classmethod
    def parse(cls, seq: int, data: Mapping[str, Any], call_id: str) -> "FileChange | None":
        """Return the change recorded as *data*, or None if it is damaged."""
        texts = [data.get(name, "") for name in ("root", "path", "backup")]
        if not all(isinstance(text, str) for text in texts) or "" in texts[:2]:
            return None
        root, path, backup = texts
        more = {"seq": seq, "root": root, "backup": backup, "call_id": call_id}
        try:
            return cls.of_data(data, **more)
        except ValueError:
            return cls(path, UNKNOWN, UNKNOWN, **more)


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
    is_new_folder = not change.before.exists and change.after.is_directory and not change.target
    is_above = is_new_folder and any(path.startswith(f"{change.path}/") for path in paths)
    return is_above or bool({change.path, change.target} & paths)
