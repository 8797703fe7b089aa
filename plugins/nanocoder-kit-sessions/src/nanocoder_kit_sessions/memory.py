"""The journal of a session that is not saved."""

from collections.abc import Sequence
from pathlib import Path

from nanocoder_kit_sessions.journal import RecordJournal
from nanocoder_kit_sessions.records import Record


class MemoryJournal(RecordJournal):
    """A journal that lasts as long as its process."""

    def __init__(self, session_id: str, folder: Path | None = None) -> None:
        super().__init__(session_id, folder)
        self._records: list[Record] = []

    def records(self) -> Sequence[Record]:
        """Return the records so far."""
        with self._lock:
            return tuple(self._records)

    def _store(self, record: Record, *, sync: bool) -> None:  # noqa: ARG002 - there is no disk
        self._records.append(record)
