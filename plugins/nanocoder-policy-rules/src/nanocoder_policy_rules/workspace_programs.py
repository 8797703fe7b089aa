"""Which program a command would start: one in the workspace may be anyone's."""

import os
import stat
from collections.abc import Sequence

from nanocoder import SessionInfo

BUILT_IN = frozenset({"echo", "false", "printf", "pwd", "test", "true"})
"""Programs that are built into the shell, so that PATH does not matter."""


MAX_FOLDERS = 256
_FOLDERS: dict[tuple[str, str], tuple[tuple[int, int], bool]] = {}
"""Whether a folder of PATH is in a workspace, for as long as it is the same folder."""


def find_in_workspace(words: Sequence[str], session: SessionInfo, path: str) -> str:
    """Return the path of a command's program if it is in the workspace, else "".

    Relative entries of PATH are skipped, since commands run without them.
    """
    if words[0] in BUILT_IN:
        return ""
    for folder in path.split(os.pathsep):
        program = f"{folder}/{words[0]}"
        if folder[:1] != "/" or not os.access(program, os.X_OK):
            continue
        if stat.S_ISREG(mode := _mode(program)):
            return program if _is_below(program, folder, session) else ""
        if stat.S_ISLNK(mode) and os.path.isfile(program):
            return program if is_inside(program, session) else ""
    return ""


def _mode(program: str) -> int:
    try:
        return os.lstat(program).st_mode
    except OSError:  # it was removed a moment ago
        return 0


def _is_below(program: str, folder: str, session: SessionInfo) -> bool:
    """Tell whether *program*, which is no link, is in the workspace."""
    try:
        status = os.stat(folder)
    except OSError:  # it was removed a moment ago
        return is_inside(program, session)
    place, identity = (str(session.cwd), folder), (status.st_dev, status.st_ino)
    remembered = _FOLDERS.get(place)
    if remembered is None or remembered[0] != identity:
        remembered = identity, is_inside(folder, session)
        if len(_FOLDERS) >= MAX_FOLDERS:
            _FOLDERS.clear()
        _FOLDERS[place] = remembered
    return remembered[1]


def is_inside(path: str, session: SessionInfo) -> bool:
    """Tell whether *path*, or a link on its way, is in the workspace."""
    names = session.resolve(path, literal=True).names
    return any(not name.startswith("/") for name in names)
