"""A worktree for one sub-agent: the files as the parent has them now, and what becomes of them.

Git makes the worktree without any file in it. The files are copied, from a workspace into a
workspace, so that what was not committed comes along, no filter of the repository runs, and no link
leads out.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from attrs import define, field, frozen
from nanocoder import Cancel, ToolError, Workspace, WorkspaceError

from nanocoder_tool_task import places
from nanocoder_tool_task.change import Change, Version, change_of
from nanocoder_tool_task.git import git, top_of
from nanocoder_tool_task.places import Place

MAX_FILES = 50_000
MAX_BYTES = 1_000_000_000
PIECE_BYTES = 1_048_576


@frozen
class Original:
    """A file as the sub-agent got it; *stamp* is that of its copy in the worktree."""

    version: Version
    stamp: tuple[int, ...] = ()


@define
class Worktree:
    """Use it as a context manager: it is gone afterwards."""

    place: Place
    folder: Path
    _originals: Mapping[str, Original] = field(factory=dict)

    @classmethod
    def made(cls, workspace: Workspace, cancel: Cancel) -> Self:
        """Make a worktree at HEAD with the files of *workspace* as they are.

        Raises: ToolError (no_repository, too_large, git_failed, git_missing, io_error), Cancelled.
        """
        places.sweep()
        top = top_of(workspace.root)
        place = places.made(top)
        try:
            git(
                top,
                *("worktree", "add", "--detach", "--no-checkout", "--quiet"),
                *(str(place.tree), "HEAD"),
                cancel=cancel,
            )
            git(place.tree, "read-tree", "HEAD", cancel=cancel)
            folder = place.tree / workspace.root.relative_to(top)
            folder.mkdir(parents=True, exist_ok=True)
            base = place.folder / "base"
            base.mkdir(mode=0o700)
            return cls(place, folder, dict(_copied(workspace, base, folder, cancel)))
        except OSError as error:
            place.close()
            raise ToolError(
                f"the files could not be copied: {error.strerror}", error_class="io_error"
            ) from error
        except BaseException:
            place.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.place.close()

    def change(self) -> Change:
        """Return what became different; raises ToolError."""
        stage = self.place.folder / "diff"
        with Workspace(self.folder) as workspace:
            pairs = [
                (path, before, after)
                for path in sorted({*self._originals, *_listed(workspace)})
                for before, after in [self._versions(workspace, path)]
                if before != after
            ]
        return change_of(pairs, stage)

    def _versions(self, workspace: Workspace, path: str) -> tuple[Version | None, Version | None]:
        original = self._originals.get(path)
        if original is not None and original.stamp and original.stamp == _stamp(workspace, path):
            return None, None
        before = original.version if original is not None else None
        return _whole(before, self.place.folder / "base" / path), version_of(workspace, path)


def _whole(version: Version | None, copy: Path) -> Version | None:
    if version is None or version.link:
        return version
    return Version(copy.read_bytes(), is_executable=version.is_executable)


def version_of(workspace: Workspace, path: str) -> Version | None:
    """Return a file or a link as it is, or None when there is neither."""
    place = workspace.root / path
    try:
        parent = path.rpartition("/")[0] or "."
        if workspace.resolve(parent) != workspace.relative(parent):
            return None  # a link took the place of a directory on the way
        if place.is_symlink():
            return Version(os.fsencode(place.readlink()), link=True)
        if not workspace.is_file(path):
            return None
        mode = workspace.stat(path).st_mode
        return Version(workspace.read_bytes(path), is_executable=bool(mode & 0o100))
    except (OSError, WorkspaceError):
        return None


def _stamp(workspace: Workspace, path: str) -> tuple[int, ...]:
    """Return what changes with every change of a file, the one of its inode's time included."""
    try:
        if (workspace.root / path).is_symlink():
            return ()
        found = workspace.stat(path)
    except (OSError, WorkspaceError):
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)


def _listed(workspace: Workspace) -> Iterator[str]:
    """Yield the files and links that git would take, as far as they can be read."""
    for entry in workspace.walk(details=False):
        if entry.kind in {"file", "link"}:
            yield entry.path


def _copied(
    workspace: Workspace, base: Path, folder: Path, cancel: Cancel
) -> Iterator[tuple[str, Original]]:
    """Copy every file twice: to look at later, and to work on."""
    count = size = 0
    for path in dict.fromkeys([*_listed(workspace), *_tracked_though_ignored(workspace)]):
        cancel.check()
        found = _taken(workspace, path, base)
        if found is None:
            continue
        count, size = count + 1, size + (0 if found.link else (base / path).stat().st_size)
        if count > MAX_FILES or size > MAX_BYTES:
            raise ToolError(
                f"a worktree may have {MAX_FILES:,} files of together {MAX_BYTES:,} bytes,"
                " and here there are more; leave isolation out",
                error_class="too_large",
            )
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if found.link:
            target.symlink_to(os.fsdecode(found.content))
            yield path, Original(found)
            continue
        shutil.copy(base / path, target)
        seen = target.stat()
        stamp = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)
        yield path, Original(found, stamp)


def _taken(workspace: Workspace, path: str, base: Path) -> Version | None:
    """Copy one file of the parent, and say what it is; its content stays on the disk."""
    if (workspace.root / path).is_symlink():
        return Version(os.fsencode((workspace.root / path).readlink()), link=True)
    copy = base / path
    try:
        with workspace.open(path) as source:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("xb") as target:
                shutil.copyfileobj(source, target, PIECE_BYTES)
        is_executable = bool(workspace.stat(path).st_mode & 0o100)
    except WorkspaceError:
        return None  # it was deleted meanwhile, or may not be read
    copy.chmod(0o700 if is_executable else 0o600)
    return Version(b"", is_executable=is_executable)


def _tracked_though_ignored(workspace: Workspace) -> list[str]:
    """Return what is in the index although the rules would leave it out."""
    found: list[str] = []
    with suppress(ToolError):
        words = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", ".")
        output = git(workspace.root, *words)
        found = [os.fsdecode(one) for one in output.split(b"\0") if one]
    return [path for path in found if workspace.is_file(path)]
