"""The `.git` that programs inside see: a folder of ours with copies, and the real objects and refs.

Only files on a list come back from it, and only with content that starts nothing outside. All else
that a program makes or changes there stays in the sandbox: settings, hooks, a rebase under way.
"""

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from nanocoder_kit_git import Entry, problem_of_index

from nanocoder_kit_sandbox.mounts import Mount, read_only, writable

LOGS: Final = "logs"
SHARED: Final = ("objects", "refs", LOGS)
"""Folders of the repository that are the same inside and outside."""
NO_ALTERNATES: Final = "objects/info"
CONFIG: Final = "config"
INDEX: Final = "index"
MAX_FILE_BYTES: Final = 256 << 20
LOCK: Final = ".lock"
"""The end of the name by which git locks a file."""
LOCK_S: Final = 2.0
"""How long is waited for a git outside that has locked a file."""
_POLL_S: Final = 0.02
_HASH: Final = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_HASHES: Final = re.compile(rb"(?:" + _HASH + rb"\n?)*")
_HEAD: Final = re.compile(rb"(?:ref: refs/[!-~\x80-\xff]+|" + _HASH + rb")\n?")
_REFERENCES: Final = re.compile(rb"(?:#[^\n]*\n|\^?" + _HASH + rb"(?: refs/[!-~\x80-\xff]+)?\n)*")
_ANY: Final = re.compile(rb"[^\0]*")
CHECKED: Final = {
    "HEAD": _HEAD,
    INDEX: None,
    "packed-refs": _REFERENCES,
    **dict.fromkeys(("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"), _HASHES),
    **dict.fromkeys(("AUTO_MERGE", "shallow"), _HASHES),
    **dict.fromkeys(("FETCH_HEAD", "MERGE_MODE"), _ANY),
    **dict.fromkeys(("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG"), _ANY),
}
"""The files that come back, each with the pattern of its content; an index is read instead."""
_ALWAYS: Final = frozenset(("HEAD", INDEX, "packed-refs"))
"""Files whose removal does not come back."""

Stamp = tuple[int, int, int, int] | None


class _Known(NamedTuple):
    """The two files of one name as they were when both were the same."""

    outside: Stamp
    inside: Stamp


class InnerRepository:
    """The repository at *outside* (`.git` of a workspace) as programs inside have it, in *inside*.

    Methods may be called from any thread.
    """

    def __init__(self, outside: Path, inside: Path) -> None:
        self._outside = outside
        self._inside = inside
        self._pairs = {name: (outside / name, inside / name) for name in CHECKED}
        self._known: dict[str, _Known] = {}
        self._links = set(self._find_links())
        self._config: bytes | None = None
        self._protected: tuple[str, ...] = ()
        self._guard = threading.Lock()

    def mounts(self, protected: tuple[str, ...]) -> list[Mount]:
        """Bring the copies up to date, and return what is to be seen at `.git`; raises OSError.

        *protected* are the paths in the workspace that cannot be changed inside.
        """
        with self._locked():
            self._protected = protected
            self._exchange()
            (self._outside / LOGS).mkdir(exist_ok=True)  # a new repository has none yet
            mounts = [writable(self._inside, self._outside)]
            for entry in sorted(os.scandir(self._outside), key=lambda entry: entry.name):
                if entry.is_dir():
                    mounts += self._mounts_of(entry)
                elif entry.is_file() and entry.name not in CHECKED and entry.name[-5:] != LOCK:
                    self._copy_in(entry.name)
            (self._outside / NO_ALTERNATES).mkdir(exist_ok=True)
            return [*mounts, read_only(self._outside / NO_ALTERNATES)]

    def bring_back(self) -> list[str]:
        """Take over what programs inside did with git, and return what was not taken over."""
        with self._locked():
            return [*self._exchange(), *self._remove_links(), *self._changed_config()]

    def close(self) -> None:
        """Remove what was made in the repository only to be seen inside."""
        with suppress(OSError):  # it is in use
            (self._outside / LOGS).rmdir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._inside.mkdir(exist_ok=True)
        with self._guard:
            yield

    def _mounts_of(self, entry: "os.DirEntry[str]") -> list[Mount]:
        point = self._inside / entry.name
        if not stat.S_ISDIR(_mode(point)):
            with suppress(FileNotFoundError):
                point.unlink()
            point.mkdir()
        if entry.name in SHARED and not entry.is_symlink():
            return [writable(self._outside / entry.name)]
        if not os.listdir(entry.path):  # a mount takes time
            return []
        return [read_only(os.path.realpath(entry.path), self._outside / entry.name)]

    def _copy_in(self, name: str) -> None:
        """Copy a file that never comes back, where it changed outside."""
        now = _stamp(self._outside / name)
        if name in self._known and self._known[name].outside == now:
            return
        with suppress(OSError):
            content = (self._outside / name).read_bytes()
            _replace(self._inside / name, content)
            self._config = content if name == CONFIG else self._config
        self._known[name] = _Known(now, None)

    def _exchange(self) -> list[str]:
        """Copy each file that comes back to where it is older; return what was refused."""
        return [problem for name in CHECKED if (problem := self._exchange_file(name))]

    def _exchange_file(self, name: str) -> str:
        outside, inside = self._pairs[name]
        before = self._known.get(name)
        now = _Known(_stamp(outside), _stamp(inside))
        if now == before:
            return ""
        problem = ""
        if before is not None and now.outside == before.outside:
            problem = self._take_over(name, outside, inside)
        elif before is not None and now.inside != before.inside and _differ(outside, inside):
            problem = f"{name} changed outside, too, and stays as it is there"
        if problem or before is None or now.outside != before.outside:
            _mirror(outside, inside)
            now = now._replace(inside=_stamp(inside))
        self._known[name] = now._replace(outside=_stamp(outside))
        return f".git/{problem}" if problem else ""

    def _take_over(self, name: str, outside: Path, inside: Path) -> str:
        """Copy a file from inside, and return why that was refused, or ""."""
        content = _read(inside)
        if content is None:
            if name in _ALWAYS or os.path.lexists(inside):
                return f"{name} is no file any more"
            with suppress(FileNotFoundError):
                outside.unlink()
            return ""
        problem = self._problem_of(name, content)
        if problem or content == _read(outside):
            return problem and f"{name} {problem}"
        return _replace_locked(outside, content)

    def _problem_of(self, name: str, content: bytes) -> str:
        pattern = CHECKED[name]
        if pattern is not None:
            return "" if pattern.fullmatch(content) else "is none that git makes"
        return problem_of_index(content, _read(self._outside / name) or b"", self._is_there)

    def _is_there(self, entry: Entry) -> bool:
        """Tell whether the person has the protected file that an index names, as it says."""
        if not any(f"{entry.path}/".startswith(f"{name}/") for name in self._protected):
            return False
        content = _read(self._outside.parent / entry.path)
        if content is None:
            return False
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        return blob.digest() == entry.blob

    def _changed_config(self) -> Iterator[str]:
        content = _read(self._inside / CONFIG)
        if content != self._config:
            self._config = content
            yield ".git/config holds only in the sandbox as it was changed there"

    def _find_links(self) -> Iterator[str]:
        for folder, name, _ in self._special_files():
            yield f"{folder}/{name}"

    def _remove_links(self) -> Iterator[str]:
        """Remove links in refs and logs: git outside would write to where they lead."""
        for folder, name, handle in self._special_files():
            path = f"{folder}/{name}"
            if path not in self._links:
                os.unlink(name, dir_fd=handle)
                yield f".git{path.removeprefix(str(self._outside))} was no file and is removed"

    def _special_files(self) -> Iterator[tuple[str, str, int]]:
        for shared in SHARED[1:]:
            if not stat.S_ISDIR(_mode(self._outside / shared)):
                continue
            for folder, folders, files, handle in os.fwalk(self._outside / shared):
                for name in (*folders, *files):
                    with suppress(FileNotFoundError):
                        mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
                        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                            yield folder, name, handle


def _stamp(path: Path) -> Stamp:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None when it is missing, too large, or no regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        is_fine = stat.S_ISREG(facts.st_mode) and facts.st_size <= MAX_FILE_BYTES
        return file.read() if is_fine else None


def _differ(first: Path, second: Path) -> bool:
    return _read(first) != _read(second)


def _mirror(outside: Path, inside: Path) -> None:
    content = _read(outside)
    if content is not None:
        _replace(inside, content)
        return
    with suppress(FileNotFoundError):
        inside.unlink()


def _replace(path: Path, content: bytes, name: str = ".nanocoder") -> None:
    """Write a file beside *path* and put it there; raises FileExistsError where *name* is taken."""
    beside = path.with_name(f"{path.name}{name}")
    if name != LOCK:
        with suppress(FileNotFoundError):
            beside.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(beside, flags, stat.S_IMODE(_mode(path)) or 0o644), "wb") as file:
        file.write(content)
    beside.replace(path)


def _replace_locked(path: Path, content: bytes) -> str:
    """Replace a file as git does, under its lock; return why that was not possible, or ""."""
    until = time.monotonic() + LOCK_S
    while True:
        try:
            _replace(path, content, LOCK)
        except FileExistsError:
            if time.monotonic() > until:
                return f"{path.name} is locked by a git outside, and stays as it is there"
            time.sleep(_POLL_S)
        except OSError as error:
            return f"{path.name} cannot be written: {error.strerror or error}"
        else:
            return ""
