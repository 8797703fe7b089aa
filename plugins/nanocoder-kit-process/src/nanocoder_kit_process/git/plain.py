"""Check whether a read-only git command can start a program that a repository configures."""

import os
from collections.abc import Iterator
from typing import Final

from nanocoder_kit_process.git.index import path_of_repository
from nanocoder_kit_process.git.repositories import (
    MAX_BYTES,
    REDIRECTING,
    Repository,
    find_repository,
    read_start,
)
from nanocoder_kit_process.git.settings import setting_that_starts

HOOKS: Final = ("post-index-change", "reference-transaction")
"""Hooks that even commands that only read run."""
_ELSEWHERE: Final = ("objects/info/alternates", "objects/info/http-alternates")


def reason_not_plain(folder: str | os.PathLike[str]) -> str | None:
    """Return the reason a read-only git command in *folder* may start a program, or None.

    Returns None, too, if there is no repository. A repository is plain if all its settings are
    known to start nothing, it has no hook that reading runs, no nested repository that git reads,
    and no objects elsewhere. The user's settings outside of the repository are not checked; but a
    variable such as `GIT_DIR`, which selects another repository, is a reason.
    """
    if variable := next((name for name in REDIRECTING if os.environ.get(name)), ""):
        return f"the variable {variable} redirects git to another repository"
    repository = find_repository(folder)
    if repository is None:
        return None
    return next(_reasons(repository), None)


def _reasons(repository: Repository) -> Iterator[str]:
    if repository.problem:
        yield repository.problem
    for folder in dict.fromkeys((repository.common, repository.own)):
        yield from _reasons_in(folder)
    for name in _ELSEWHERE:
        if os.path.lexists(f"{repository.common}/{name}"):
            yield f"{repository.common}/{name} leads to objects of another repository"
    yield from _reasons_of_index(repository.own)


def _reasons_in(folder: str) -> Iterator[str]:
    for path in (f"{folder}/config", f"{folder}/config.worktree"):
        if setting := _starting_setting(path):
            yield f"the settings in {path} can start a program or lead elsewhere: {setting}"
    for name in _names_in(f"{folder}/hooks"):
        if name in HOOKS:
            yield f"the hook {folder}/hooks/{name} runs also for commands that only read"


def _reasons_of_index(folder: str) -> Iterator[str]:
    if any(name.startswith("sharedindex.") for name in _names_in(folder)):
        yield f"the index of {folder} is split, which is not supported"
    index = f"{folder}/index"
    try:
        if path := path_of_repository(index):
            yield f"git looks into the repository {path!r}, which {index} names"
    except ValueError:
        yield f"{index} cannot be read"


def _starting_setting(path: str) -> str:
    content = read_start(path)
    if len(content) == MAX_BYTES:
        return "the file is too large to be read"
    if not content and os.path.lexists(path) and (os.path.islink(path) or os.path.getsize(path)):
        return "the file cannot be read"
    return setting_that_starts(content)


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
