"""Detection of git data outside of a folder: a `.git`, and links in it, can lead anywhere."""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from nanocoder_kit_process.git.repositories import (
    GIT,
    Repository,
    find_repository,
    read_path,
    read_start,
)
from nanocoder_kit_process.git.settings import read_settings

MAX_NAMES: Final = 50_000
"""Limit of the examined names in git's data."""
_TREE: Final = "core.worktree"
_WHOLE: Final = ("refs", "logs", "worktrees")
_STORES: Final = ("objects", "objects/info", "objects/pack")
"""Folders of which only the names are examined: each file is named by its content."""


def data_elsewhere(repository: Repository, roots: Sequence[str]) -> str:
    """Return a path outside of *roots*, real paths, with git data of *repository*, or "".

    The data of a worktree may be in its repository, anywhere: only git, working in that repository,
    can have recorded there that this is its worktree.
    """
    folders = dict.fromkeys(map(os.path.realpath, (repository.own, repository.common)))
    allowed = [*roots, repository.common] if is_worktree(repository) else roots
    for folder in folders:
        if not _is_below(folder, allowed):
            return folder
    for count, link in enumerate(_links(folders)):
        if link and not _is_below(os.path.realpath(link), allowed):
            return link
        if count > MAX_NAMES:
            return f"{repository.common} (too many names to check)"
    return ""


def is_worktree(repository: Repository) -> bool:
    """Return True if the repository's own data names the `.git` of this checkout as a worktree."""
    git, own = os.path.join(repository.top, GIT), repository.own
    if os.path.islink(git) or not os.path.isfile(git):
        return False
    if os.path.dirname(own) != os.path.join(repository.common, "worktrees"):
        return False
    back = os.path.join(own, read_path(os.path.join(own, "gitdir")))
    folder, name = os.path.split(back)
    return name == GIT and os.path.realpath(folder) == repository.top


def stores_of(top: str) -> tuple[str, ...]:
    """Return the paths of git's data for the checkout at *top*, a real path, or ().

    That is its `.git`, or the targets of a `.git` file: the data of a submodule, or those of the
    repository and of one worktree in it. Such data have to name this checkout, belong to this user,
    and be outside of the checkout, since a `.git` file can come from anyone.
    """
    git = f"{top}/{GIT}"
    if os.path.isfile(f"{git}/HEAD"):
        return () if os.path.islink(git) else (git,)
    repository = find_repository(top) if os.path.isfile(git) else None
    if repository is None or repository.top != top or repository.problem:
        return ()
    if not is_worktree(repository) and not _is_submodule(repository):
        return ()
    stores = tuple(dict.fromkeys((repository.common, repository.own)))
    return stores if all(_is_apart(store, top) for store in stores) else ()


def _is_submodule(repository: Repository) -> bool:
    """Return True if the repository's own settings name this checkout as its files."""
    if repository.own != repository.common or os.path.islink(os.path.join(repository.top, GIT)):
        return False
    try:
        settings = list(read_settings(read_start(os.path.join(repository.own, "config"))))
    except ValueError:
        return False
    values = [setting.value.strip('"') for setting in settings if setting.name == _TREE]
    if not values:  # an ordinary repository, whose files are beside its data
        return False
    back = os.path.join(repository.own, os.fsdecode(values[-1].encode("latin-1")))
    return os.path.realpath(back) == repository.top


def _is_apart(store: str, top: str) -> bool:
    try:
        is_ours = os.stat(store).st_uid == os.getuid()
    except OSError:  # removed meanwhile
        return False
    return is_ours and not _is_below(store, (top,)) and not _is_below(top, (store,))


def _is_below(path: str, roots: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots)


def _links(folders: Sequence[str] | dict[str, None]) -> Iterator[str]:
    """Yield the links in *folders*, and "" for each other entry that was examined."""
    waiting = [(each, False) for each in folders]
    waiting += [(os.path.join(each, name), False) for each in folders for name in _STORES]
    waiting += [(os.path.join(each, name), True) for each in folders for name in _WHOLE]
    while waiting:
        folder, goes_down = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:  # missing, or unreadable for git, too
            continue
        for entry in listed:
            yield entry.path if entry.is_symlink() else ""
            if goes_down and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, True))
