"""The takeover of git's changes in a sandbox into the repository outside: all, or none."""

import errno
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder_kit_process.git import entries_of

from nanocoder_kit_sandbox.git_files import (
    HEAD,
    INDEX,
    LOGS,
    NEW_FILE,
    REFS,
    SYMBOLIC,
    Files,
    GitFiles,
    references,
    written_ns,
)
from nanocoder_kit_sandbox.git_folder import LOCK, PACKED, SHALLOW, problem_of
from nanocoder_kit_sandbox.git_transaction import Transaction

NO_FILE: Final = "is no file that git makes"
CONTESTED: Final = "{} changed outside, too"
LOCK_S: Final = 2.0
"""The time to wait for a file that a git has locked."""
POLL_S: Final = 0.02
_TOGETHER: Final = (HEAD, INDEX, "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
"""Files that, with the branch, make the next commit."""


class Takeover:
    """The changes inside from *base*, which both sides had, to *new*, for the side outside."""

    def __init__(
        self, outside: GitFiles, inside: GitFiles, base: Files, new: Files, workspace: str
    ) -> None:
        self._outside, self._inside, self._workspace = outside, inside, workspace
        self._base, self._new = base, new
        now = outside.read()
        self._changed = {
            name
            for name in {*base, *self._new}
            if self._new.get(name) not in (base.get(name), now.get(name))
        }
        # Where history ends, it may go on ending outside; but no more of it may be cut off.
        ends, own = ({*files.get(SHALLOW, b"").split()} for files in (new, now))
        if ends <= own:
            self._changed.discard(SHALLOW)
        self._held: dict[str, str] = {}

    def check(self, denied: frozenset[str]) -> str:
        """Return the harm that a changed file may do, or "".

        *denied* are the paths of the workspace that cannot be changed inside.
        """
        own = self._outside.read()
        if self._changed and self._outside.problem:  # a link of a stranger's could lead anywhere
            return f"{self._outside.path(self._outside.problem)} {NO_FILE}"
        for name in sorted(self._changed):
            content = self._new.get(name)
            problem = ""
            if not content and name in (HEAD, INDEX):
                problem = "is no file any more"
            elif content is not None and not name.startswith(LOGS):
                # A reference holds what HEAD may hold.
                kind = HEAD if name.startswith(REFS) else name
                earlier = own.get(name, b"")
                problem = problem_of(kind, content, earlier, self._workspace, denied)
            if problem:
                return f"{self._outside.path(name)} {problem}"
        return ""

    def write(self, folder: Path) -> str:
        """Write the changes, by the *folder* of a `Transaction`; return what forbids it, or "".

        Raises: FileExistsError for a lock that stays, OSError and ToolError where it fails.
        """
        if not self._changed:
            return ""
        files = {name for name in self._changed if not name.startswith((REFS, LOGS, PACKED))}
        try:
            for name in sorted({INDEX, *files}):
                if name == INDEX or name in self._new:
                    self._lock(name, self._new.get(name, b""))
            # With the lock of its index no other git adds, commits or switches.
            now = self._outside.read()
            before, new, there = map(references, (self._base, self._new, now))
            ours = {
                name: new.get(name)
                for name in {*before, *new}
                if new.get(name) not in (before.get(name), there.get(name))
            }
            theirs = {name for name in {*before, *there} if before.get(name) != there.get(name)}
            if contested := self._contested(files, {*ours}, theirs, now):
                return CONTESTED.format(self._outside.path(contested))
            store = os.path.dirname(self._outside.path(PACKED))
            head = self._new[HEAD].strip() if HEAD in files else b""
            transaction = Transaction(store, folder, Path(self._workspace), there, ours, head)
            if problem := transaction.check():
                return problem
            for name, value in transaction.symbolic.items():
                os.makedirs(os.path.dirname(self._outside.path(name)), exist_ok=True)
                self._lock(name, value + b"\n")
            transaction.commit()
            for name in transaction.symbolic:
                self._finish(name)
            self._write_logs(now, {*before, *new, HEAD})
            # As a commit does it; until then the lock of the index keeps others from one.
            for name in sorted(files, key=lambda name: (name == INDEX, name == HEAD)):
                self._finish(name)
            return ""
        finally:
            for lock in self._held.values():
                with suppress(OSError):
                    os.unlink(lock)

    def _contested(self, files: set[str], ours: set[str], theirs: set[str], now: Files) -> str:
        """Return a name that changed on both sides, or "": the next commit is made of several.

        Where git only noted the times of files anew in an index, that has not changed.
        """
        theirs = theirs | {name for name in _TOGETHER if now.get(name) != self._base.get(name)}
        if INDEX in theirs and self._names_same_files(now):
            theirs.remove(INDEX)
        heads = (each.get(HEAD, b"") for each in (self._base, self._new, now))
        branches = (os.fsdecode(head.removeprefix(SYMBOLIC).strip()) for head in heads)
        together = {*_TOGETHER, *branches}
        if theirs & together and INDEX in files and self._names_same_files(self._new):
            files.remove(INDEX)
        ours = ours | files
        contested = (ours & theirs) | (theirs & together if ours & together else set())
        return min(contested, default="")

    def _names_same_files(self, files: Files) -> bool:
        """Return True if an index names the same files and contents as that in *base*."""
        try:
            return entries_of(files.get(INDEX, b"")) == entries_of(self._base.get(INDEX, b""))
        except ValueError:
            return False

    def _lock(self, name: str, content: bytes) -> None:
        """Write *content* to git's lock for a file, which `_finish` renames; raises OSError."""
        path, until = self._outside.path(name), time.monotonic() + LOCK_S
        lock = f"{path}{LOCK}"
        while True:
            try:
                descriptor = os.open(lock, NEW_FILE, 0o644)
                break
            except FileExistsError:
                if time.monotonic() > until:
                    raise
                time.sleep(POLL_S)
        self._held[name] = lock
        with open(descriptor, "wb") as file:
            file.write(content)
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        with suppress(FileNotFoundError):
            shutil.copymode(path, lock)
        copied_ns = written_ns(self._inside.path(name))
        os.utime(lock, ns=(copied_ns, copied_ns))

    def _finish(self, name: str) -> None:
        """Put a lock in the place of its file; without one, remove the file. Raises: OSError."""
        if name in self._held:
            os.replace(self._held[name], self._outside.path(name))
            del self._held[name]
        else:
            Path(self._outside.path(name)).unlink(missing_ok=True)

    def _write_logs(self, now: Files, names: set[str]) -> None:
        """Write the logs of the references *names* that have not changed outside."""
        for name in sorted(self._changed, key=lambda name: name in self._new):
            is_known = name.startswith(LOGS) and name.removeprefix(LOGS) in names
            if not is_known or now.get(name) != self._base.get(name):
                continue
            path, content = self._outside.path(name), self._new.get(name)
            with suppress(OSError):  # nothing depends on them
                if content is None:
                    os.unlink(path)
                    os.removedirs(os.path.dirname(path))
                else:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    self._lock(name, content)
                    self._finish(name)
