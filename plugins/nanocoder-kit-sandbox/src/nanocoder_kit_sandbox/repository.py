"""The `.git` that programs inside see: a folder of ours with copies, and the real objects.

A linked worktree has two: the repository's, and in it the worktree's own.

Only files on a list come back from it, all or none: a branch without its index would let the next
commit take files away. Their content starts nothing outside. All else that a program makes or
changes there stays in the sandbox: settings, hooks, a rebase under way.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import ToolError

from nanocoder_kit_sandbox.git_files import (
    FOLDERS,
    HEAD,
    INDEX,
    NEW_FILE,
    Files,
    GitFiles,
    put_file,
    references,
    written_ns,
)
from nanocoder_kit_sandbox.git_folder import LOCK, PACKED, UNDER_WAY, is_hash, read_file
from nanocoder_kit_sandbox.git_takeover import NO_FILE, Takeover
from nanocoder_kit_sandbox.kept_objects import PREFIX, opened_folder
from nanocoder_kit_sandbox.mounts import Mount, read_only, writable

OBJECTS: Final = "objects"
"""The folder of the repository that is the same inside and outside."""
NO_ALTERNATES: Final = "objects/info"
CONFIG: Final = "config"
CONFIG_STAYS: Final = (
    "{} holds only in the sandbox as it was changed there; to change it for good, run the"
    ' git command once with access "outside"'
)
LOCKED: Final = (
    "{} is locked by {}: if no git runs outside, a git that was killed left that file, and the user"
    " can remove it"
)
REFUSED: Final = (
    "{}; so nothing that git did in the sandbox meanwhile is taken over: HEAD, branches and index"
    " are those outside, and your files stay as they are; look at `git status`, then add and commit"
    " again"
)
MADE: Final = (
    "; made in the sandbox: {}; `git commit -C ID` takes a message over, `git branch NAME ID` keeps"
    " such a commit"
)
MAX_MADE: Final = 10
BISECT: Final = "BISECT_START"
HELD: Final = (
    ".git: a rebase or bisect is under way in the sandbox alone, and until it has ended the HEAD,"
    " branches and index outside stay as they were: finish or abort it in this session"
)
REFERENCES: Final = "references"


class InnerRepository:
    """The *stores* of a *workspace* as programs inside have them, in *folder*.

    *is_idle* is True if nothing runs inside. Methods may be called from any thread.
    """

    def __init__(
        self, stores: tuple[str, ...], folder: Path, workspace: str, is_idle: Callable[[], bool]
    ) -> None:
        inside = tuple(f"{folder}/{at}" for at in range(len(stores)))
        self.stores = stores
        self._folders = dict(zip(stores, inside, strict=True))
        self._outside, self._inside = GitFiles(stores), GitFiles(inside)
        self._folder, self._workspace, self._is_idle = folder, workspace, is_idle
        self._base: Files = {}  # what both sides had at the last exchange
        self._others: dict[str, bytes] = {}
        self._config: bytes | None = None
        self._is_held = False
        self._denied: frozenset[str] = frozenset()
        self._guard = threading.Lock()

    def mounts(self, denied: frozenset[str]) -> list[Mount]:
        """Make the copies, and return what is to be seen at `.git`; raises OSError.

        *denied* are the paths of the workspace that cannot be changed inside.
        """
        with self._guard:
            self._denied = denied
            for inside in self._folders.values():
                os.makedirs(inside, exist_ok=True)
            if not self._base:
                list(self._exchange())
            return [mount for store in self._folders for mount in self._mounts_of(store)]

    def bring_back(self) -> list[str]:
        """Exchange what git did on both sides, and return what was not taken over."""
        with self._guard:
            problems = [*self._exchange()]
            store, inside = next(iter(self._folders.items()))
            config = _read(f"{inside}/{CONFIG}")
            if config not in {self._others.get(f"{store}/{CONFIG}"), self._config}:
                path = f"{store}/{CONFIG}".removeprefix(f"{self._workspace}/")
                problems.append(CONFIG_STAYS.format(path))
            self._config = config
            return problems

    def _mounts_of(self, store: str) -> Iterator[Mount]:
        inside = self._folders[store]
        yield writable(inside, store)
        for entry in sorted(os.scandir(store), key=lambda entry: entry.name):
            # A link could show what is hidden elsewhere.
            if entry.is_symlink() or entry.name.startswith(PREFIX):
                continue
            if not entry.is_dir():
                if not self._outside.has(entry.path) and not entry.name.endswith(LOCK):
                    self._copy_other(store, entry.name)
                continue
            with opened_folder(inside, entry.name):
                pass
            if entry.name == OBJECTS:
                yield writable(entry.path)
                os.makedirs(info := f"{store}/{NO_ALTERNATES}", exist_ok=True)
                yield read_only(info)
            elif entry.name not in FOLDERS and os.listdir(entry.path):  # a mount takes time
                yield read_only(entry.path)

    def _copy_other(self, store: str, name: str) -> None:
        """Copy a file that never comes back, where it changed outside."""
        path = f"{store}/{name}"
        content = _read(path)
        if content is not None and content != self._others.get(path):
            put_file(self._folders[store], name, content, written_ns(path))
            self._others[path] = content

    def _is_under_way(self) -> bool:
        """Tell whether git began work in several steps inside, and not outside."""
        for name in (*UNDER_WAY, BISECT):
            path = self._inside.path(name)
            if os.path.lexists(path) and not os.path.lexists(self._outside.path(name)):
                with suppress(OSError):  # where a person's has ended, the place of its mount
                    os.rmdir(path)
                if os.path.lexists(path):
                    return True
        return False

    def _is_at_work(self) -> bool:
        """Return True while a git inside has the index: its branch may not fit it."""
        lock = f"{self._inside.path(INDEX)}{LOCK}"
        if not os.path.lexists(lock):
            return False
        if not self._is_idle():
            return True
        with suppress(OSError):  # a git that was killed left it
            os.unlink(lock)
        return False

    def _exchange(self) -> Iterator[str]:
        """Take over what changed inside, and copy in what is outside then; yield problems."""
        was_held, self._is_held = self._is_held, self._is_under_way()
        if self._is_held:
            # Outside, nothing could go on with it, or take it back.
            yield from () if was_held else (HELD,)
            return
        for folder in self._folders.values():
            if os.stat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(folder, stat.S_IRWXU)
        outside, inside = self._outside.read(), self._inside.read()
        if outside == self._base == inside and not self._inside.problem:
            return
        if self._is_at_work() or self._inside.read() is not inside:
            return  # a later look comes
        if problem := self._take_over(inside):
            text = REFUSED.format(problem) + _name_commits(self._base, inside)
            yield text.replace(f"{self._workspace}/", "")
        self._copy_in(inside)

    def _copy_in(self, inside: Files) -> None:
        """Let the files inside be those outside; where a git inside begins meanwhile, later."""
        if self._inside.problem:
            for folder in self._folders.values():
                for path in (f"{folder}/{name}" for name in (*FOLDERS, PACKED)):
                    with suppress(OSError):  # what is in it may be too much to be removed
                        os.rename(path, f"{path}.{time.monotonic_ns()}")
            inside = self._inside.read()
        outside = self._outside.read()
        names = {name for name in {*inside, *outside} if inside.get(name) != outside.get(name)}
        with suppress(FileExistsError):
            if names:
                self._write_inside(names, inside, outside)
                names = set()
        pending = {name: self._base[name] for name in names & self._base.keys()}
        self._base = {name: outside[name] for name in outside.keys() - names} | pending

    def _write_inside(self, names: set[str], inside: Files, outside: Files) -> None:
        """Write files inside; raises FileExistsError, before, while a git inside is at work."""
        lock = f"{self._inside.path(INDEX)}{LOCK}"
        os.close(os.open(lock, NEW_FILE, 0o644))
        try:
            if self._inside.read() is not inside:
                raise FileExistsError(lock)
            for name in sorted(names, key=lambda name: name in outside):
                time_ns = written_ns(self._outside.path(name))
                put_file(self._inside.folder(name), name, outside.get(name), time_ns)
        finally:
            Path(lock).unlink(missing_ok=True)

    def _take_over(self, inside: Files) -> str:
        """Write what changed inside to the repository; return why all of that is refused, or ""."""
        if self._inside.problem:
            return f"{self._outside.path(self._inside.problem)} {NO_FILE}"
        takeover = Takeover(self._outside, self._inside, self._base, inside, self._workspace)
        try:
            return takeover.check(self._denied) or takeover.write(self._folder / REFERENCES)
        except FileExistsError as error:
            lock = str(error.filename)
            return LOCKED.format(lock.removesuffix(LOCK), lock)
        except OSError as error:
            return f"{error.filename} cannot be written: {error.strerror or error}"
        except ToolError as error:
            return str(error)


def _name_commits(base: Files, inside: Files) -> str:
    """Return the sentence that names the commits made inside, "" without any."""
    after, before = (
        {**references(each), HEAD: each.get(HEAD, b"").strip()} for each in (inside, base)
    )
    changes = sorted(after.items() - before.items())
    commits = [f"{value.decode()} ({name})" for name, value in changes if is_hash(value)]
    return MADE.format(", ".join(commits[:MAX_MADE])) if commits else ""


def _read(path: str) -> bytes | None:
    """Return the content of a file; None when it is missing, too large, or no regular file."""
    try:  # many files before each command, for which `suppress` takes as long as the rest
        return read_file(path)
    except OSError:
        return None
