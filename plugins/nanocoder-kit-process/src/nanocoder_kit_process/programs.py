"""Programs that we start ourselves: found by PATH, but never in the workspace."""

import os
from collections.abc import Iterator
from pathlib import Path


def find_program(name: str, path: str, workspace: Path | None = None) -> str:
    """Return the absolute path of the program *name* on *path*, or "".

    Programs in *workspace*, or links into it, are skipped: a repository must not choose which
    program we start. A *name* with a slash is returned as it is.
    """
    if "/" in name:
        return name
    return next(
        (program for program in _candidates(name, path) if not _is_below(program, workspace)), ""
    )


def without_workspace(path: str, workspace: Path) -> str:
    """Return *path* without entries in *workspace*, since a program may start others by name."""
    return ":".join(entry for entry in path.split(":") if not _is_below(entry, workspace))


def _candidates(name: str, path: str) -> Iterator[str]:
    for folder in path.split(":"):
        program = os.path.join(folder, name)
        if folder.startswith("/") and os.path.isfile(program) and os.access(program, os.X_OK):
            yield program


def _is_below(path: str, workspace: Path | None) -> bool:
    """Return True if *path* is below *workspace*, as it is written or with its links resolved."""
    if workspace is None:
        return False
    roots = {str(workspace), os.path.realpath(workspace)}
    paths = {os.path.normpath(path), os.path.realpath(path)}
    return any(os.path.commonpath([root, each]) == root for root in roots for each in paths)
