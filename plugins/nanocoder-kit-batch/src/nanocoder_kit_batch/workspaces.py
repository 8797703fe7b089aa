"""The workspace of one task: a worktree of a commit, or a copy of a directory.

It is in a temporary directory of this process, which holds a lock while it lives, so that the next
batch removes the directories of a killed one.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import (
    ConfigError,
    ToolError,
    cache_dir,
    for_terminal,
    state_dir,
    user_config_dir,
)
from nanocoder_files import lock_file
from nanocoder_kit_process.git import find_top, git
from nanocoder_kit_process.trees import remove_tree

from nanocoder_kit_batch.patches import MAX_FILE_BYTES, diff_of
from nanocoder_kit_batch.trees import Stamp, copy_tree, stamps

PREFIX: Final = "nanocoder-batch-"
LOCK: Final = "lock"
NOTE: Final = ".repository"
"""Suffix of a file that names the worktree of a task, and its repository."""
MAX_PATCH_BYTES: Final = 1_000_000
MAX_WORKTREE_BYTES: Final = 10_000_000
"""Size limit of changed files for a patch by git, which holds all of it in memory."""
MAX_NAMES_CHARS: Final = 100_000
"""Limit of the paths on git's command line."""

_worktrees = threading.Lock()  # git makes one worktree of a repository at a time
_making = threading.Lock()  # `cache` would let two threads make a folder each


@frozen
class TaskWorkspace:
    """The folder of a task, its source, and the stamps of its files before the task."""

    folder: Path
    source: Path
    before: dict[str, Stamp]
    is_worktree: bool = False

    def changed(self) -> list[str]:
        """Return the paths of files that were created, changed or removed since."""
        now = dict(stamps(self.folder))
        paths = {*now, *self.before}
        return sorted(path for path in paths if now.get(path) != self.before.get(path))

    def own_folders(self) -> list[Path]:
        """Return the paths of nanocoder's own folders in this copy; a commit can have them."""
        pairs = [(folder, self.source) for folder in own_folders()]
        below = [folder.relative_to(top) for folder, top in pairs if folder.is_relative_to(top)]
        holding = [Path() for folder, top in pairs if top.is_relative_to(folder)]
        return [self.folder / path for path in (*below, *holding)]

    def patch(self, paths: list[str]) -> str:
        """Return the changes of *paths* as a diff for `git apply`."""
        if self.is_worktree:
            return self._patch_of_git(paths)
        pieces, size = [], 0
        for path in paths:
            piece = diff_of(self.source, self.folder, path)
            size += len(piece)
            if size > MAX_PATCH_BYTES:
                pieces.append(f"# left out: {path} and what follows, the patch is too long\n")
                break
            pieces.append(piece)
        return "".join(pieces)

    def _patch_of_git(self, paths: list[str]) -> str:
        sizes = {path: self._size(path) for path in paths}
        large = [path for path, size in sizes.items() if size > MAX_FILE_BYTES]
        small = [path for path in paths if path not in {*large}] if large else ["."]
        rest = sum(sizes.values()) - sum(sizes[path] for path in large)
        if rest > MAX_WORKTREE_BYTES or sum(map(len, small)) > MAX_NAMES_CHARS:
            return "# no patch: what changed is too much for one\n"
        notes = "".join(f"# file too large for a patch: {path!r}\n" for path in large)
        if not small:
            return notes
        try:
            git(self.folder, "add", "--all", "--intent-to-add", ".", workspace=self.source)
            words = ("diff", "--binary", "HEAD", "--", *small)
            output = git(self.folder, *words, workspace=self.source)
        except ToolError as error:
            return f"# no patch: {error}\n"
        return notes + output.decode("utf-8", "replace")

    def _size(self, path: str) -> int:
        """Return the larger of a file's sizes before and after, in bytes."""
        before, *_ = self.before.get(path, (0,))
        with suppress(OSError):  # removed
            return max(before, os.lstat(self.folder / path).st_size)
        return before


@contextmanager
def workspace_of(job: dict[str, Any]) -> Iterator[TaskWorkspace]:
    """Make the workspace of a job, and remove it at the end; raises OSError or ToolError."""
    with _making:
        own_folder = Path(tempfile.mkdtemp(dir=_own_folder()))
    # A model sees the name of the folder; that of the copied directory is the most telling.
    source = Path(job["cwd"])
    folder = own_folder / (source.name or "workspace")
    try:
        if job["revision"]:
            words = (os.fsencode(path) for path in (folder, source))
            _note_of(own_folder).write_bytes(b"\0".join(words))
            with _worktree(source, folder, job["revision"]):
                yield TaskWorkspace(folder, source, dict(stamps(folder)), is_worktree=True)
        else:
            copy_tree(source, folder, {*own_folders(), *_folders_of_batches()})
            yield TaskWorkspace(folder, source, dict(stamps(folder)))
    finally:
        _remove(own_folder)
        _note_of(own_folder).unlink(missing_ok=True)


def _note_of(own_folder: Path) -> Path:
    return own_folder.with_name(own_folder.name + NOTE)


@contextmanager
def _worktree(repository: Path, folder: Path, commit: str) -> Iterator[None]:
    top_of_repository(repository)
    with _worktrees:
        git(repository, "worktree", "add", "--detach", "--quiet", str(folder), commit)
    try:
        yield
    finally:
        _remove_worktree(repository, folder)


def _remove_worktree(repository: Path, folder: Path) -> None:
    """Remove one worktree; `git worktree prune` would remove those of other batches, too."""
    with suppress(ToolError, OSError), _worktrees:
        git(repository, "worktree", "remove", "--force", "--force", str(folder))


def top_of_repository(folder: Path) -> Path:
    """Return *folder* if it is the top of a repository that contains its data, or of a worktree.

    Raises: ToolError (no_repository).
    """
    top = find_top(folder, otherwise="leave revision out", linked=True)
    if top != folder:
        raise ToolError(
            f"{folder} is not the top of its repository; name {top}, or leave revision out",
            error_class="no_repository",
        )
    return top


def own_folders() -> list[Path]:
    """Return the folders of nanocoder's settings, sessions and caches, if there is a home."""
    folders = []
    for folder_of in (user_config_dir, state_dir, cache_dir):
        with suppress(ConfigError, OSError, RuntimeError):  # RuntimeError: a loop of links
            folders.append(folder_of().resolve())
    return folders


def _folders_of_batches() -> list[Path]:
    """Return the folders of batches, which are left out if they are inside the copied folder."""
    folder = Path(tempfile.gettempdir())
    return [path.parent.resolve() / path.name for path in folder.glob(f"{PREFIX}*")]


@cache
def _own_folder() -> Path:
    """Return this process's own folder, after removing those of processes that have ended."""
    _remove_dead(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # It stays open: the lock shows that we are alive, and ends with our process.
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    lock_file(lock)
    return folder


def remove_own_folder() -> None:
    """Remove the folder of this process, once no task works in it, and those of ended ones."""
    if _own_folder.cache_info().currsize:
        _remove(_own_folder())
        _own_folder.cache_clear()
    _remove_dead(Path(tempfile.gettempdir()))


def _remove_dead(folder: Path) -> None:
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                lock_file(lock, wait=False)
                _remove_worktrees(path)
                _remove(path)
            finally:
                os.close(lock)


def _remove_worktrees(batch_folder: Path) -> None:
    """Remove the worktrees of a killed batch from their repositories."""
    for note in batch_folder.glob(f"*{NOTE}"):
        with suppress(ToolError, OSError, ValueError):
            folder, repository = map(os.fsdecode, note.read_bytes().split(b"\0"))
            _remove_worktree(top_of_repository(Path(repository)), Path(folder))


def _remove(folder: Path) -> None:
    try:
        remove_tree(folder)
    except OSError:
        _report_leftover(str(folder))


@cache
def _report_leftover(folder: str) -> None:
    """Report, once for each folder, that it could not be removed completely."""
    sys.stderr.write(f"{for_terminal(folder)} cannot be removed as a whole; remove it by hand\n")
