"""Open files relative to a directory's descriptor, without a race between check and use.

Each path is walked one component at a time: each step opens relative to the step before and
refuses links, which are read and resolved by hand inside the root. So a concurrent swap of
directories never leads outside. `openat2` does this in one call, but Python reaches it through
ctypes alone, which takes as many instructions as the steps of a usual path, and 5 ms to load.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from nanocoder_files.paths import WorkspaceError, escape_path, tidy_path, unescape_path
from nanocoder_files.private_files import closing_file
from nanocoder_files.protected import IN_GIT, is_git_name, refused

MAX_HOPS = 40
MAX_RACES = 16

# O_PATH opens a directory that may be searched but not listed; macOS has no such flag.
_SEARCH: int = getattr(os, "O_PATH", os.O_RDONLY)
DIRECTORY = _SEARCH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe waits for a writer.
READ = os.O_RDONLY | os.O_NONBLOCK
LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
# The errors for a link with O_NOFOLLOW and O_DIRECTORY.
_PERHAPS_A_LINK = {errno.ENOTDIR, errno.ELOOP, errno.EMLINK}


class NewFolders(list[str]):
    """The directories created on a walk; *announce* gets each path before its creation."""

    def __init__(self, announce: Callable[[str], None] | None = None) -> None:
        self.announce = announce


class Beneath:
    """Opens paths below *root_fd*, the descriptor of the directory *root*, a real path."""

    def __init__(self, root_fd: int, root: str) -> None:
        self.fd = root_fd
        self.root = root
        self._prefix = os.path.join(root, "")

    def open(self, path: str, flags: int) -> tuple[int, str]:
        """Open *path* and return the descriptor and the path with its links resolved.

        Raises: WorkspaceError for an escape or a loop, OSError for everything else.
        """
        # Another process may swap links for files as fast as we look, so the tries are limited.
        for _ in range(MAX_RACES):
            with self.locate(path) as place:
                try:
                    return os.open(place.name, flags | _ALWAYS, dir_fd=place.fd), place.path
                except OSError as error:
                    # It has become a link since the walk.
                    is_link = read_link(place.name, place.fd) is not None
                    if error.errno not in {errno.ELOOP, errno.EMLINK} or not is_link:
                        raise
        raise _loop(path)

    def locate(
        self, path: str, *, follow: bool = True, new_folders: NewFolders | None = None
    ) -> "Place":
        """Open the directory that holds *path*; with *follow*, what a final link points to.

        With *new_folders*, missing directories are created, and their paths appended to it.
        """
        return Place(self, path, follow=follow, folders=new_folders).arrive()

    def relative(self, path: str, *, literal: bool = False) -> str:
        """Return *path* relative to the root and tidied; unescaped unless *literal*.

        Raises: WorkspaceError for an absolute path that is not below the root.
        """
        path = tidy_path(self.inside(path) if path.startswith("/") else path)
        return path if literal else unescape_path(path)

    def inside(self, absolute: str) -> str:
        """Return *absolute* relative to the root.

        Raises: WorkspaceError if it is not below the root in any spelling.
        """
        if absolute.startswith(self._prefix):
            return absolute[len(self._prefix) :].lstrip("/") or "."
        # A root reached through a link has several spellings, but one device and inode. The
        # returned path is then opened relative to the root, so a concurrent change has no effect.
        # /proc and /dev contain magic links that depend on the process.
        if not absolute.startswith(("/proc/", "/dev/")):
            for cut, letter in enumerate(f"{absolute}/"):
                if letter == "/" and self._is_root(absolute[:cut]):
                    return absolute[cut:].strip("/") or "."
        raise outside(absolute, self.root)

    def _is_root(self, path: str) -> bool:
        try:
            return os.path.samestat(os.stat(path), os.fstat(self.fd))
        except (OSError, ValueError):
            return False


class Place(contextlib.AbstractContextManager["Place"]):
    """A name in an open directory; *path* is its path below the root, with links resolved.

    `arrive` walks there: *pending* are the remaining components, last first; *trail* the walked
    ones.
    """

    def __init__(
        self, beneath: Beneath, path: str, *, follow: bool, folders: NewFolders | None = None
    ) -> None:
        # The root's descriptor is not ours to close, even if the workspace is closed meanwhile.
        self.fd = self._root_fd = beneath.fd
        self.name = "."
        self._beneath = beneath
        self._path = path
        self._follow = follow
        self._new_folders = folders
        self._pending = _components(path)
        self._trail: list[str] = []
        self._hops = 0

    def close(self, *_error: object) -> None:
        """Close the descriptors opened on the walk; closing twice is fine."""
        self._move(self._root_fd)

    __exit__ = close

    def stat(self) -> os.stat_result:
        """Return the status of the file itself: a link is not followed. Raises OSError."""
        return os.lstat(self.name, dir_fd=self.fd)

    def status(self) -> os.stat_result | None:
        """Return the same, or None if nothing is there."""
        try:
            return self.stat()
        except FileNotFoundError:
            return None

    def arrive(self) -> "Place":
        """Walk to the end; raises as `Beneath.locate` does."""
        try:
            while self._pending:
                self._step(self._pending.pop())
        except BaseException:
            self.close()
            raise
        self.path = "/".join(self._trail) or "."
        return self

    def _step(self, name: str) -> None:
        name = name if name.isascii() else _existing_name(name, self.fd)
        if name == "..":
            self._up()
        elif self._pending:
            self._enter(name)
        elif self._follow and (target := read_link(name, self.fd)) is not None:
            self._follow_link(target)
        else:
            self.name = name
            self._trail.append(name)

    def _enter(self, name: str) -> None:
        try:
            fd = self._directory(name)
        except OSError as error:
            if error.errno not in _PERHAPS_A_LINK:
                raise
            target = read_link(name, self.fd)
            mode = os.lstat(name, dir_fd=self.fd).st_mode if target is None else stat.S_IFLNK
            if not (stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                raise
            # Without a target it was a link a moment ago, and is no link now.
            self._follow_link(target or name)
            return
        self._move(fd)
        self._trail.append(name)

    def _directory(self, name: str) -> int:
        try:
            return os.open(name, DIRECTORY, dir_fd=self.fd)
        except FileNotFoundError:
            if self._new_folders is None:
                raise
        self._make(name, self._new_folders)
        return os.open(name, DIRECTORY, dir_fd=self.fd)

    def _make(self, name: str, new_folders: NewFolders) -> None:
        if is_git_name(name):  # git would read its settings from there
            raise refused(name, IN_GIT)
        path = "/".join([*self._trail, name])
        if new_folders.announce is not None:
            # Before its creation, so that a log has every directory of a killed process.
            new_folders.announce(path)
        # Another process may have created it meanwhile: then it is not ours to remove.
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.fd)
            new_folders.append(path)

    def _up(self) -> None:
        if not self._trail:
            raise outside(self._path, self._beneath.root)
        # ".." of an open directory could have been moved outside; a walk down cannot lead there.
        self._pending.extend(reversed(self._trail[:-1]))
        self._restart()

    def _follow_link(self, target: str) -> None:
        self._hops += 1
        if self._hops > MAX_HOPS:
            raise _loop(self._path)
        if target.startswith("/"):
            try:
                target = self._beneath.inside(target)
            except WorkspaceError:
                raise outside(self._path, self._beneath.root) from None
            self._restart()
        self._pending.extend(_components(target))

    def _restart(self) -> None:
        self._trail.clear()
        self._move(self._beneath.fd)

    def _move(self, fd: int) -> None:
        if self.fd != self._root_fd:
            os.close(self.fd)
        self.fd = fd


def outside(path: str, root: str) -> WorkspaceError:
    """Return the error for a path that leads out of the workspace."""
    return WorkspaceError(
        f"{path!r} is outside the workspace; only files below it can be used", data={"root": root}
    )


def _loop(path: str) -> WorkspaceError:
    return WorkspaceError(f"{path!r} leads through too many links", error_class="symlink_loop")


def _components(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def _existing_name(name: str, dir_fd: int) -> str:
    """Return *name*, or the existing name that equals it in another Unicode normalization."""
    with contextlib.suppress(OSError, ValueError):
        os.lstat(name, dir_fd=dir_fd)
        return name
    from unicodedata import normalize  # few paths need it

    with contextlib.suppress(OSError), closing_file(os.open(".", LISTING, dir_fd=dir_fd)) as fd:
        letters = normalize("NFC", name)
        same = [each for each in os.listdir(fd) if normalize("NFC", each) == letters]
        return min(same, default=name)
    return name


def read_link(name: str, dir_fd: int) -> str | None:
    """Return the target of the symbolic link *name*; None for anything else."""
    try:
        return os.readlink(name, dir_fd=dir_fd)
    except (OSError, ValueError):  # ValueError: a NUL, or a name that cannot be encoded
        return None


def check_regular(raw: str, status: os.stat_result) -> None:
    """Raise WorkspaceError unless *raw* is a regular file."""
    if stat.S_ISREG(status.st_mode):
        return
    path = escape_path(raw)
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"'{path}' is a directory, not a file", error_class="is_a_directory")
    raise WorkspaceError(
        f"'{path}' is a pipe, socket or device, not a file", error_class="not_a_regular_file"
    )
