"""A worktree for one sub-agent: a copy of the parent's files, and the changes in it.

Git creates the worktree without any file. The files are copied from a workspace into a workspace,
so that uncommitted changes are included, no filter of the repository runs, and no link leads out.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from attrs import define, field, frozen
from nanocoder import (
    Cancel,
    ToolError,
    Workspace,
    WorkspaceError,
    escape_path,
    unescape_path,
)
from nanocoder_kit_files.glob.git_ignore import walk
from nanocoder_kit_process.git import find_top, git

from nanocoder_tool_task import places
from nanocoder_tool_task.change import Change, Version, make_change
from nanocoder_tool_task.places import Place

MAX_FILES = 50_000
MAX_BYTES = 1_000_000_000
PIECE_BYTES = 1_048_576
BASE = "base"


@frozen
class Original:
    """A file as the sub-agent got it, or a link and its target.

    Its content is *size* bytes from *start* on in the file of all originals; *stamp* is that of its
    copy in the worktree.
    """

    start: int = 0
    size: int = 0
    is_executable: bool = False
    link: bytes | None = None
    stamp: tuple[int, ...] = ()


@define
class Worktree:
    """A worktree and a context manager, which removes it at the end."""

    place: Place
    folder: Path
    repository: Path
    _originals: Mapping[str, Original] = field(factory=dict)

    @classmethod
    def create(cls, workspace: Workspace, cancel: Cancel) -> Self:
        """Make a worktree at HEAD with the files of *workspace* as they are.

        Raises: ToolError (no_repository, too_large, git_failed, git_missing, io_error), Cancelled.
        """
        places.remove_dead()
        top = find_top(workspace.root, otherwise="leave isolation out")
        place = places.make_place(top)
        try:
            words = ("worktree", "add", "--detach", "--no-checkout", "--quiet")
            with places.lock_all():
                git(top, *words, str(place.tree), "HEAD", cancel=cancel)
            git(place.tree, "read-tree", "HEAD", workspace=top, cancel=cancel)
            folder = place.tree / workspace.root.relative_to(top)
            folder.mkdir(parents=True, exist_ok=True)
            with (place.folder / BASE).open("xb") as base:
                originals = dict(_copy_files(workspace, base, folder, cancel))
            return cls(place, folder, top, originals)
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
        """Return the changed files; raises ToolError."""
        stage = self.place.folder / "diff"
        with Workspace(self.folder) as workspace:
            pairs = [
                (path, before, after)
                for path in sorted({*self._originals, *_list_files(workspace)})
                for before, after in [self._versions(workspace, path)]
                if before != after
            ]
        return make_change(pairs, stage, self.repository)

    def _versions(self, workspace: Workspace, path: str) -> tuple[Version | None, Version | None]:
        original = self._originals.get(path)
        if original is None:
            return None, read_version(workspace, path)
        if original.stamp and original.stamp == _stamp(workspace, path):
            return None, None
        return self._before(original), read_version(workspace, path)

    def _before(self, original: Original) -> Version:
        if original.link is not None:
            return Version(original.link, link=True)
        with (self.place.folder / BASE).open("rb") as base:
            base.seek(original.start)
            content = base.read(original.size)
        return Version(content, is_executable=original.is_executable)


def read_version(workspace: Workspace, path: str) -> Version | None:
    """Return a file or a link as it is, or None when there is neither."""
    absolute = workspace.root / unescape_path(path)
    try:
        parent = path.rpartition("/")[0] or "."
        if workspace.resolve(parent) != workspace.relative(parent):
            return None  # a link replaced a directory on the way
        if absolute.is_symlink():
            return Version(os.fsencode(absolute.readlink()), link=True)
        if not workspace.is_file(path):
            return None
        mode = workspace.stat(path).st_mode
        return Version(workspace.read_bytes(path), is_executable=bool(mode & 0o100))
    except (OSError, WorkspaceError):
        return None


def _stamp(workspace: Workspace, path: str) -> tuple[int, ...]:
    """Return values that change with every change of a file, the time of its inode included."""
    try:
        if (workspace.root / unescape_path(path)).is_symlink():
            return ()
        status = workspace.stat(path)
    except (OSError, WorkspaceError):
        return ()
    return _stamp_of(status)


def _stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def _list_files(workspace: Workspace) -> Iterator[str]:
    """Yield the readable files and links that git does not ignore."""
    for entry in walk(workspace, details=False):
        if entry.kind in {"file", "link"}:
            yield entry.path


def _copy_files(
    workspace: Workspace, base: BinaryIO, folder: Path, cancel: Cancel
) -> Iterator[tuple[str, Original]]:
    """Copy every file into the worktree, and append its content to the file of all originals."""
    count = 0
    for path in dict.fromkeys([*_list_files(workspace), *_list_tracked_ignored(workspace)]):
        cancel.check()
        target = folder / unescape_path(path)
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
        original = _copy_file(workspace, path, base, target, cancel)
        if original is None:
            continue
        count += 1
        if count > MAX_FILES or base.tell() > MAX_BYTES:
            raise _too_large()
        yield path, original


def _copy_file(
    workspace: Workspace, path: str, base: BinaryIO, target: Path, cancel: Cancel
) -> Original | None:
    """Copy one file of the parent; return None if it was deleted meanwhile or is unreadable."""
    absolute = workspace.root / unescape_path(path)
    if absolute.is_symlink():
        link = absolute.readlink()
        target.symlink_to(link)
        return Original(link=os.fsencode(link))
    start = base.tell()
    try:
        with workspace.open(path) as source:
            mode = os.fstat(source.fileno()).st_mode
            with target.open("xb") as copy:
                while piece := source.read(PIECE_BYTES):
                    cancel.check()
                    if base.tell() > MAX_BYTES:  # one file alone may fill the disk
                        raise _too_large()
                    copy.write(piece)
                    base.write(piece)
                if mode & 0o100:
                    os.fchmod(copy.fileno(), 0o755)
    except WorkspaceError:
        return None
    stamp = _stamp_of(target.stat())
    return Original(start, base.tell() - start, bool(mode & 0o100), stamp=stamp)


def _too_large() -> ToolError:
    return ToolError(
        f"a worktree may have {MAX_FILES:,} files of together {MAX_BYTES:,} bytes,"
        " and here there are more; leave isolation out",
        error_class="too_large",
    )


def _list_tracked_ignored(workspace: Workspace) -> list[str]:
    """Return the files in the index that the ignore rules would leave out."""
    paths: list[str] = []
    with suppress(ToolError):
        words = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", ".")
        output = git(workspace.root, *words)
        paths = [escape_path(os.fsdecode(name)) for name in output.split(b"\0") if name]
    return [path for path in paths if workspace.is_file(path)]
