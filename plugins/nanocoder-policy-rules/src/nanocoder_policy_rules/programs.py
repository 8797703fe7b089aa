"""Which program a command would start: one in the workspace is whatever somebody put there."""

import os
from collections.abc import Sequence

from nanocoder import SessionInfo

BUILT_IN = frozenset({"echo", "false", "printf", "pwd", "test", "true"})
"""Programs that the shell is itself, whatever lies on PATH."""


def in_workspace(words: Sequence[str], session: SessionInfo, path: str) -> str:
    """Return where the program of a command is found if that is in the workspace, or nothing.

    Entries that are relative are skipped: commands get none of them.
    """
    if words[0] in BUILT_IN:
        return ""
    for folder in path.split(os.pathsep):
        program = os.path.join(folder, words[0])
        if folder.startswith("/") and os.path.isfile(program) and os.access(program, os.X_OK):
            return program if _is_below(program, session) else ""
    return ""


def _is_below(program: str, session: SessionInfo) -> bool:
    """Tell whether *program* is in the workspace, as its path is written or as its links lead."""
    names = session.resolve(program, literal=True).names
    return any(not name.startswith("/") for name in names)
