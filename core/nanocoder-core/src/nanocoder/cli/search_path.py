"""Keeping the workspace's Python files out: nothing there may stand in for a module of ours.

Only `os` and `sys` are imported, which Python loads itself: any other import could already be
answered by the workspace.
"""

import os
import sys


def drop_untrusted_paths(path: list[str], variable: str = "") -> None:
    """Take what a workspace could supply modules by out of *path* (`sys.path`), in place.

    That is the current directory, relative entries, and entries of *variable* (`PYTHONPATH`) below
    the current directory: an empty one, as a trailing colon makes it, stands for that directory.
    """
    path[:] = trusted(path, variable)


def trusted(path: list[str], variable: str = "") -> list[str]:
    """Return the entries of *path* that no workspace supplies."""
    here = _here()
    own = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    from_variable = (
        {os.path.realpath(entry) for entry in variable.split(os.pathsep)} if variable else set()
    )
    return [entry for entry in path if _is_trusted(entry, here, own, from_variable)]


def _is_trusted(entry: str, here: str, own: set[str], from_variable: set[str]) -> bool:
    if not os.path.isabs(entry):
        return False
    real = os.path.realpath(entry)
    if any(_is_below(real, prefix) for prefix in own):
        return True
    # An installation that can be edited may put folders below the current one here; those stay.
    return real != here and not (real in from_variable and _is_below(real, here))


def _is_below(real: str, folder: str) -> bool:
    return bool(folder) and real.startswith(folder.rstrip(os.sep) + os.sep)


def _here() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""
