"""Which program a command would start: one in the workspace is whatever somebody put there."""

import os
from collections.abc import Sequence

BUILT_IN = frozenset({"echo", "false", "printf", "pwd", "test", "true"})
"""Programs that the shell is itself, whatever lies on PATH."""


def in_workspace(words: Sequence[str], root: str, path: str) -> str:
    """Return where the program of a command is found if that is in the workspace, or nothing.

    Entries that are relative are skipped: commands get none of them.
    """
    if words[0] in BUILT_IN:
        return ""
    for folder in path.split(os.pathsep):
        program = os.path.join(folder, words[0])
        if folder.startswith("/") and os.path.isfile(program) and os.access(program, os.X_OK):
            return program if _is_below(program, root) else ""
    return ""


def _is_below(program: str, root: str) -> bool:
    """Tell whether *program* is in the workspace, as its path is written or as its links lead."""
    roots = {os.path.normpath(root), os.path.realpath(root)}
    places = {os.path.normpath(program), os.path.realpath(program)}
    return any(os.path.commonpath([each, place]) == each for each in roots for place in places)
