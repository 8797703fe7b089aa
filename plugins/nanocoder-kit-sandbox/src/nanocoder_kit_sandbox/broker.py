"""Answers to the calls of a command inside Landlock that need to know which path they are about.

Landlock grants rights to what exists when a command starts, and to all below it. So what is new in
a folder that also holds something protected is changed here, on behalf of the command; and so are
modes and times, of which Landlock knows nothing. All else goes on, and Landlock judges it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from nanocoder_kit_sandbox import kernel
from nanocoder_kit_sandbox.caller import HERE, Caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_RECEIVE, _SEND, _IS_VALID, _ADD_HANDLE = 0xC050_2100, 0xC018_2101, 0x4008_2102, 0x4018_2103
_REQUEST: Final = struct.Struct("=QIIiIQ6Q")
_ANSWER: Final = struct.Struct("=QqiI")
_HANDLE: Final = struct.Struct("=QIIII")
_SEND_TOO: Final = 2
_GO_ON: Final = 1
_NO_FOLLOW, _REMOVE_FOLDER = 0x100, 0x200
_RENAME_FLAGS: Final = 0b11  # not to replace, to exchange
_TIMES_BYTES: Final = 32
_NOT_OURS: Final = os.O_PATH | (os.O_TMPFILE & ~os.O_DIRECTORY)
_UNCHANGED: Final = 0xFFFF_FFFF
_NO_NAMES: Final = (b"", b".", b"..")

Arguments = tuple[int, ...]


class GoOn(Exception):
    """Let the system do the call under the rules of Landlock."""


class _Place:
    """A folder that is open as long as this is entered, and a name in it."""

    def __init__(self, handle: int, name: bytes) -> None:
        self._handle, self._name = handle, name

    def __enter__(self) -> tuple[int, str, bytes]:
        return self._handle, _path_of(self._handle), self._name

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


class Broker:
    """Answers at `listener` by the rules of one command, which are read when it first asks.

    `denied` are paths that no process inside may change, `mixed` the folders above them. *granted*
    is what Landlock lets them change: which file each path led to when its right was given.
    """

    def __init__(
        self, read: Callable[[], dict[str, Any]], granted: dict[str, tuple[int, int]]
    ) -> None:
        self.listener = -1
        self._read, self._granted = read, granted
        self._calls: dict[int, Callable[[Arguments], int | None]] = {}

    def _open_rules(self) -> None:
        rules = self._read()
        self._denied: frozenset[str] = frozenset(rules["denied"])
        self._mixed: frozenset[str] = frozenset(rules["mixed"])
        self._calls = {number: getattr(self, f"_{name}") for number, name in rules["calls"].items()}
        self._owner = {_UNCHANGED, os.getuid()}, {_UNCHANGED, os.getgid()}

    def answer(self) -> None:
        """Answer one call."""
        buffer = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except OSError:  # it was killed meanwhile
            return
        if not self._calls:
            self._open_rules()
        self._id, thread, _, number, _, _, *arguments = _REQUEST.unpack(buffer)
        self._caller = Caller(thread)
        value, problem, flags = 0, 0, 0
        try:
            result = self._calls[number](tuple(arguments))
            if result is None:  # it has its handle already
                return
            value = result
        except GoOn:
            flags = _GO_ON
        except OSError as error:
            problem = -(error.errno or errno.EPERM)
        except (ValueError, OverflowError, struct.error):  # numbers that no such call has
            problem = -errno.EINVAL
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(self._id, value, problem, flags))
        except OSError:
            return

    # The calls, by the names that the table in `landlock_calls` gives them.

    def _open(self, arguments: Arguments) -> None:
        self._openat((HERE, *arguments))

    def _creat(self, arguments: Arguments) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        self._openat((HERE, arguments[0], flags, arguments[1]))

    def _openat(self, arguments: Arguments) -> None:
        folder, path, flags, mode = arguments[:4]
        if flags & _NOT_OURS:
            raise GoOn
        follows = not flags & os.O_NOFOLLOW
        with self._place(folder, path, follows=follows) as (handle, place, name):
            self._be_new(handle, place, name)
            target = f"{place}/{os.fsdecode(name)}"
            if self._granted.get(target, ()) == identity(target):
                raise GoOn
            opened = self._opened(handle, name, flags, mode)
        try:
            ours = os.O_CLOEXEC & flags
            packed = _HANDLE.pack(self._id, _SEND_TOO, opened, 0, ours)
            fcntl.ioctl(self.listener, _ADD_HANDLE, packed)
        finally:
            os.close(opened)

    def _opened(self, handle: int, name: bytes, flags: int, mode: int) -> int:
        # A link leads elsewhere, and a pipe would let us wait.
        more = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        mode = mode & 0o7777 & ~self._caller.umask()
        self._check()
        try:
            opened = os.open(name, flags | more, mode, dir_fd=handle)
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

    def _mkdir(self, arguments: Arguments) -> int:
        return self._mkdirat((HERE, *arguments))

    def _mkdirat(self, arguments: Arguments) -> int:
        with self._place(*arguments[:2]) as (handle, place, name):
            self._be_new(handle, place, name)
            mode = arguments[2] & 0o7777 & ~self._caller.umask()
            self._check()
            os.mkdir(name, mode, dir_fd=handle)
        return 0

    def _unlink(self, arguments: Arguments) -> int:
        return self._unlinkat((HERE, arguments[0], 0))

    def _rmdir(self, arguments: Arguments) -> int:
        return self._unlinkat((HERE, arguments[0], _REMOVE_FOLDER))

    def _unlinkat(self, arguments: Arguments) -> int:
        with self._place(*arguments[:2]) as (handle, place, name):
            self._be_new(handle, place, name)
            self._check()
            remove: Callable[..., None]
            remove = os.rmdir if arguments[2] & _REMOVE_FOLDER else os.unlink
            remove(name, dir_fd=handle)
        return 0

    def _rename(self, arguments: Arguments) -> int:
        return self._renameat2((HERE, arguments[0], HERE, arguments[1], 0))

    def _renameat(self, arguments: Arguments) -> int:
        return self._renameat2((*arguments[:4], 0))

    def _renameat2(self, arguments: Arguments) -> int:
        with (
            self._place(*arguments[:2]) as (old, old_place, old_name),
            self._place(*arguments[2:4]) as (new, new_place, new_name),
        ):
            states = [
                self._changeable(old, old_place, old_name),
                self._changeable(new, new_place, new_name),
            ]
            if "new" not in states or arguments[4] & ~_RENAME_FLAGS:
                raise GoOn
            self._check()
            kernel.rename(old_name, new_name, (old, new), arguments[4])
        return 0

    def _symlink(self, arguments: Arguments) -> int:
        return self._symlinkat((arguments[0], HERE, arguments[1]))

    def _symlinkat(self, arguments: Arguments) -> int:
        with self._place(*arguments[1:3]) as (handle, place, name):
            self._be_new(handle, place, name)
            target = self._caller.text(arguments[0])
            self._check()
            os.symlink(target, name, dir_fd=handle)
        return 0

    def _link(self, _arguments: Arguments) -> int:
        # Landlock judges it. A program that outlives us gets no answer, so it makes no names.
        raise GoOn

    def _truncate(self, arguments: Arguments) -> int:
        with self._place(HERE, arguments[0]) as (handle, place, name):
            self._be_new(handle, place, name)
            opened = self._opened(handle, name, os.O_WRONLY, 0)
            try:
                os.ftruncate(opened, arguments[1])
            finally:
                os.close(opened)
        return 0

    def _chmod(self, arguments: Arguments) -> int:
        return self._fchmodat((HERE, *arguments[:2]))

    def _fchmodat(self, arguments: Arguments) -> int:
        return self._set_mode(self._file(*arguments[:2], follows=True), arguments[2])

    def _fchmodat2(self, arguments: Arguments) -> int:
        follows = not arguments[3] & _NO_FOLLOW
        return self._set_mode(self._file(*arguments[:2], follows=follows), arguments[2])

    def _fchmod(self, arguments: Arguments) -> int:
        return self._set_mode(self._caller.handle_of(arguments[0]), arguments[1])

    def _set_mode(self, handle: int, mode: int) -> int:
        try:
            os.chmod(self._own(handle), mode & 0o7777)
        finally:
            os.close(handle)
        return 0

    def _chown(self, arguments: Arguments) -> int:
        return self._set_owner(*arguments[1:3])

    def _fchownat(self, arguments: Arguments) -> int:
        return self._set_owner(*arguments[2:4])

    def _set_owner(self, user: int, group: int) -> int:
        users, groups = self._owner
        if user & _UNCHANGED in users and group & _UNCHANGED in groups:
            return 0
        raise PermissionError(errno.EPERM, "")

    def _utimensat(self, arguments: Arguments) -> int:
        folder, path, times, flags = arguments[:4]
        follows = not flags & _NO_FOLLOW
        handle = (
            self._file(folder, path, follows=follows) if path else self._caller.handle_of(folder)
        )
        return self._set_times(handle, self._caller.memory(times, _TIMES_BYTES) if times else None)

    def _utime(self, arguments: Arguments) -> int:
        times = self._as_timespecs(arguments[1], 1, "=2q", (0, 0))
        return self._set_times(self._file(HERE, arguments[0], follows=True), times)

    def _utimes(self, arguments: Arguments) -> int:
        return self._futimesat((HERE, *arguments[:2]))

    def _futimesat(self, arguments: Arguments) -> int:
        folder, path, times = arguments[:3]
        handle = self._file(folder, path, follows=True) if path else self._caller.handle_of(folder)
        return self._set_times(handle, self._as_timespecs(times, 2, "=4q", None))

    def _set_times(self, handle: int, times: bytes | None) -> int:
        try:
            kernel.set_times(self._own(handle), times)
        finally:
            os.close(handle)
        return 0

    def _as_timespecs(
        self, address: int, step: int, form: str, fractions: tuple[int, int] | None
    ) -> bytes | None:
        """Return times in seconds, or seconds and microseconds, as two `struct timespec`."""
        if not address:
            return None
        numbers = struct.unpack(form, self._caller.memory(address, struct.calcsize(form)))
        first, second = fractions or (1_000 * numbers[1], 1_000 * numbers[3])
        return struct.pack("=4q", numbers[0], first, numbers[step], second)

    def _place(self, folder: int, address: int, *, follows: bool = False) -> _Place:
        """Open the folder that a call is about, and return it with the name in it.

        *follows*: whether a link is what it leads to.
        """
        path = self._caller.text(address).rstrip(b"/")
        outer, slash, name = path.rpartition(b"/")
        if name in _NO_NAMES:
            raise GoOn
        handle = self._caller.open_path(folder, outer or slash, follows=True)
        if follows and stat.S_ISLNK(_mode(handle, name)):
            handle, name = _behind_link(handle, name)
        return _Place(handle, name)

    def _file(self, folder: int, address: int, *, follows: bool) -> int:
        path = self._caller.text(address)
        if not path:
            return self._caller.handle_of(folder)
        return self._caller.open_path(folder, path, follows=follows)

    def _check(self) -> None:
        """Raise OSError if what was read may be of another process: the one that asks is gone."""
        fcntl.ioctl(self.listener, _IS_VALID, struct.pack("=Q", self._id))

    def _state(self, path: str) -> str:
        """Return whether *path* is "denied", "granted", "new" or "outside"."""
        while path.startswith("/") and path != "/":
            if path in self._denied:
                return "denied"
            if path in self._granted:
                return "granted" if self._granted[path] == identity(path) else "new"
            if path in self._mixed:
                return "new"
            path = os.path.dirname(path)
        return "outside"

    def _changeable(self, handle: int, place: str, name: bytes) -> str:
        """Return what *place* is; raises GoOn where *name* in it is none that is changed here."""
        target = f"{place}/{os.fsdecode(name)}"
        state = self._state(place)
        is_kept = target in self._denied or target in self._mixed
        if is_kept or state not in ("new", "granted") or identity(place) != _facts(handle):
            raise GoOn
        return state

    def _be_new(self, handle: int, place: str, name: bytes) -> None:
        if self._changeable(handle, place, name) != "new":
            raise GoOn

    def _own(self, handle: int) -> str:
        """Return a path for *handle* if it may be changed; raises OSError otherwise."""
        path = _path_of(handle)
        if self._state(path) not in ("new", "granted") or identity(path) != _facts(handle):
            raise PermissionError(errno.EPERM, "")
        self._check()
        return f"/proc/self/fd/{handle}"


def _mode(folder: int, name: bytes) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0


def _behind_link(folder: int, name: bytes) -> tuple[int, bytes]:
    """Return the folder and the name of what a link leads to; *folder* is closed."""
    try:
        target = os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=folder)
    except OSError:  # it leads to nothing
        raise GoOn from None
    finally:
        os.close(folder)
    try:
        outer, _, name = os.fsencode(_path_of(target)).rpartition(b"/")
    finally:
        os.close(target)
    return os.open(outer or b"/", os.O_PATH | os.O_CLOEXEC), name


def _path_of(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")


def _facts(handle: int) -> tuple[int, int]:
    facts = os.fstat(handle)
    return facts.st_dev, facts.st_ino


def identity(path: str) -> tuple[int, int]:
    """Return which file is at *path*."""
    try:
        facts = os.lstat(path)
    except OSError:
        return (0, 0)
    return facts.st_dev, facts.st_ino
