"""A second name for each object of a repository, so that no command inside takes one away.

Git never changes an object, and inside nothing can change what has only rights to be read; but a
program there may remove files, or put others in their place. Each that is gone is put back.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from nanocoder_files import closing_file

from nanocoder_kit_sandbox.unchanged import Unchanged

PREFIX: Final = "nanocoder-objects-"
"""How the names of folders in `.git` begin that hold the second names."""
_FOLDERS: Final = re.compile(r"pack|[0-9a-f]{2}")
_OBJECT: Final = re.compile(r"[0-9a-f]{38,62}|pack-[0-9a-f]+\.\w+")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Objects = dict[str, int]
"""The files of one folder, by name, with their numbers in the file system."""


class KeptObjects:
    """The objects of a repository for the session whose lease is called *name*."""

    def __init__(self, name: str) -> None:
        self._name, self._objects, self._kept = name, "", ""
        self._known: dict[str, Objects] = {}
        self._folders = Unchanged(_listed)

    def keep(self, git: str) -> None:
        """Give each object of *git* that is new a second name, where the file system has such."""
        if self._objects != f"{git}/objects":
            self.close()
            self._objects, self._kept = f"{git}/objects", f"{git}/{PREFIX}{self._name}"
        if not os.path.isdir(self._kept):
            self._known = {}
        for folder in filter(_FOLDERS.fullmatch, _names(self._objects)):
            try:  # `suppress` takes as long as the rest
                now = self._folders.of(f"{self._objects}/{folder}")
                if now != self._known.get(folder):
                    self._keep(folder, now)
            except OSError:  # gone, or no folder
                continue

    def _keep(self, folder: str, now: Objects) -> None:
        before = self._known.setdefault(folder, {})
        with _opened(self._kept, folder) as copies, _opened(self._objects, folder) as ours:
            for name in now.keys() - before.keys():
                _link(name, ours, copies)
        before.update(now)

    def put_back(self) -> int:
        """Put back what was kept and is no longer there; return how many objects."""
        return sum(self._put_back(folder, objects) for folder, objects in self._known.items())

    def close(self) -> None:
        """Remove the second names."""
        shutil.rmtree(self._kept, ignore_errors=True)

    def _put_back(self, folder: str, objects: Objects) -> int:
        path = f"{self._objects}/{folder}"
        if os.path.islink(path):
            os.unlink(path)
        try:
            now = self._folders.of(path)
        except OSError:
            now = {}
        lost = [name for name, number in objects.items() if now.get(name) != number]
        if not lost:
            return 0
        with _opened(self._objects, folder) as ours, _opened(self._kept, folder) as copies:
            for name in lost:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=ours)
                _link(name, copies, ours)
        return len(lost)


def put_back_of_killed(git: str, is_gone: Callable[[str], bool]) -> None:
    """Put back and forget what sessions have kept of which *is_gone* says so, by their leases."""
    for entry in _names(git):
        name, copies = entry.removeprefix(PREFIX), f"{git}/{entry}"
        if name == entry or not is_gone(name):
            continue
        for folder in filter(_FOLDERS.fullmatch, _names(copies)):
            with suppress(OSError):  # it is no folder
                _put_all(folder, copies, f"{git}/objects")
        shutil.rmtree(copies, ignore_errors=True)


def _put_all(folder: str, copies: str, objects: str) -> None:
    with _opened(copies, folder) as theirs, _opened(objects, folder) as ours:
        for each in filter(_OBJECT.fullmatch, os.listdir(theirs)):
            _link(each, theirs, ours)  # where there is none of that name


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


@contextmanager
def _opened(top: str, folder: str) -> Iterator[int]:
    """Open a folder in *top*, made where it is missing, and no link that leads elsewhere."""
    os.makedirs(f"{top}/{folder}", exist_ok=True)
    outer = os.open(top, _FOLDER)
    with closing_file(outer), closing_file(os.open(folder, _FOLDER, dir_fd=outer)) as descriptor:
        yield descriptor


def _listed(path: str) -> Objects:
    # Before each command, for up to 257 folders: context managers take longer than the rest.
    top, _, folder = path.rpartition("/")
    outer = os.open(top, _FOLDER)
    try:
        descriptor = os.open(folder, _FOLDER, dir_fd=outer)
    finally:
        os.close(outer)
    try:
        with os.scandir(descriptor) as entries:
            return {
                entry.name: entry.inode()
                for entry in entries
                if _OBJECT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            }
    finally:
        os.close(descriptor)


def _link(name: str, source: int, target: int) -> None:
    with suppress(OSError):  # the file system has no second names
        os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
