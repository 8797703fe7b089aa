"""Trees of files that a command may have made, however deep: walked and removed."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from nanocoder_files import closing_file

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_Path = str | os.PathLike[str]


def walk(
    top: str, on_error: Callable[[OSError], object] = lambda _: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder from *top* down, with the names of the folders and other files in it.

    The names of folders may be removed from the list, so that these are left out; links are never
    folders. *on_error* gets the error of a folder that cannot be listed.
    """
    # `os.walk` recurses before Python 3.12.
    waiting = [top]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as scanned:
                entries = list(scanned)
        except OSError as error:
            on_error(error)
            continue
        folders = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        files = [each.name for each in entries if not each.is_dir(follow_symlinks=False)]
        yield path, folders, files
        waiting += (f"{path}/{name}" for name in folders)


def remove_tree(path: _Path, folder: int | None = None) -> None:
    """Remove the directory *path*, below that of the descriptor *folder*, with all that is in it.

    No link is followed, whatever a program puts there meanwhile. A missing one is fine. Raises:
    OSError, after everything else was removed.
    """
    problems: list[OSError] = []
    with suppress(FileNotFoundError):
        give_rights(path, folder)
        with closing_file(os.open(path, _FOLDER, dir_fd=folder)) as top:
            # `shutil.rmtree` recurses. Here each folder is first moved to the top, so that no path
            # is too long either.
            waiting = _emptied(top, top, problems)
            while waiting:
                name = waiting.pop()
                try:
                    with closing_file(os.open(name, _FOLDER, dir_fd=top)) as inner:
                        waiting += _emptied(inner, top, problems)
                    os.rmdir(name, dir_fd=top)
                except OSError as error:
                    problems.append(error)
        if problems:
            raise problems[0]
        os.rmdir(path, dir_fd=folder)


def _emptied(folder: int, top: int, problems: list[OSError]) -> list[str]:
    """Remove the files of *folder*, move the folders in it to *top*, and return their new names."""
    with os.scandir(folder) as scanned:
        entries = list(scanned)
    moved = []
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                give_rights(entry.name, folder)  # its mode may forbid the move
                fresh = f".removed-{os.urandom(8).hex()}"
                os.rename(entry.name, fresh, src_dir_fd=folder, dst_dir_fd=top)
                moved.append(fresh)
            else:
                os.unlink(entry.name, dir_fd=folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(error)
    return moved


def give_rights(path: _Path, folder: int | None = None) -> bool:
    """Give us, its owner, every right on a directory, no link; tell whether one was missing.

    *path* is below the directory of the descriptor *folder*. Raises: OSError.
    """
    mode = stat.S_IMODE(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode)
    if mode & stat.S_IRWXU == stat.S_IRWXU:
        return False
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(path, mode | stat.S_IRWXU, dir_fd=folder, follow_symlinks=False)
        return True
    with closing_file(os.open(path, _FOLDER | os.O_PATH, dir_fd=folder)) as descriptor:
        # Such a descriptor's file can be changed by its name in /proc only.
        os.chmod(f"/proc/self/fd/{descriptor}", mode | stat.S_IRWXU)
    return True
