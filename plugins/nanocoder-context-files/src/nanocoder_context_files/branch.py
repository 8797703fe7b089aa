"""The branch of the repository around a workspace, read without running git.

A repository's configuration can name programs that git would start, so whether files were changed
is not said: only git can tell.
"""

import os
import re
from pathlib import Path

MAX_BYTES = 4_096
MAX_FOLDERS = 40
_BRANCH = re.compile(rb"ref: refs/heads/([^\s\0-\x20\x7f~^:?*\[\\]{1,100})\s*")
_COMMIT = re.compile(rb"([0-9a-f]{12})[0-9a-f]{28,52}\s*")
_ELSEWHERE = re.compile(rb"gitdir: ([^\n\0]{1,3000})\n?")
ON_BRANCH = "The repository is on the branch {} (at the start of this session)."
DETACHED = "The repository is at the commit {}, on no branch (at the start of this session)."


def branch_line(cwd: Path) -> str:
    """Return the sentence that names the branch; "" without a repository, or where it is odd."""
    for folder in (cwd, *cwd.parents)[:MAX_FOLDERS]:
        marker = folder / ".git"
        if os.path.lexists(marker):
            return _line_of(_head_of(marker))
    return ""


def _line_of(head: bytes) -> str:
    if branch := _BRANCH.fullmatch(head):
        return ON_BRANCH.format(branch[1].decode("ascii", "backslashreplace"))
    if commit := _COMMIT.fullmatch(head):
        return DETACHED.format(commit[1].decode("ascii"))
    return ""


def _head_of(marker: Path) -> bytes:
    """Return the content of HEAD; in a worktree `.git` is a file that leads to its folder."""
    if os.path.isdir(marker) and not os.path.islink(marker):
        return _content(marker / "HEAD")
    elsewhere = _ELSEWHERE.fullmatch(_content(marker))
    if elsewhere is None:
        return b""
    return _content(marker.parent / os.fsdecode(elsewhere[1]) / "HEAD")


def _content(path: Path) -> bytes:
    """Return the beginning of a regular file; nothing for a link, a pipe and what is not there."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""
