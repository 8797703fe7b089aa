"""The calls of Linux that Landlock and a filter of calls need, and that Python does not have.

The programs around a command import this module, with the standard library alone.
"""

from __future__ import annotations

# The modules `ctypes` and `os` take several times as long to import as what they are made of.
import _ctypes
import posix
import sys
from _ctypes import _SimpleCData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE: Final = 1 << 4 | 1 << 5
MAKE_DEVICE: Final = 1 << 6 | 1 << 11
MAKE: Final = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14
USE_DEVICE: Final = 1 << 15
READ: Final = EXECUTE | READ_FILE | READ_DIR
CHANGE: Final = WRITE_FILE | REMOVE | MAKE | REFER | TRUNCATE
OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | USE_DEVICE
"""The rights that a file has; the others are those of folders."""
TCP: Final = 0b11
SCOPES: Final = 0b11
"""Abstract sockets of others, and signals to others."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_OPENAT2, _HERE, _NO_LINKS = 437, -100, 0x04
_GET_FD: Final = 438
_ASK_VERSION: Final = 1
_BENEATH: Final = 1
_NO_NEW_PRIVILEGES, _SUBREAPER, _DEATH_SIGNAL, _DROP = 38, 36, 1, 24
_NEW_LISTENER: Final = 8 | 32  # and a call that was taken on is not repeated after a signal
_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
_CAPABILITIES_3: Final = 0x2008_0522
_MOST_CAPABILITIES: Final = 64
_SET_LIMIT: Final = {"x86_64": 302, "aarch64": 261}
_FAILED: Final = 0xFFFF_FFFF
_ORDER: Final = "little"
"""The order of bytes of both kinds of processors."""


class _Long(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class _Short(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "H"


class _Text(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "z"


class _Program(_ctypes.Structure):
    """A filter of calls: how many instructions, and where they are."""

    _fields_ = (("count", _Short), ("instructions", _Text))


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_LIBRARY: Final = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]


def _function(name: str) -> Any:
    return _Function(_ctypes.dlsym(_LIBRARY, name))


_syscall, _prctl, _utimensat, _renameat2 = map(
    _function, ("syscall", "prctl", "utimensat", "renameat2")
)


def _checked(result: int) -> int:
    # The functions return an int or a long, of which the lower half of -1 is the same.
    if result & _FAILED == _FAILED:
        error = _ctypes.get_errno()
        raise OSError(error, posix.strerror(error))
    return result


def call(number: int, *arguments: Any) -> int:
    """Make a call of the system; raises OSError."""
    words = (_Long(each) if isinstance(each, int) else each for each in arguments)
    return _checked(_syscall(_Long(number), *words))


def control(option: int, value: int) -> None:
    """Set a property of this process; raises OSError."""
    _checked(_prctl(option, *map(_Long, (value, 0, 0, 0))))


def landlock_version() -> int:
    """Return the kernel's version of Landlock, 0 without it."""
    try:
        return call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def handled_of(version: int) -> int:
    """Return the rights that a *version* of Landlock knows."""
    newest = {1: 12, 2: 13, 3: 14, 4: 14}.get(version, 15)
    return (1 << newest + 1) - 1


def ruleset(
    rules: list[tuple[str, int]],
    handled: int,
    *,
    root: str,
    network: bool,
    scopes: bool,
    version: int,
) -> int:
    """Return a file descriptor of the rights of *rules*, for `restrict`; raises OSError.

    Below *root*, where others may put a link in the place of a folder, none is followed.

    *network*: whether TCP stays possible. *scopes*: whether signals and abstract sockets of other
    processes are out of reach. A path that is gone is left out.
    """
    handled &= handled_of(version)
    words = [handled]
    if version >= 4:  # noqa: PLR2004 - the version with these rights
        words.append(0 if network else TCP)
    if version >= 6:  # noqa: PLR2004
        words.append(SCOPES if scopes else 0)
    attributes = b"".join(word.to_bytes(8, _ORDER) for word in words)
    descriptor = call(_CREATE_RULESET, attributes, len(attributes), 0)
    for path, rights in rules:
        _add(descriptor, path, rights & handled, root)
    return descriptor


def _add(ruleset: int, path: str, rights: int, root: str) -> None:
    flags = posix.O_PATH | posix.O_CLOEXEC
    try:
        if path.startswith(root + "/"):
            how = b"".join(word.to_bytes(8, _ORDER) for word in (flags, 0, _NO_LINKS))
            name = path.encode(sys.getfilesystemencoding(), "surrogateescape")
            beneath = call(_OPENAT2, _HERE, name, how, len(how))
        else:
            beneath = posix.open(path, flags)
    except OSError:
        return
    rule = rights.to_bytes(8, _ORDER) + beneath.to_bytes(4, _ORDER)
    call(_ADD_RULE, ruleset, _BENEATH, rule, 0)
    posix.close(beneath)


def identity(path: str) -> tuple[int, int]:
    """Return the device and inode at *path*, or (0, 0) if it is missing."""
    try:
        facts = posix.lstat(path)
    except OSError:
        return (0, 0)
    return facts.st_dev, facts.st_ino


def restrict(ruleset: int) -> None:
    """Leave this process, and all that it starts, just the rights of a ruleset; raises OSError."""
    call(_RESTRICT_SELF, ruleset, 0)
    posix.close(ruleset)


def listen_to_calls(program: bytes) -> int:
    """Put a filter of calls into force; return the descriptor at which others answer for it."""
    description = _Program(len(program) // 8, program)
    return call(_SECCOMP[posix.uname().machine], 1, _NEW_LISTENER, _ctypes.byref(description))


def descriptor_of(process: int, number: int) -> int:
    """Return a descriptor of our own for what *process*, a pidfd, has open; raises OSError."""
    return call(_GET_FD, process, number, 0)


def gain_no_rights() -> None:
    """Keep this process, and all that it starts, from getting rights, those of root among them."""
    control(_NO_NEW_PRIVILEGES, 1)
    if posix.geteuid() == 0:
        for capability in range(_MOST_CAPABILITIES):
            try:
                control(_DROP, capability)
            except OSError:  # unknown to this kernel, or all are given up already
                return


def give_up_rights() -> None:
    """Give up the rights of root that this process has."""
    header = _CAPABILITIES_3.to_bytes(4, _ORDER) + bytes(4)
    call(_CAPSET[posix.uname().machine], header, bytes(24))


def set_limit(kind: int, limit: int) -> None:
    """Set a limit of this process, which nothing can raise; raises OSError."""
    # The module `resource` takes longer to import.
    call(_SET_LIMIT[posix.uname().machine], 0, kind, 2 * limit.to_bytes(8, _ORDER), None)


def adopt_orphans() -> None:
    """Become the parent of what this process's descendants leave behind."""
    control(_SUBREAPER, 1)


def fork() -> int:
    """Fork this process, whose environment was made for a command, or is empty."""
    return posix.fork()


def end_with_parent(signal: int) -> None:
    """Have *signal* sent to this process when the one that started it ends."""
    control(_DEATH_SIGNAL, signal)


def set_times(path: str, times: bytes | None) -> None:
    """Set the times of *path* from two `struct timespec`, to now without them; raises OSError."""
    _checked(_utimensat(-100, path.encode(), times, 0))


def rename(old: bytes, new: bytes, folders: tuple[int, int], flags: int) -> None:
    """Rename *old* in the first folder to *new* in the second; raises OSError."""
    _checked(_renameat2(folders[0], old, folders[1], new, flags))
