"""Trees of files that a task may have made, however deep: copied and compared."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LEFT_OUT: Final = frozenset({".git", "__pycache__"})
"""Folders whose changes are not part of the task's result."""

Stamp = tuple[int, int, int, int]
UNREADABLE: Final[Stamp] = (0, 0, 0, 0)


def copy_tree(source: Path, target: Path, left_out: Collection[Path] = ()) -> None:
    """Copy files, links and folders but those *left_out*.

    Leaves out a `.git` that is a file or a link, or names another folder: it would lead to another
    repository. Leaves out a repository's worktrees, too, and files that vanish meanwhile, as
    git's do. Raises: OSError.
    """
    target.mkdir()
    hidden = {os.fspath(path) for path in left_out}
    waiting, folders = [(source, target)], []
    while waiting:
        old, new = waiting.pop()
        folders.append((old, new))
        with _vanishing(old), os.scandir(old) as entries:
            for entry in entries:
                if entry.path not in hidden and not _leads_to_repository(entry):
                    with _vanishing(entry):
                        waiting += _copied(entry, new / entry.name)
    for old, new in reversed(folders):  # last, as nothing can be made in a read-only folder
        with _vanishing(old):
            shutil.copystat(old, new)


@contextmanager
def _vanishing(path: os.PathLike[str]) -> Iterator[None]:
    """Ignore the error of a path that has vanished."""
    try:
        yield
    except FileNotFoundError:
        if os.path.lexists(path):
            raise


def _copied(entry: os.DirEntry[str], target: Path) -> Iterator[tuple[Path, Path]]:
    """Copy a file or a link, or make a folder and yield it with its copy, which is empty."""
    if entry.is_symlink():
        target.symlink_to(os.readlink(entry.path))
    elif entry.is_dir(follow_symlinks=False):
        target.mkdir()
        yield Path(entry.path), target
    elif entry.is_file(follow_symlinks=False):
        shutil.copy2(entry.path, target)


def _leads_to_repository(entry: os.DirEntry[str]) -> bool:
    if entry.name == "worktrees" and os.path.basename(os.path.dirname(entry.path)) == ".git":
        return True
    if entry.name != ".git":
        return False
    is_folder = entry.is_dir(follow_symlinks=False)
    return not is_folder or os.path.lexists(os.path.join(entry.path, "commondir"))


def stamps(folder: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the relative path of each file and link in *folder*, and its change stamp.

    An unreadable folder is yielded itself, instead of its contents.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as listing:
                entries = [entry for entry in listing if entry.name not in LEFT_OUT]
        except OSError:
            if not below:
                raise
            yield below.rstrip("/"), UNREADABLE  # its path may be too long
            continue
        for entry in entries:
            path = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
                continue
            with suppress(FileNotFoundError):
                yield path, _stamp(entry.stat(follow_symlinks=False))


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_mtime_ns, status.st_ino, status.st_mode)
