"""The repository that git would use in a folder, found without starting git."""

import os
import re
from collections.abc import Container
from typing import Final, NamedTuple

GIT: Final = ".git"
MAX_BYTES: Final = 262_144
_BLOCK_BYTES: Final = 16_384
HEAD: Final = "HEAD"
OF_BARE: Final = ("commondir", "config", "config.worktree", "gitdir", "objects", "refs")
"""Names that make a folder with a HEAD a repository; `commondir` leads to where the others are."""
REDIRECTING: Final = (
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
"""Variables that redirect git to other paths than those that it finds."""
_HEAD: Final = re.compile(rb"ref: refs/|[0-9a-f]{40}")


class Repository(NamedTuple):
    """The paths of a folder's repository.

    *top* is the folder where it was found. *own* has the data of this checkout, such as its index;
    *common* has the data that several checkouts share, such as the settings. *problem* is the
    reason git may use another repository than this, or "".
    """

    top: str
    own: str
    common: str
    problem: str = ""


def find_repository(folder: str | os.PathLike[str]) -> Repository | None:
    """Return the repository nearest to *folder*, or None.

    A folder that only looks like a repository is returned, too, with its problem.
    """
    path = os.path.realpath(folder)
    while True:
        repository = _repository_at(path)
        if repository is not None:
            return repository
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent


def is_like_bare(names: Container[str]) -> bool:
    """Return True if git may take a folder with *names* in it for a repository without a `.git`.

    This errs on the safe side: the contents are not checked.
    """
    return HEAD in names and any(name in names for name in OF_BARE)


def read_start(path: str) -> bytes:
    """Return at most MAX_BYTES of a file; b"" when it is missing, unreadable or none."""
    try:
        if not os.path.isfile(path):  # a named pipe would block
            return b""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return b""
    # These are a few short files before each command, for which `open` takes twice as long.
    try:
        content = b""
        while len(content) < MAX_BYTES and (piece := os.read(file, _BLOCK_BYTES)):
            content += piece
        return content[:MAX_BYTES]
    except OSError:
        return b""
    finally:
        os.close(file)


def _repository_at(folder: str) -> Repository | None:
    git = os.path.join(folder, GIT)
    if os.path.isdir(git):
        repository = _stores(folder, git)
        if not _is_complete(repository):
            return repository._replace(
                problem=f"{git} is not a repository, so git searches for another"
            )
        if os.path.lexists(f"{git}/commondir"):  # only checkouts behind a file have one
            return repository._replace(problem=f"{git}/commondir leads to another repository")
        return repository
    if os.path.lexists(git):  # of a worktree or a submodule
        return _behind_file(folder, git)
    if _has_head(folder) and is_like_bare(_present(folder)):
        repository = _stores(folder, folder)
        return repository._replace(
            problem=f"{folder} is itself a bare repository, or looks like one"
        )
    return None


def _has_head(folder: str) -> bool:
    head = os.path.join(folder, HEAD)
    return os.path.lexists(head) and (os.path.islink(head) or not os.path.isdir(head))


def _present(folder: str) -> set[str]:
    """Return the names of a repository that are in *folder*, as its file system compares names."""
    return {name for name in (HEAD, *OF_BARE) if os.path.lexists(os.path.join(folder, name))}


def _behind_file(folder: str, git: str) -> Repository:
    start, _, target = read_path(git).partition(": ")
    repository = _stores(folder, os.path.realpath(os.path.join(folder, target or GIT)))
    if start != "gitdir" or not target or not _is_complete(repository):
        return repository._replace(problem=f"{git} names no repository")
    return repository


def _stores(folder: str, own: str) -> Repository:
    shared = read_path(os.path.join(own, "commondir"))
    return Repository(folder, own, os.path.realpath(os.path.join(own, shared)) if shared else own)


def read_path(path: str) -> str:
    """Return the path in a file; for git, too, it ends at a NUL."""
    content = read_start(path).rstrip(b"\r\n")
    return os.fsdecode(content.partition(b"\0")[0])


def _is_complete(repository: Repository) -> bool:
    """Return True if git surely takes this for a repository, and does not search further up."""
    if _HEAD.match(read_start(os.path.join(repository.own, "HEAD"))) is None:
        return False
    return all(os.path.isdir(os.path.join(repository.common, name)) for name in ("objects", "refs"))
