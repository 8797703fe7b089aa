"""Which program a command would start: one in the workspace may be anyone's."""

import os
from collections.abc import Sequence

from nanocoder import SessionInfo

BUILT_IN = frozenset({"echo", "false", "printf", "pwd", "test", "true"})
"""Programs that are built into the shell, so that PATH does not matter."""


def find_in_workspace(words: Sequence[str], session: SessionInfo, path: str) -> str:
    """Return the path of a command's program if it is in the workspace, else "".

    Relative entries of PATH are skipped, since commands run without them.
    """
    if words[0] in BUILT_IN:
        return ""
    for folder in path.split(os.pathsep):
        program = os.path.join(folder, words[0])
        if folder.startswith("/") and os.path.isfile(program) and os.access(program, os.X_OK):
            return program if _is_below(program, session) else ""
    return ""


def _is_below(program: str, session: SessionInfo) -> bool:
    """Tell whether *program* is in the workspace, by its path or by the end of its links."""
    names = session.resolve(program, literal=True).names
    return any(not name.startswith("/") for name in names)
