"""A second name for each object of a repository, so that no command inside takes one away.

Git never changes an object, and inside nothing can change what has only rights to be read; but a
program there may remove files, or put others in their place. Each that is gone is put back.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from nanocoder_files import closing_file
from nanocoder_kit_process.trees import remove_tree

from nanocoder_kit_sandbox.unchanged import Unchanged

PREFIX: Final = "nanocoder-objects-"
"""The prefix of directories in `.git` that hold the second names."""
_FOLDERS: Final = re.compile(r"pack|[0-9a-f]{2}")
_PACKS: Final = "pack"
_OBJECT: Final = re.compile(r"[0-9a-f]{38,62}|pack-[0-9a-f]+\.(?!bitmap$|rev$)\w+")
_DERIVED: Final = re.compile(r"multi-pack-index(?!\.lock$).*|pack-[0-9a-f]+\.(bitmap|rev)")
"""Files that git computes from packs, and then trusts in place of them; it can do without."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Objects = dict[str, int]
"""The files of one folder, by name, with their numbers in the file system."""


class KeptObjects:
    """The objects of a repository for the session whose lease is called *name*."""

    def __init__(self, name: str) -> None:
        self._name, self._objects, self._copies = name, "", ""
        self._is_whole = True
        self._derived: dict[str, tuple[int, ...]] = {}
        self._known: dict[str, Objects] = {}
        self._folders = Unchanged(_listed)

    def keep(self, git: str) -> None:
        """Give each object of *git* that is new a second name, where the file system has such."""
        if self._objects != f"{git}/objects":
            self.close()
            self._objects, self._copies = f"{git}/objects", f"{git}/{PREFIX}{self._name}"
            self._derived = dict(self._derived_now())
        if not os.path.isdir(self._copies):
            self._known = {}
        for folder in _folders_in(self._objects):
            try:  # `suppress` takes as long as the rest
                now = self._folders.of(f"{self._objects}/{folder}")
                if now != self._known.get(folder):
                    self._keep(folder, now)
            except OSError:  # gone, or no folder
                continue

    def _keep(self, folder: str, now: Objects) -> None:
        before = self._known.setdefault(folder, {})
        with (
            opened_folder(self._copies, folder) as copies,
            opened_folder(self._objects, folder) as ours,
        ):
            for name in now.keys() - before.keys():
                _link(name, ours, copies)
        before.update(now)

    def put_back(self) -> int:
        """Put back the kept objects that are missing; return their number.

        Files derived from packs that are new or changed since the session began are removed.
        One that cannot be put back keeps none of the others from it. Raises: OSError.
        """
        count, problem = 0, None
        for folder, objects in self._known.items():
            try:
                count += self._put_back(folder, objects)
            except OSError as error:
                problem = problem or error
        try:
            self._remove_derived()
        except OSError as error:
            problem = problem or error
        self._is_whole = problem is None
        if problem is not None:
            raise problem
        return count

    def put_back_of_killed(self, git: str, is_of_living: Callable[[str], bool]) -> None:
        """Put back and forget what sessions kept in *git* that have no lease any more."""
        for entry in os.listdir(git):
            name = entry.removeprefix(PREFIX)
            if name == entry or is_of_living(name):
                continue
            # A repository may come from anyone: a link in it could lead out of the workspace.
            if not all(map(_is_folder, (f"{git}/{entry}", f"{git}/objects"))):
                continue
            killed = KeptObjects(name)
            killed._objects, killed._copies = f"{git}/objects", f"{git}/{entry}"
            with suppress(OSError):  # it is no folder
                for folder in _folders_in(killed._copies):
                    killed._known[folder] = _listed(f"{killed._copies}/{folder}")
            with suppress(OSError):  # what cannot be put back now stays for the next session
                killed.put_back()
            killed.close()

    def close(self) -> None:
        """Remove the second names, unless an object has no other that could be put back."""
        if self._is_whole:
            with suppress(OSError):
                remove_tree(self._copies)

    def _derived_now(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name of each derived file, and its state, which differs after a change."""
        packs, names = f"{self._objects}/{_PACKS}", list[str]()
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(packs)
        for name in filter(_DERIVED.fullmatch, names):
            with suppress(FileNotFoundError):
                facts = os.lstat(f"{packs}/{name}")
                yield name, (facts.st_ino, facts.st_ctime_ns, facts.st_size)

    def _remove_derived(self) -> None:
        changed = [name for name, state in self._derived_now() if self._derived.get(name) != state]
        if changed:
            with opened_folder(self._objects, _PACKS) as folder:
                for name in changed:
                    remove(name, folder)

    def _put_back(self, folder: str, objects: Objects) -> int:
        try:
            now = self._folders.of(f"{self._objects}/{folder}")
        except OSError:  # gone, or no folder any more
            now = {}
        lost = [name for name, number in objects.items() if now.get(name) != number]
        if not lost:
            return 0
        with (
            opened_folder(self._objects, folder) as ours,
            opened_folder(self._copies, folder) as copies,
        ):
            for name in lost:
                remove(name, ours)
                with suppress(FileNotFoundError):  # the file system has no second names
                    os.link(name, name, src_dir_fd=copies, dst_dir_fd=ours, follow_symlinks=False)
        return len(lost)


def _folders_in(top: str) -> list[str]:
    """Return the names of the folders of objects in *top*, none where it is missing."""
    try:
        return list(filter(_FOLDERS.fullmatch, os.listdir(top)))
    except OSError:
        return []


@contextmanager
def opened_folder(top: str, path: str) -> Iterator[int]:
    """Open the folder *path* in *top*; each on the way that is no folder is made one.

    No link is followed, whatever a program inside puts in its place meanwhile. Raises: OSError.
    """
    with suppress(FileExistsError):
        os.mkdir(top)
    with ExitStack() as descriptors:
        folder = descriptors.enter_context(closing_file(os.open(top, _FOLDER)))
        for name in filter(None, path.split("/")):
            try:
                os.mkdir(name, dir_fd=folder)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=folder)
                    os.mkdir(name, dir_fd=folder)
            except PermissionError:  # a program inside took our rights
                os.fchmod(folder, stat.S_IRWXU)
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, _FOLDER, dir_fd=folder)
            folder = descriptors.enter_context(closing_file(inner))
        yield folder


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def remove(name: str, folder: int) -> None:
    """Remove *name* from the folder of a descriptor, also a directory."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        remove_tree(name, folder)


def _listed(path: str) -> Objects:
    with closing_file(os.open(path, _FOLDER)) as descriptor, os.scandir(descriptor) as entries:
        return {
            entry.name: entry.inode()
            for entry in entries
            if _OBJECT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        }


def _link(name: str, source: int, target: int) -> None:
    with suppress(OSError):  # the file system has no second names
        os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
