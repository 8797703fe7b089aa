"""The branch of the repository around a workspace, and whether its files are changed.

Both are read without running git: a repository's configuration can name programs that git starts.
"""

import os
import re
from pathlib import Path

from nanocoder import counted

from nanocoder_context_files.unstaged import count_unstaged

MAX_BYTES = 4_096
MAX_FOLDERS = 40
# As text: each repository needs one of them.
_BRANCH = rb"ref: refs/heads/([^\s\0-\x20\x7f~^:?*\[\\]{1,100})\s*"
_COMMIT = rb"([0-9a-f]{12})[0-9a-f]{28,52}\s*"
_ELSEWHERE = rb"gitdir: ([^\n\0]{1,3000})\n?"
ON_BRANCH = "The repository is on the branch {}{} (when this prompt was written)."
DETACHED = "The repository is at the commit {}, on no branch{} (when this prompt was written)."


def branch_line(cwd: Path) -> str:
    """Return the sentence about the repository, or "" without one that can be read."""
    for root in (cwd, *cwd.parents)[:MAX_FOLDERS]:
        marker = root / ".git"
        if os.path.lexists(marker):
            folder = _folder_of(marker)
            return _line_of(folder, root) if folder else ""
    return ""


def _line_of(folder: Path, root: Path) -> str:
    head = _content(folder / "HEAD")
    if branch := re.fullmatch(_BRANCH, head):
        return ON_BRANCH.format(branch[1].decode("ascii", "backslashreplace"), _state(folder, root))
    if commit := re.fullmatch(_COMMIT, head):
        return DETACHED.format(commit[1].decode("ascii"), _state(folder, root))
    return ""


def _state(folder: Path, root: Path) -> str:
    count = count_unstaged(folder, root)
    if count is None:
        return ""
    return f", with unstaged changes in {counted(count, 'file') if count else 'no file'}"


def _folder_of(marker: Path) -> Path | None:
    """Return git's folder; in a worktree `.git` is a file that leads to it."""
    if os.path.isdir(marker) and not os.path.islink(marker):
        return marker
    elsewhere = re.fullmatch(_ELSEWHERE, _content(marker))
    return marker.parent / os.fsdecode(elsewhere[1]) if elsewhere else None


def _content(path: Path) -> bytes:
    """Return the beginning of a regular file, or b"" for anything else."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""
