"""The order in which sessions were used, independent of the clock, which may be wrong or set."""

import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_files import open_private, replace_file

USES: Final = frozenset({"session.started", "session.resumed", "run.started"})
"""The kinds of records that are a use of the session."""
DAY_S: Final = 86_400
MAX_BYTES: Final = 1_000_000
"""Size limit of the file, beyond which it is rewritten with the last use of each session."""


class UseOrder:
    """A file of lines, oldest first: the ID of a session that was used, and the day."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, session_id: str) -> None:
        """Add a use; without it the session only seems to be used longer ago."""
        line = f"{session_id} {int(time.time()) // DAY_S}\n".encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with suppress(OSError), os.fdopen(open_private(self.path, flags), "ab") as file:
            file.write(line)  # at once, beside those of other processes

    def last_uses(self) -> dict[str, int]:
        """Return the number of the last use of each session."""
        return {session_id: number for number, (session_id, _) in enumerate(self._uses())}

    def days_since(self, session_id: str) -> int:
        """Return on how many different days a session was used after *session_id* was."""
        days: set[str] = set()
        for used, day in reversed(self._uses()):
            if used == session_id:
                break
            days.add(day)
        return len(days)

    def shorten(self, session_ids: Collection[str]) -> None:
        """Rewrite a long file with the last uses of *session_ids*; raises OSError."""
        with suppress(FileNotFoundError):
            if self.path.stat().st_size > MAX_BYTES:
                uses, last = self._uses(), self.last_uses()
                latest = [uses[last[each]] for each in sorted(last, key=last.__getitem__)]
                lines = (f"{used} {day}\n" for used, day in latest if used in session_ids)
                replace_file(self.path, "".join(lines).encode())

    def _uses(self) -> list[tuple[str, str]]:
        try:
            with os.fdopen(open_private(self.path), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            return []
        return [(used, day) for used, _, day in (line.partition(" ") for line in lines)]
