"""The names in the trees of commits, as git itself lists them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nanocoder_kit_process.git.run import git

LIMIT_S: Final = 1.5
"""Timeout of listing a history, which is unknown then: a user waits for the answer."""
_OUTSIDE_OF_REFS: Final = (
    *("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"),
    *("BISECT_HEAD", "AUTO_MERGE"),
)
_OF_ALL: Final = ("--all", "--reflog", "--ignore-missing", *_OUTSIDE_OF_REFS)
_OF_HEAD: Final = ("--max-count=1", "--ignore-missing", "HEAD")


def objects_of_head(top: str, *, workspace: str) -> dict[str, str]:
    """Return the objects of the commit HEAD: the path of each, by its hash.

    Content that several paths share has only one of them; a commit and its tree have "".
    Raises: ToolError (git_failed) also when that takes too long.
    """
    return _objects(top, workspace, _OF_HEAD)


def objects_of_history(top: str, revisions: Sequence[str], *, workspace: str) -> dict[str, str]:
    """Return the objects of all commits that a name, a log of git, or one of *revisions* leads to.

    Like `objects_of_head`. A revision that there is not is ignored.
    """
    return _objects(top, workspace, (*_OF_ALL, *revisions))


def _objects(top: str, workspace: str, which: Sequence[str]) -> dict[str, str]:
    words = ("rev-list", "--objects", *which, "--")
    output = git(Path(top), *words, workspace=Path(workspace), limit_s=LIMIT_S)
    rows = (line.partition(b" ") for line in output.split(b"\n"))
    return {row[0].decode("ascii"): os.fsdecode(row[2]) for row in rows if row[0]}
