"""Directories of worktrees, in the user's cache, each locked while its process lives."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from attrs import define
from nanocoder import ConfigError, ToolError, cache_dir
from nanocoder_files import lock_file
from nanocoder_kit_process.git import git
from nanocoder_kit_process.trees import remove_tree

YOUNG_S = 60.0
"""Seconds; a younger directory without a lock may be one that another process is creating."""


@define
class Place:
    """One directory of ours; *lock* is an open descriptor whose lock shows that we are alive."""

    folder: Path
    lock: int

    @property
    def tree(self) -> Path:
        """The worktree."""
        return _tree_of(self.folder)

    def close(self) -> None:
        """Remove the worktree and the files beside it."""
        _clear(self.folder)
        os.close(self.lock)


def root() -> Path:
    """Return the parent of all directories; raises ToolError (io_error) without a home."""
    try:
        return cache_dir() / "worktrees"
    except ConfigError as error:
        raise ToolError(str(error), error_class="io_error") from error


def make_place(repository: Path) -> Place:
    """Create a directory for a worktree of *repository*; raises ToolError (io_error)."""
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"
    folder = root() / name
    try:
        folder.mkdir(mode=0o700, parents=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        lock = os.open(folder / "unlocked", flags, 0o600)
        lock_file(lock)
        (folder / "unlocked").rename(folder / "lock")  # so a visible "lock" is always locked
        (folder / "repository").write_bytes(os.fsencode(repository))
    except OSError as error:
        raise ToolError(
            f"no worktree can be created in {root()}: {error.strerror}",
            error_class="io_error",
        ) from error
    return Place(folder, lock)


@contextlib.contextmanager
def lock_all() -> Iterator[None]:
    """Lock worktrees against creation and removal by other sessions of this user.

    Git reads all worktrees that it lists, and fails for an incomplete one.
    """
    descriptor = os.open(root(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock_file(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_dead() -> None:
    """Remove the directories of processes that have ended."""
    for folder in _worktree_folders():
        lock = _try_lock(folder)
        if lock >= 0:
            _clear(folder)
            os.close(lock)


def _tree_of(folder: Path) -> Path:
    # Git lists worktrees by this name.
    return folder / f"nanocoder-{folder.name}"


def _worktree_folders() -> Iterator[Path]:
    with contextlib.suppress(OSError, ToolError):
        yield from sorted(path for path in root().iterdir() if not path.is_symlink())


def _try_lock(folder: Path) -> int:
    """Lock a directory and return the file descriptor, or -1 if another process holds it."""
    try:
        is_young = time.time() - folder.stat().st_mtime < YOUNG_S
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(folder / "lock", flags if is_young else flags | os.O_CREAT, 0o600)
    except OSError:
        return -1
    try:
        lock_file(lock, wait=False)
    except OSError:
        os.close(lock)
        return -1
    return lock


def _clear(folder: Path) -> None:
    tree = _tree_of(folder)
    _remove(tree)
    # Removed by name: `git worktree prune` would also remove worktrees of others.
    with contextlib.suppress(OSError, ToolError), lock_all():
        repository = Path(os.fsdecode((folder / "repository").read_bytes()))
        git(repository, "worktree", "remove", "--force", "--force", str(tree))
    _remove(folder)


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        remove_tree(folder)
