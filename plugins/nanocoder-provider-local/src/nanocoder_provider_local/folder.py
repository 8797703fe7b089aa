"""The names of a folder's files, for the system turn of a small model.

Without them it invents names, such as `src/main.py`, or asks for the directory. They are part of
the system turn, because before the request they made the model answer instead of acting.
"""

from itertools import islice
from typing import Final

from nanocoder import SessionInfo, Workspace, escape_path
from nanocoder_kit_files.glob import SKIPPED
from nanocoder_kit_files.glob.git_ignore import walk

MAX_NAMES: Final = 40
MAX_ENTRIES: Final = 2_000
"""Limit of the entries visited in a large tree; counting the rest would take too long."""


def list_names(session: SessionInfo) -> str | None:
    """Return a line with the names of at most 40 files that may be read; None without any."""
    with Workspace(session.cwd, readable=session.readable) as workspace:
        entries = islice(walk(workspace, skip=SKIPPED, details=False), MAX_ENTRIES)
        names = [escape_path(entry.path) for entry in entries if entry.kind == "file"]
    if not names:
        return None
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"Files in the current directory: {', '.join(names[:MAX_NAMES])}{more}."
