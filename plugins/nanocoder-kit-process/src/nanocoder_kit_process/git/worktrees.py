"""The repository of a workspace, and the checks before a worktree is made of it."""

import os
from pathlib import Path

from nanocoder import ToolError

from nanocoder_kit_process.git.elsewhere import data_elsewhere, is_worktree
from nanocoder_kit_process.git.repositories import find_repository
from nanocoder_kit_process.git.run import git


def find_top(folder: Path, *, otherwise: str, linked: bool = False) -> Path:
    """Return the top of the repository that *folder* is in, if a worktree can be made of it.

    *otherwise* is the alternative for the error message. With *linked*, *folder* may be a worktree
    itself, if the repository's own data names it. Raises: ToolError (no_repository), also if the
    repository's data is outside of *folder*, or its settings name another work tree.
    """
    top = next(
        (
            folder_above
            for folder_above in (folder, *folder.parents)
            if (folder_above / ".git").exists()
        ),
        None,
    )
    if top is None:
        raise ToolError(
            f"{folder} is in no git repository, so there can be no worktree;"
            f" run `git init` and commit, or {otherwise}",
            error_class="no_repository",
        )
    reported = git(top, "rev-parse", "--show-toplevel").removesuffix(b"\n")
    if os.path.realpath(os.fsdecode(reported)) != os.path.realpath(top):
        raise ToolError(
            f"the settings of the repository {top} say that its files are elsewhere",
            error_class="no_repository",
        )
    if not (linked and _is_linked(top)):
        _refuse_outside(top, folder, otherwise)
    if not _has(top, "HEAD^{commit}"):
        # In a new repository HEAD names nothing; in a damaged one it names a missing object.
        state = "cannot be read: objects are missing" if _has(top, "HEAD") else "has no commit yet"
        raise ToolError(
            f"the repository {top} {state}, so there can be no worktree; {otherwise}",
            error_class="no_repository",
        )
    return top


def _is_linked(top: Path) -> bool:
    """Return True if *top* is a worktree of a repository that names it and contains its data."""
    repository = find_repository(top)
    if repository is None or repository.problem or not is_worktree(repository):
        return False
    return not data_elsewhere(repository, [os.path.realpath(top)])


def _refuse_outside(top: Path, workspace: Path, otherwise: str) -> None:
    """Raise ToolError unless git's data for a worktree lies in *workspace*.

    A `.git` that is a file, a link or has a `commondir` can name any other directory.
    """
    root = os.path.realpath(workspace)
    for option in ("--git-dir", "--git-common-dir"):
        reported = os.fsdecode(git(top, "rev-parse", option).removesuffix(b"\n"))
        for data in (top / reported, top / reported / "worktrees"):
            if os.path.commonpath([root, os.path.realpath(data)]) != root:
                # That of a worktree, as of a task with a revision, is a top already.
                where = "in the repository of this worktree" if _is_linked(top) else "at its top"
                raise ToolError(
                    f"the repository keeps its data in {os.path.realpath(data)}, outside the"
                    f" directory {root}, so there can be no worktree; work {where}, or {otherwise}",
                    error_class="no_repository",
                )


def _has(top: Path, revision: str) -> bool:
    try:
        git(top, "rev-parse", "--verify", "--quiet", revision)
    except ToolError:
        return False
    return True
