"""What a program has written into a throw-away layer over a folder (an overlay)."""

import filecmp
import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Final

from nanocoder_files import closing_file

from nanocoder_kit_sandbox.unchanged import listed

MAX_FILES: Final = 10_000
"""So many changed files are counted."""
MAX_NAMES: Final = 5
CACHE_TAG: Final = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""


def changed_files(upper: str, lower: str) -> list[str]:
    """Return the paths below *lower* that the layer *upper* makes, changes or removes, sorted."""
    return sorted(islice(_changed(upper, lower), MAX_FILES))


def describe_changes(paths: list[str]) -> str:
    """Return a line that says which files of a read-only workspace would have changed."""
    more = len(paths) - MAX_NAMES
    rest = f" ({more}{'+' if len(paths) == MAX_FILES else ''} more)" if more > 0 else ""
    names = ", ".join(paths[:MAX_NAMES])
    return f"the workspace is read-only in this mode; these files would have changed: {names}{rest}"


def open_up(name: str, folder: int | None = None) -> int:
    """Give its owner every right on a folder, not on what a link leads to; return its mode before.

    Raises: OSError.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with closing_file(os.open(name, flags, dir_fd=folder)) as descriptor:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        # Such a descriptor's file can be changed by its name in /proc only.
        os.chmod(f"/proc/self/fd/{descriptor}", mode | stat.S_IRWXU)
        return mode


def _changed(upper: str, lower: str) -> Iterator[str]:
    old = {upper}  # what was a folder below, too; a link there is not followed
    for top, folders, files in os.walk(upper):
        prefix = f"{top}/"[len(upper) + 1 :]
        folders[:] = [name for name in folders if not _is_cache(f"{top}/{name}")]
        for name in folders:
            below = f"{lower}/{prefix}{name}"
            if top in old and os.path.isdir(below) and not os.path.islink(below):
                old.add(f"{top}/{name}")
            elif not listed(f"{top}/{name}"):
                yield f"{prefix}{name}/"  # also one that its mode closes
        for name in files:
            if top not in old or not _is_same(f"{top}/{name}", f"{lower}/{prefix}{name}"):
                yield prefix + name


def _is_cache(folder: str) -> bool:
    """Tell whether nobody would miss a folder."""
    return os.path.lexists(f"{folder}/{CACHE_TAG}")


def _is_same(path: str, below: str) -> bool:
    """Tell whether the layer has a file only because its times changed, or nothing at all."""
    try:
        now, before = os.lstat(path), os.lstat(below)
        if (now.st_mode, now.st_size) != (before.st_mode, before.st_size):
            return False
        if stat.S_ISLNK(now.st_mode):
            return os.readlink(path) == os.readlink(below)
        return stat.S_ISREG(now.st_mode) and filecmp.cmp(path, below, shallow=False)
    except OSError:
        return False
