"""Sessions in memory, whose files lie in a private folder until they end."""

import os
import time
from pathlib import Path
from typing import Final

from nanocoder import Journal, StoredSession, UsageError
from nanocoder_kit_process.temporary import TemporaryFolder
from nanocoder_kit_sessions.journal import RecordJournal, Warn
from nanocoder_kit_sessions.memory import MemoryJournal
from nanocoder_kit_sessions.store import SessionStore, new_id

PREFIX: Final = "nanocoder-session-"
NOT_KEPT: Final = 'no session is kept here (store = "memory")'
NO_FOLDER: Final = (
    "temporary files cannot be written: {}; in this session, changes cannot be undone and long"
    " outputs are cut"
)


class MemorySessions(SessionStore):
    """A store that drops each session at its end; sessions of sub-agents use its *folder*."""

    def __init__(self, folder: Path | None = None, *, warn: Warn = lambda _message: None) -> None:
        super().__init__(Path(os.devnull), warn=warn)
        self._inside = folder
        self._tell = warn

    def new_journal(self) -> RecordJournal:
        """Make a journal in memory, with a folder that is deleted when it is closed."""
        session_id = new_id(time.time())
        if self._inside is not None:
            return MemoryJournal(session_id, self._inside / session_id)
        try:
            return TemporaryJournal(session_id, TemporaryFolder(PREFIX))
        except OSError as error:
            self._tell(NO_FOLDER.format(error.strerror))
            return MemoryJournal(session_id)

    def inside(self, parent: Journal) -> "MemorySessions":
        """Return the store of the sub-agents of a session, whose files go with its own."""
        return MemorySessions(parent.outputs and parent.outputs.parent)

    def find(self, name: str, *, cwd: Path | None = None) -> str:  # noqa: ARG002 - as in the base
        """Find nothing; raises UsageError (session_not_found)."""
        raise UsageError(f"{NOT_KEPT}, so there is no {name!r}", error_class="session_not_found")

    def resume(self, name: str, *, cwd: Path | None = None) -> StoredSession:
        """Resume nothing; raises UsageError (session_not_found)."""
        self.find(name, cwd=cwd)
        raise AssertionError(name)


class TemporaryJournal(MemoryJournal):
    """The journal of a session whose *files* are deleted when it is closed."""

    def __init__(self, session_id: str, files: TemporaryFolder) -> None:
        super().__init__(session_id, files.path)
        self._files = files

    def close(self) -> None:
        """Delete the files; closing twice is fine."""
        self._files.remove()
