"""The log of changes by a session's commands, beside the session's journal."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder_files import Change, append_all, open_private, private_directory

LOG: Final = "commands.jsonl"
UNKNOWN: Final = -1
RECORD: Final = re.compile(rb'^\{"seq":(\d{1,18}),', re.MULTILINE)
TAIL_BYTES: Final = 16_384
MAX_LOG_BYTES: Final = 200_000_000
DAMAGED: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@frozen
class CommandChange:
    """One change of a file that no tool announced; *blob* is the name of the content before."""

    change: Change
    blob: str = ""

    def data(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {**self.change.data(), "blob": self.blob}


@frozen
class CommandEntry:
    """Observed changes in *root*, when *after* was the last record number of the journal.

    *at*, in seconds since the epoch, is for people. *calls* ran meanwhile, a sub-agent's call as
    "SESSION/CALL"; *ended* are those that had ended by then. *number* counts the entries of a log.
    A *problem* means that changes are no longer tracked.
    """

    at: float
    root: str
    calls: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    changes: Sequence[CommandChange] = ()
    problem: str = ""
    number: int = 0
    after: int = UNKNOWN

    def is_before(self, number: int, at: float) -> bool:
        """Return True if the change was seen before record *number* of the journal, written *at*.

        Only the time is known of an entry of an earlier release.
        """
        return self.at < at if self.after == UNKNOWN else self.after < number

    def line(self) -> bytes:
        """Return the line of the log."""
        data = {
            "at": self.at,
            "root": self.root,
            "calls": self.calls,
            "ended": self.ended,
            "changes": [change.data() for change in self.changes],
            "problem": self.problem,
            "after": self.after,
        }
        return json.dumps(data).encode() + b"\n"

    @classmethod
    def of_data(cls, number: int, data: Mapping[str, Any]) -> "CommandEntry":
        """Return the entry of a line; raises one of DAMAGED."""
        changes = [
            CommandChange(Change.of_data(change), str(change["blob"])) for change in data["changes"]
        ]
        return cls(
            at=float(data["at"]),
            root=str(data["root"]),
            calls=tuple(map(str, data["calls"])),
            ended=tuple(map(str, data["ended"])),
            changes=changes,
            problem=str(data["problem"]),
            number=number,
            after=int(data.get("after", UNKNOWN)),
        )


def append_entry(folder: Path, entry: CommandEntry) -> None:
    """Add *entry* to the log of the session whose folder this is; raises OSError."""
    private_directory(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = open_private(folder / LOG, flags)
    try:
        append_all(descriptor, entry.line(), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def read_entries(folder: Path | None) -> list[CommandEntry]:
    """Return the entries of a session's log, oldest first; damaged lines are left out."""
    if folder is None:
        return []
    try:
        with os.fdopen(open_private(folder / LOG), "rb") as file:
            lines = file.read(MAX_LOG_BYTES).splitlines()
    except OSError:
        return []
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(CommandEntry.of_data(number, json.loads(line)))
        except DAMAGED:
            continue
    return entries


def last_number(folder: Path) -> int:
    """Return the number of the last record in the journal of the session with *folder*.

    Returns UNKNOWN if the journal is no file.
    """
    try:
        with os.fdopen(open_private(folder.with_suffix(".jsonl")), "rb") as file:
            size = length = os.fstat(file.fileno()).st_size
            length = min(length, TAIL_BYTES)
            while not (numbers := RECORD.findall(os.pread(file.fileno(), length, size - length))):
                if length == size:
                    return UNKNOWN
                length = min(size, length * 16)
    except OSError:
        return UNKNOWN
    return int(numbers[-1])
