"""The change of one file as a diff that `git apply` takes; links are shown, never followed."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from attrs import frozen
from nanocoder import one_line
from nanocoder_files import open_private
from nanocoder_kit_files.diff import unified

MAX_FILE_BYTES: Final = 1_000_000
NAME_CHARS: Final = 200
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LINK: Final = "120000"
"""The mode of a link in the diffs of git."""


@frozen
class Side:
    """One side of a diff: a file's text, or a link's target."""

    text: str = ""
    is_link: bool = False


class TooLargeError(ValueError):
    """A file that is too large for a patch."""


def diff_of(old: Path, new: Path, path: str) -> str:
    """Return the diff of *path* below *old* and *new*, or a comment if there cannot be one."""
    if any(sign < " " for sign in path):  # a name with line breaks could inject a diff
        return f"# a name with control characters has no patch: {one_line(path, NAME_CHARS)}\n"
    try:
        before, after = _side(old, path), _side(new, path)
    except TooLargeError:
        return f"# file too large for a patch: {path}\n"
    except (OSError, UnicodeDecodeError):
        return f"# not text: {path}\n"
    if before.is_link == after.is_link or not before.text or not after.text:
        return _diff(before, after, path)
    nothing = Side()
    return _diff(before, nothing, path) + _diff(nothing, after, path)


def _diff(before: Side, after: Side, path: str) -> str:
    diff = unified(before.text, after.text, path).text
    if not diff:
        return ""
    if not before.is_link and not after.is_link:
        return f"{diff}\n"
    kind = "new file" if not before.text else "deleted file" if not after.text else "old"
    modes = f"{kind} mode {LINK}\n" + (f"new mode {LINK}\n" if kind == "old" else "")
    return f"diff --git a/{path} b/{path}\n{modes}{diff}\n"


def _side(root: Path, path: str) -> Side:
    """Return the file or link at *path*; an empty side for anything else, or below a link.

    Raises: OSError, TooLargeError, UnicodeDecodeError.
    """
    *folders, name = path.split("/")
    directory = os.open(root, FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, FOLDER, dir_fd=directory)
            os.close(directory)
            directory = inner
        return _read(name, directory)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return Side()
        raise
    finally:
        os.close(directory)


def _read(name: str, directory: int) -> Side:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return Side(os.readlink(name, dir_fd=directory), is_link=True)
    if not stat.S_ISREG(status.st_mode):
        return Side()
    with os.fdopen(open_private(name, directory=directory), "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TooLargeError
    return Side(data.decode("utf-8"))
