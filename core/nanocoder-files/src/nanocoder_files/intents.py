"""What one call is about to change: a file on disk with what was there before.

Each intent is one line of JSON with the old content behind it, and is on the disk before the change
is begun. The file is locked while its owner lives, so that what a killed process has left can be
told from the work of one that runs. It is removed when the call has succeeded: that is the moment
from which its changes stay.
"""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen
from nanocoder_schema import Value

from nanocoder_files import held
from nanocoder_files.state import DIRECTORY, State

SUFFIX: Final = ".intents"
MAX_NAME_CHARS: Final = 100
MAX_FIRST_LINE: Final = 65_536
UNDONE: Final = b"-"
"""What the first byte of a line becomes whose change is taken back: that needs no room."""
DAMAGED: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a line raises that is not one of ours."""


@frozen(eq=False, repr=False)
class Intent(Value):
    """A change of *path* from *before* to *after*.

    With a *target* it is a move of what is *after*, and *before* is what was at the target. *at* is
    nanoseconds since the epoch; *line* is where its line begins in the file, and *offset* where the
    old content, *size* bytes, does.
    """

    path: str
    before: State
    after: State
    target: str = ""
    at: int = 0
    line: int = 0
    offset: int = 0
    size: int = 0

    def conflicts_with(self, other: "Intent") -> bool:
        """Tell whether taking back both in any order but one would leave what neither has found.

        Several calls may need one directory, which goes with the last of them.
        """
        shared = self.after.kind == other.after.kind == DIRECTORY and not self.target
        mine, theirs = {self.path, self.target} - {""}, {other.path, other.target} - {""}
        return not shared and not mine.isdisjoint(theirs)


class Intents:
    """The file of one call, open and locked; *intents* are those that are wholly in it."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.about = ""
        self.owners: set[int] = set()
        self.intents: list[Intent] = []
        self._fd = fd
        self._end = 0

    def start(self, about: str, root: str) -> None:
        """Write who owns the file; *about* tells a person later which call it is of.

        *root* is the directory of the files: when it is gone, nobody comes back for them.
        """
        self._append({"about": about, "pid": os.getpid(), "root": root})
        for folder in self.path.parents[:3]:
            _sync(folder)

    def take_over(self) -> None:
        """Read what the owner, who is dead, has written, and own it; raises OSError."""
        self.read()
        # On a full disk some can be put back all the same.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end)
            self._append({"pid": os.getpid()})

    def append(self, intent: Intent, data: bytes = b"") -> Intent:
        """Put an intent on the disk and return it with its place in the file; raises OSError."""
        last = self.intents[-1].at if self.intents else 0
        intent = evolve(intent, at=max(time.time_ns(), last + 1), size=len(data))
        told = {
            "at": intent.at,
            "path": intent.path,
            "target": intent.target,
            "before": intent.before.data(),
            "after": intent.after.data(),
            "size": intent.size,
        }
        line = self._end
        offset = self._append(told, data + b"\n")
        self.intents.append(evolve(intent, line=line, offset=offset))
        return self.intents[-1]

    def mark(self, intent: Intent) -> None:
        """Put on the disk that *intent* is undone: it is not among those that are read later.

        A full disk does not keep that from being noted. Raises OSError.
        """
        flags = fcntl.fcntl(self._fd, fcntl.F_GETFL)
        # What is opened for appending is written to at its end, wherever one wants to.
        fcntl.fcntl(self._fd, fcntl.F_SETFL, flags & ~os.O_APPEND)
        try:
            os.pwrite(self._fd, UNDONE, intent.line)
            os.fsync(self._fd)
        finally:
            fcntl.fcntl(self._fd, fcntl.F_SETFL, flags)

    def retract(self, intent: Intent) -> None:
        """Take an intent back whose change was not begun; raises OSError."""
        self.intents.remove(intent)
        self.mark(intent)

    def is_contested(self, intent: Intent) -> bool:
        """Tell whether another call that still runs has changed the same thing; raises OSError."""
        return any(
            other.conflicts_with(intent)
            for found in _of_the_living(self.path)
            for other in found.intents
        )

    def data(self, intent: Intent) -> bytes:
        """Return the old content that belongs to an intent; raises OSError if it is damaged."""
        from nanocoder_files.content import digest

        data = os.pread(self._fd, intent.size, intent.offset)
        if intent.before.digest and digest(data) != intent.before.digest:
            raise OSError(errno.EIO, "its saved copy is damaged")
        return data

    def root(self) -> str:
        """Return the directory of the files, "" where it is not told; raises OSError."""
        line = os.pread(self._fd, MAX_FIRST_LINE, 0).partition(b"\n")[0]
        try:
            return str(json.loads(line)["root"])
        except DAMAGED:
            return ""

    def remove(self) -> None:
        """Remove the file, and its folders where they are empty; raises OSError if it stays."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            os.ftruncate(self._fd, 0)  # then it says nothing any more
        _sync(self.path.parent)
        self.close()
        held.tidied(self.path.parent)

    def close(self) -> None:
        """Let go of the file, which stays for the next session that is opened."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, told: Mapping[str, Any], data: bytes = b"") -> int:
        line = json.dumps(told).encode() + b"\n"
        view = memoryview(line + data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
            os.fsync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise
        begin = self._end + len(line)
        self._end = begin + len(data)
        return begin

    def read(self) -> None:
        """Read up to the first line that is not whole: its change was never begun."""
        total = os.fstat(self._fd).st_size
        with os.fdopen(os.dup(self._fd), "rb") as file:
            file.seek(0)
            with contextlib.suppress(*DAMAGED):
                for line in iter(file.readline, b""):
                    is_undone = line.startswith(UNDONE)
                    told = json.loads(b"{" + line[1:] if is_undone else line)
                    if "path" in told:
                        begin, size = file.tell(), int(told["size"])
                        if size < 0 or begin + size >= total:
                            return
                        file.seek(begin + size)
                        if file.read(1) != b"\n":
                            return
                        if not is_undone:
                            self.intents.append(_intent(told, self._end, begin))
                    else:
                        self.about = told.get("about", self.about)
                        self.owners.add(int(told["pid"]))
                    self._end = file.tell()


def begun(folder: Path, name: str, about: str, root: Path) -> Intents:
    """Make a file in *folder*, which is made with the one above it; raises OSError.

    It is of a call in *root*, which is called *name*, and *about* for a person.
    """
    path, fd = held.made(folder, _plain(name), SUFFIX)
    intents = Intents(path, fd)
    intents.start(about, str(root))
    return intents


def _of_the_living(ours: Path) -> Iterator[Intents]:
    """Yield what other calls of the same directory have written so far, read without a lock."""
    with os.scandir(ours.parent) as entries:
        names = [one.name for one in entries if one.is_file(follow_symlinks=False)]
    for name in names:
        if name == ours.name or not name.endswith(SUFFIX):
            continue
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            fd = os.open(ours.parent / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            found = Intents(ours.parent / name, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found.read()
                yield found
            finally:
                found.close()


def leftovers(folder: Path) -> Iterator[Intents]:
    """Take over what dead processes have left in *folder*; raises OSError."""
    for path, fd in held.ownerless(folder, SUFFIX):
        found = Intents(path, fd)
        found.take_over()
        yield found


def discard(folder: Path, is_over: Callable[[str], bool]) -> None:
    """Remove what dead processes have left in *folder* if *is_over* says so of the root of it.

    Raises: OSError.
    """
    for path, fd in held.ownerless(folder, SUFFIX):
        found = Intents(path, fd)
        if is_over(found.root()):
            found.remove()
        else:
            found.close()


def _intent(told: Mapping[str, Any], line: int, offset: int) -> Intent:
    return Intent(
        path=str(told["path"]),
        before=State.of_data(told["before"]),
        after=State.of_data(told["after"]),
        target=str(told["target"]),
        at=int(told["at"]),
        line=line,
        offset=offset,
        size=int(told["size"]),
    )


def _plain(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)
    return kept[:MAX_NAME_CHARS]


def _sync(folder: Path) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
