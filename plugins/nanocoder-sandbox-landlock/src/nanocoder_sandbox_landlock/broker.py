"""Answers to the calls of a command inside Landlock that need to know which path they are about.

Landlock grants rights to what exists when a command starts, and to all below it. So what is new in
a folder that also holds something protected is changed here, on behalf of the command; and so are
modes and times, of which Landlock knows nothing, what git writes, and names that processes share in
/dev/shm. All else goes on, and Landlock judges it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from nanocoder_sandbox_landlock import kernel
from nanocoder_sandbox_landlock.caller import HERE, NO_PATH, Caller, GoOn, Place
from nanocoder_sandbox_landlock.paths import ANY, IN_GIT, MIXED, NEW, SHARED, THERE, PathRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Final

_RECEIVE, _SEND, _IS_VALID, _ADD = 0xC050_2100, 0xC018_2101, 0x4008_2102, 0x4018_2103
_REQUEST: Final = struct.Struct("=QIIiIQ6Q")
_ANSWER: Final = struct.Struct("=QqiI")
_ADDED: Final = struct.Struct("=QIIII")
_SEND_TOO: Final = 2
_GO_ON: Final = 1
_NO_FOLLOW, _REMOVE_FOLDER = 0x100, 0x200
_RENAME_FLAGS: Final = 0b11  # not to replace, to exchange
_TIMES_BYTES: Final = 32
_NOT_OURS: Final = os.O_PATH | (os.O_TMPFILE & ~os.O_DIRECTORY)
_UNCHANGED: Final = 0xFFFF_FFFF
_LOCK: Final = b".lock"
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

Arguments = tuple[int, ...]
_AS_NEWER: Final[dict[str, Callable[[Arguments], tuple[str, Arguments]]]] = {
    "open": lambda a: ("openat", (HERE, *a)),
    "creat": lambda a: ("openat", (HERE, a[0], os.O_CREAT | os.O_WRONLY | os.O_TRUNC, a[1])),
    "mkdir": lambda a: ("mkdirat", (HERE, *a)),
    "unlink": lambda a: ("unlinkat", (HERE, a[0], 0)),
    "rmdir": lambda a: ("unlinkat", (HERE, a[0], _REMOVE_FOLDER)),
    "rename": lambda a: ("renameat2", (HERE, a[0], HERE, a[1], 0)),
    "renameat": lambda a: ("renameat2", (*a[:4], 0)),
    "symlink": lambda a: ("symlinkat", (a[0], HERE, a[1])),
    "link": lambda a: ("linkat", (HERE, a[0], HERE, a[1])),
    "chmod": lambda a: ("fchmodat2", (HERE, *a[:2], 0)),
    "fchmod": lambda a: ("fchmodat2", (a[0], NO_PATH, a[1], 0)),
    "fchmodat": lambda a: ("fchmodat2", (*a[:3], 0)),
    **dict.fromkeys(("chown", "fchown", "lchown"), lambda a: ("fchownat", (HERE, *a))),
    "mknod": lambda a: ("mknodat", (HERE, *a)),
}
"""The older calls as the newer ones that do the same, from their arguments."""


class _Answered(Exception):
    """The call has its file descriptor already."""


class Broker:
    """Answers at *listener* by the *rules* of one command; "calls" has the name of each number."""

    def __init__(
        self, rules: dict[str, Any], listener: int, granted: dict[str, tuple[int, int]], notes: int
    ) -> None:
        self._listener = listener
        self.paths = PathRules(rules, granted, notes)
        self._names = rules["calls"]
        self._owner = {_UNCHANGED, os.getuid()}, {_UNCHANGED, os.getgid()}

    def answer(self) -> None:
        """Answer one call."""
        buffer = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, buffer)
        except OSError:  # it was killed meanwhile
            return
        self._id, thread, _, number, _, _, *arguments = _REQUEST.unpack(buffer)
        self._caller = Caller(thread)
        problem, flags = 0, 0
        try:
            self._do(self._names[number], tuple(arguments))
        except _Answered:
            return
        except GoOn:
            flags = _GO_ON
        except OSError as error:
            problem = -(error.errno or errno.EPERM)
        except (ValueError, OverflowError, struct.error):  # numbers that no such call has
            problem = -errno.EINVAL
        try:
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(self._id, 0, problem, flags))
        except OSError:
            return

    def _do(self, name: str, arguments: Arguments) -> None:
        """Do a call; raises GoOn, or OSError as the call itself fails."""
        if name in _AS_NEWER:
            name, arguments = _AS_NEWER[name](arguments)
        call: Callable[[Arguments], None] = getattr(self, f"_{name}")
        call(arguments)

    # The calls, by the names in `landlock_filter`.

    def _openat(self, arguments: Arguments) -> None:
        folder, path, flags, mode = arguments[:4]
        if flags & _NOT_OURS:
            raise GoOn
        with self._caller.place(folder, path, follows=not flags & os.O_NOFOLLOW) as place:
            existence: Collection[bool]
            existence = (NEW if flags & os.O_EXCL else ANY) if flags & os.O_CREAT else THERE
            existence = existence if flags & _WRITING else ()
            state = self.paths.must_be((MIXED, IN_GIT, SHARED), place, existence)
            if self.paths.is_granted(place.path):
                raise GoOn
            if state == SHARED and not place.mode:
                flags |= os.O_EXCL
            opened = self._opened(place, flags, mode)
            if state == SHARED:
                self.paths.share(opened)
            if state == IN_GIT and existence is NEW and place.name.endswith(_LOCK):
                self.paths.take_note_of_lock(place.path, opened)
        try:
            ours = os.O_CLOEXEC & flags
            packed = _ADDED.pack(self._id, _SEND_TOO, opened, 0, ours)
            fcntl.ioctl(self._listener, _ADD, packed)
        finally:
            os.close(opened)
        raise _Answered

    def _opened(self, place: Place, flags: int, mode: int) -> int:
        # A link leads elsewhere, and a pipe would let us wait.
        more = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        mode = mode & 0o7777 & ~self._caller.umask()
        self._check()
        try:
            opened = os.open(place.name, flags | more, mode, dir_fd=place.descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO) and not flags & os.O_NOFOLLOW:
                raise GoOn from None
            raise
        kind = stat.S_IFMT(os.fstat(opened).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            os.close(opened)
            raise GoOn
        fcntl.fcntl(opened, fcntl.F_SETFL, flags & ~os.O_CREAT)
        return opened

    def _mkdirat(self, arguments: Arguments) -> None:
        with self._caller.place(*arguments[:2]) as place:
            self.paths.must_be((MIXED, IN_GIT), place, NEW)
            mode = arguments[2] & 0o7777 & ~self._caller.umask()
            self._check()
            os.mkdir(place.name, mode, dir_fd=place.descriptor)

    def _unlinkat(self, arguments: Arguments) -> None:
        with self._caller.place(*arguments[:2]) as place:
            self.paths.must_be((MIXED, IN_GIT, SHARED), place, THERE)
            self._check()
            remove: Callable[..., None]
            remove = os.rmdir if arguments[2] & _REMOVE_FOLDER else os.unlink
            remove(place.name, dir_fd=place.descriptor)

    def _renameat2(self, arguments: Arguments) -> None:
        with self._caller.place(*arguments[:2]) as old, self._caller.place(*arguments[2:4]) as new:
            if self.paths.git.is_replaced(old.path, new.path):
                self._check()
                self.paths.replace(old, new)
                return
            states = [self.paths.state_for(old, THERE), self.paths.state_for(new, ANY)]
            if {MIXED, IN_GIT}.isdisjoint(states) or arguments[4] & ~_RENAME_FLAGS:
                raise GoOn
            if states.count(IN_GIT) == 1:  # what comes from elsewhere may be a link, or hold one
                raise OSError(errno.EXDEV, "")
            self._check()
            folders = old.descriptor, new.descriptor
            kernel.rename(old.name, new.name, folders, arguments[4])

    def _symlinkat(self, arguments: Arguments) -> None:
        with self._caller.place(*arguments[1:3]) as place:
            if self.paths.must_be((MIXED, IN_GIT), place, NEW) == IN_GIT:
                raise PermissionError(errno.EPERM, "")
            target = self._caller.text(arguments[0])
            self._check()
            os.symlink(target, place.name, dir_fd=place.descriptor)

    def _mknodat(self, _arguments: Arguments) -> None:
        # Landlock judges it. A program that outlives us gets no answer, so it makes no names.
        raise GoOn

    def _linkat(self, arguments: Arguments) -> None:
        """Give a semaphore its name; all else is judged by Landlock."""
        with self._caller.place(*arguments[:2]) as old, self._caller.place(*arguments[2:4]) as new:
            self.paths.must_be((SHARED,), old, ())
            self.paths.must_be((SHARED,), new, NEW)
            self._check()
            folders = {"src_dir_fd": old.descriptor, "dst_dir_fd": new.descriptor}
            os.link(old.name, new.name, **folders, follow_symlinks=False)

    def _truncate(self, arguments: Arguments) -> None:
        with self._caller.place(HERE, arguments[0]) as place:
            self.paths.must_be((MIXED, IN_GIT), place, THERE)
            with open(self._opened(place, os.O_WRONLY, 0), "wb") as file:
                os.ftruncate(file.fileno(), arguments[1])

    def _fchmodat2(self, arguments: Arguments) -> None:
        descriptor = self._caller.file(*arguments[:2], follows=not arguments[3] & _NO_FOLLOW)
        self._change(descriptor, lambda path: os.chmod(path, arguments[2] & 0o7777))

    def _fchownat(self, arguments: Arguments) -> None:
        users, groups = self._owner
        if arguments[2] & _UNCHANGED not in users or arguments[3] & _UNCHANGED not in groups:
            raise PermissionError(errno.EPERM, "")

    def _utimensat(self, arguments: Arguments) -> None:
        folder, path, address, flags = arguments[:4]
        times = self._caller.memory(address, _TIMES_BYTES) if address else None
        descriptor = self._caller.file(folder, path, follows=not flags & _NO_FOLLOW)
        self._change(descriptor, lambda path: kernel.set_times(path, times))

    def _change(self, descriptor: int, change: Callable[[str], None]) -> None:
        """Change what is open, if it may be changed, and close it; raises OSError."""
        try:
            path = self.paths.own(descriptor)
            self._check()
            change(path)
        finally:
            os.close(descriptor)

    def _check(self) -> None:
        """Raise OSError if what was read may be of another process: the one that asks is gone."""
        fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", self._id))
