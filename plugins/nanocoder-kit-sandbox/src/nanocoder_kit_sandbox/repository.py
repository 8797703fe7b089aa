"""The `.git` that programs inside see: a folder of ours with copies, and the real objects and refs.

A linked worktree has two: the repository's, and in it the worktree's own.

Only files on a list come back from it, and only with content that starts nothing outside. All else
that a program makes or changes there stays in the sandbox: settings, hooks, a rebase under way.
"""

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_kit_sandbox.git_folder import (
    LOCK,
    OF_CHECKOUT,
    OF_REPOSITORY,
    UNDER_WAY,
    problem_of,
    read_file,
)
from nanocoder_kit_sandbox.kept_objects import PREFIX
from nanocoder_kit_sandbox.mounts import Mount, read_only, writable

LOGS: Final = "logs"
OBJECTS: Final = "objects"
SHARED: Final = (OBJECTS, "refs", LOGS)
"""Folders of the repository that are the same inside and outside."""
NO_ALTERNATES: Final = "objects/info"
CONFIG: Final = "config"
CONFIG_STAYS: Final = (
    "{} holds only in the sandbox as it was changed there; to change it for good, run the"
    ' git command once with access "outside"'
)
INDEX: Final = "index"
CHANGED: Final = "changed outside, too, and stays as it is there"
LACKING: Final = (
    "; a commit that the sandbox made meanwhile takes out what was committed outside: look at"
    " `git status`, add what is missing, and commit again"
)
LOCK_S: Final = 2.0
LOCK_NS: Final = int(LOCK_S * 1e9)
"""The time to wait for a file that a git outside has locked."""
LOCKED: Final = (
    "is locked by {}, and stays as it is there: if no git runs outside, a git that was killed left"
    " that file, and the user can remove it"
)
_POLL_S: Final = 0.02
BISECT: Final = "BISECT_START"
HELD: Final = (
    ".git: a rebase or bisect is under way in the sandbox alone, and until it has ended the HEAD"
    " and index outside stay as they were: finish or abort it in this session"
)
_ALWAYS: Final = ("HEAD", INDEX, "packed-refs")
"""Files whose removal does not come back."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class InnerRepository:
    """One of the *stores* of a *workspace* as programs inside have it, in *inside*.

    Methods may be called from any thread.
    """

    def __init__(self, stores: tuple[str, ...], store: str, inside: Path, workspace: str) -> None:
        self._outside, self._inside, self._workspace = Path(store), inside, workspace
        # Other checkouts of the repository have files of their own there.
        self._returning = (
            *(OF_REPOSITORY if store == stores[0] else ()),
            *(OF_CHECKOUT if store == stores[-1] else ()),
        )
        self._base: dict[str, bytes | None] = {}  # what both sides had at the last exchange
        self._times = inside.with_suffix(".times")  # of the same files, for who recovers them
        self._config: bytes | None = None
        self._is_held = False
        self._locks: set[str] = set()
        self._links = {path for path, _, _ in self._special_files()}
        self._denied: frozenset[str] = frozenset()
        self._guard = threading.Lock()
        inside.mkdir(parents=True, exist_ok=True)

    def mounts(self, denied: frozenset[str]) -> list[Mount]:
        """Bring the copies up to date, and return what is to be seen at `.git`; raises OSError.

        *denied* are the paths of the workspace that cannot be changed inside.
        """
        with self._guard:
            self._denied = denied
            list(self._exchange())
            self._copy_locks()
            (self._outside / LOGS).mkdir(exist_ok=True)  # a new repository has none yet
            mounts = [writable(self._inside, self._outside)]
            for entry in sorted(os.scandir(self._outside), key=lambda entry: entry.name):
                # A link could show what is hidden elsewhere.
                if entry.is_symlink() or entry.name.startswith(PREFIX):
                    continue
                if entry.is_dir():
                    mounts += self._mounts_of(entry)
                elif entry.name not in self._returning and not entry.name.endswith(LOCK):
                    self._copy_in(entry.name)
            return mounts

    def bring_back(self) -> list[str]:
        """Take over what programs inside did with git, and return what was not taken over."""
        with self._guard:
            problems = [*self._exchange(), *self._remove_links()]
            config = _read(self._inside / CONFIG)
            if config not in {self._base.get(CONFIG), self._config}:
                problems.append(CONFIG_STAYS.format(self._named(CONFIG)))
            self._config = config
            return problems

    def recover(self) -> list[str]:
        """Take over what a session that was killed had not, and return what was not taken over.

        Nothing is taken over if something outside has changed since its last exchange.
        """
        with suppress(OSError, ValueError):  # nothing was exchanged, or it was killed meanwhile
            if json.loads(self._times.read_bytes()) == self._outer_times():
                self._base = {name: _read(self._outside / name) for name in self._returning}
                return [*self._exchange()]
        return []

    def _mounts_of(self, entry: "os.DirEntry[str]") -> list[Mount]:
        copy = self._inside / entry.name
        if copy.is_symlink() or not copy.is_dir():
            copy.unlink(missing_ok=True)
            copy.mkdir()
        if entry.name in SHARED:
            shared = [writable(entry.path)]
            if entry.name == OBJECTS:
                (info := self._outside / NO_ALTERNATES).mkdir(exist_ok=True)
                shared.append(read_only(info))
            return shared
        if not os.listdir(entry.path):  # a mount takes time
            return []
        return [read_only(entry.path, self._outside / entry.name)]

    def _copy_in(self, name: str) -> None:
        """Copy a file that never comes back, where it changed outside."""
        with suppress(OSError):  # it is no regular file
            content = read_file(self._outside / name)
            if content != self._base.get(name):
                _put(self._inside / name, content)
                self._base[name] = content

    def _copy_locks(self) -> None:
        """Show git inside the locks that stay: what it begins under them could not come back.

        An editor's git outside is done in a moment, and is waited for.
        """
        for lock in (f"{name}{LOCK}" for name in _ALWAYS if name in self._returning):
            while (made_ns := _written_ns(self._outside / lock)) > time.time_ns() - LOCK_NS:
                time.sleep(_POLL_S)
            stays = made_ns >= 0
            if stays and lock not in self._locks:
                with suppress(FileExistsError):
                    os.close(os.open(self._inside / lock, _NEW, 0o644))
                    self._locks.add(lock)
            elif lock in self._locks and not stays:
                (self._inside / lock).unlink(missing_ok=True)
                self._locks.remove(lock)

    def _exchange(self) -> Iterator[str]:
        """Copy each file that comes back to the side that has the older one; yield problems."""
        was_held, self._is_held = self._is_held, self._is_under_way()
        if self._is_held:
            # Outside, nothing could go on with it, or take it back.
            yield from () if was_held else (HELD,)
            return
        tops = str(self._outside), str(self._inside)  # two paths for each name take long to make
        earlier = dict(self._base)
        for name in self._returning:
            outside, inside = (_read(f"{top}/{name}") for top in tops)
            before = self._base.get(name)
            problem = ""
            if inside not in {before, outside}:
                if outside == before:
                    problem = self._take_over(name, inside, outside)
                else:
                    problem = CHANGED + (LACKING if name == INDEX else "")
                outside = outside if problem else inside
            if inside != outside:
                _put(self._inside / name, outside)
                _copy_time(f"{tops[0]}/{name}", f"{tops[1]}/{name}")
            self._base[name] = outside
            if problem:
                yield f"{self._named(name)} {problem}"
        if self._base != earlier:
            self._times.write_text(json.dumps(self._outer_times()), encoding="ascii")

    def _outer_times(self) -> dict[str, int]:
        return {name: _written_ns(self._outside / name) for name in self._returning}

    def _is_under_way(self) -> bool:
        """Tell whether git began work in several steps inside, and not outside."""
        for name in (*UNDER_WAY, BISECT):
            path = f"{self._inside}/{name}"
            if os.path.lexists(path) and not os.path.lexists(f"{self._outside}/{name}"):
                with suppress(OSError):  # where a person's has ended, the place of its mount
                    os.rmdir(path)
                if os.path.lexists(path):
                    return True
        return False

    def _take_over(self, name: str, inside: bytes | None, outside: bytes | None) -> str:
        """Replace a file outside by that from inside; return why that was refused, or ""."""
        path = self._outside / name
        if inside is None and name in _ALWAYS:
            return "is no file any more"
        if inside is None:
            path.unlink(missing_ok=True)
            return ""
        problem = problem_of(name, inside, outside or b"", self._workspace, self._denied)
        return problem or self._replace_locked(name, inside)

    def _replace_locked(self, name: str, content: bytes) -> str:
        """Replace a file as git does, under its lock; return why that was not possible, or ""."""
        path, lock = self._outside / name, self._outside / f"{name}{LOCK}"
        until = time.monotonic() + LOCK_S
        while True:
            try:
                with open(os.open(lock, _NEW, 0o644), "wb") as file:
                    file.write(content)
                with suppress(FileNotFoundError):
                    shutil.copymode(path, lock)
                _copy_time(self._inside / name, lock)
                lock.replace(path)
            except FileExistsError:
                if time.monotonic() > until:
                    return LOCKED.format(self._named(f"{name}{LOCK}"))
                time.sleep(_POLL_S)
            except OSError as error:
                with suppress(OSError):  # the lock is ours, and a full disk keeps none from going
                    lock.unlink()
                return f"cannot be written: {error.strerror or error}"
            else:
                return ""

    def _remove_links(self) -> Iterator[str]:
        """Remove links in refs and logs: git outside would write to where they lead."""
        for path, name, folder in self._special_files():
            if path not in self._links:
                os.unlink(name, dir_fd=folder)
                yield f"{self._named(path)} was no file and is removed"

    def _named(self, name: str) -> str:
        """Return a file's name for people: relative to the workspace if it is inside."""
        return os.path.join(self._outside, name).removeprefix(f"{self._workspace}/")

    def _special_files(self) -> Iterator[tuple[str, str, int]]:
        """Yield path, name and directory descriptor of each entry that is no file or directory."""
        for shared in SHARED[1:]:
            if (top := self._outside / shared).is_symlink() or not top.is_dir():
                continue
            for folder, folders, files, descriptor in os.fwalk(top):
                for name in (*folders, *files):
                    with suppress(FileNotFoundError):
                        mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
                        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                            yield f"{folder}/{name}", name, descriptor


def inner_repositories(
    stores: tuple[str, ...], folder: Path, workspace: str
) -> list[InnerRepository]:
    """Return the *stores* of a *workspace* as programs inside have them, in *folder*."""
    pairs = enumerate(stores)
    return [InnerRepository(stores, each, folder / str(at), workspace) for at, each in pairs]


def _read(path: Path | str) -> bytes | None:
    """Return the content of a file; None when it is missing, too large, or no regular file."""
    try:  # many files before each command, for which `suppress` takes as long as the rest
        return read_file(path)
    except OSError:
        return None


def _copy_time(source: Path | str, target: Path | str) -> None:
    """Give a copy the time of its source: by that of its index, git sees what may have changed."""
    with suppress(OSError):  # it is removed
        os.utime(target, ns=(_written_ns(source),) * 2, follow_symlinks=False)


def _written_ns(path: Path | str) -> int:
    """Return the time at which a file was written, -1 if it is missing."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return -1


def _put(path: Path, content: bytes | None) -> None:
    """Make a file in our folder hold *content*, whatever is there; None removes it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if content is not None:
        with open(os.open(path, _NEW, 0o644), "wb") as file:
            file.write(content)
