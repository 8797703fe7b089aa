"""What a program has written into a throw-away layer over a folder (an overlay)."""

import filecmp
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from nanocoder_files import closing_file

from nanocoder_kit_sandbox.unchanged import listed

MAX_FILES: Final = 10_000
"""So many changed files are counted."""
MAX_NAMES: Final = 20
CACHE_TAG: Final = "CACHEDIR.TAG"
"""The file that marks a folder as a cache: https://bford.info/cachedir/."""
_OPAQUE: Final = "user.overlay.opaque"


def changed_files(upper: str, lower: str) -> list[str]:
    """Return the paths below *lower* that the layer *upper* makes, changes or removes, sorted."""
    return sorted(islice(_changed(upper, lower), MAX_FILES))


def describe_changes(paths: list[str]) -> str:
    """Return a line that says which files of a read-only workspace would have changed."""
    more = len(paths) - MAX_NAMES
    rest = f" ({more}{'+' if len(paths) == MAX_FILES else ''} more)" if more > 0 else ""
    names = ", ".join(paths[:MAX_NAMES])
    return f"the workspace is read-only in this mode; these files would have changed: {names}{rest}"


def remove_layer(folder: str) -> None:
    """Remove a layer, as far as that is possible: all of it is gone with the session."""
    with suppress(OSError, RecursionError):
        for path in (f"{folder}/u", f"{folder}/w", folder):
            shutil.rmtree(path, onerror=_remove_closed)


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
    queue = [("", True)]
    while queue:
        folder, is_old = queue.pop()
        prefix = f"{folder}/" if folder else ""
        entries = listed(f"{upper}/{folder}")  # nothing where its mode closes it
        if not entries and not is_old:
            yield prefix
        for entry in entries:
            path = prefix + entry.name
            below = f"{lower}/{path}"
            if entry.is_dir(follow_symlinks=False):
                if os.path.lexists(f"{entry.path}/{CACHE_TAG}"):
                    continue  # nobody misses a cache
                was_folder = is_old and not os.path.islink(below) and os.path.isdir(below)
                queue.append((path, was_folder and not _is_opaque(entry.path)))
            elif not is_old or not _is_same(entry, below):
                yield path


def _is_same(entry: "os.DirEntry[str]", below: str) -> bool:
    """Tell whether the layer has a file only because its times changed, or nothing at all."""
    try:
        now, before = entry.stat(follow_symlinks=False), os.lstat(below)
        if (now.st_mode, now.st_size) != (before.st_mode, before.st_size):
            return False
        if stat.S_ISLNK(now.st_mode):
            return os.readlink(entry.path) == os.readlink(below)
        return stat.S_ISREG(now.st_mode) and filecmp.cmp(entry.path, below, shallow=False)
    except OSError:
        return False


def _is_opaque(path: str) -> bool:
    try:
        return os.getxattr(path, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _remove_closed(_function: object, path: str, _why: object) -> None:
    """Remove a folder that its own mode closes; a link is removed, not followed."""
    open_up(path)
    shutil.rmtree(path)
