"""Tag all processes of a command or job, so that even reparented ones are found.

Each child inherits the tag twice: as a resource limit that ordinary programs ignore, and in the
environment. The limit is that of real-time CPU time, in microseconds, far beyond any use. Unlike
an environment it stays readable in a zombie, and is not lost by accident. Only root can raise its
hard limit, so a process that has changed its tag still shows that it had one.

A tag names the process that set it, so that a later process can find and kill orphans.
"""

import itertools
import os
import resource
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple, Self

from nanocoder_kit_process.processes import process, read_proc

VARIABLE: Final = "NANOCODER_CALL"
UNLIMITED: Final = -1

_PID_BITS: Final = 22  # the most that Linux gives
_BORN_BITS: Final = 24  # of a time in hundredths of a second
_SERIAL_BITS: Final = 15
_FLAG: Final = 1 << (_PID_BITS + _BORN_BITS + _SERIAL_BITS)
CEILING: Final = _FLAG << 1


class Limits(NamedTuple):
    """The limit of real-time CPU time that a process has, and its upper bound."""

    now: int
    most: int


class ProcessTag(NamedTuple):
    """The tag number *serial* of the process *owner*, which started at *born*."""

    owner: int
    born: int
    serial: int

    @property
    def number(self) -> int:
        """The tag encoded as a resource limit."""
        owner_and_born = self.owner << _BORN_BITS | self.born
        return _FLAG | owner_and_born << _SERIAL_BITS | self.serial

    @property
    def text(self) -> str:
        """The tag encoded for the environment."""
        return f"{self.number:x}"

    @classmethod
    def of_number(cls, number: int) -> Self | None:
        """Return the tag that a limit encodes, or None."""
        if not _FLAG <= number < CEILING:
            return None
        rest, serial = divmod(number - _FLAG, 1 << _SERIAL_BITS)
        return cls(*divmod(rest, 1 << _BORN_BITS), serial)

    @property
    def is_orphan(self) -> bool:
        """Return True if the process that set the tag has ended."""
        owner = process(self.owner)
        if owner is None:
            return not _is_hidden(self.owner)
        return owner.is_dead or _short(owner.born) != self.born


def _is_hidden(pid: int) -> bool:
    """Return True if a process exists that /proc does not show, as it may hide other users'."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def new_tag() -> ProcessTag:
    """Return an unused tag."""
    ourselves = process(os.getpid())
    born = 0 if ourselves is None else _short(ourselves.born)
    return ProcessTag(os.getpid(), born, next(_serials()) % (1 << _SERIAL_BITS))


def put_on(tag: ProcessTag, pid: int) -> None:
    """Set the tag of a process and its future children, if the system allows it."""
    with suppress(AttributeError, OSError, ValueError):  # no such limit, or a lower bound is set
        bound = resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
        most = CEILING if bound == UNLIMITED else bound
        resource.prlimit(pid, resource.RLIMIT_RTTIME, (tag.number, most))


def limits_of(pid: int) -> Limits:
    """Return the limits of a process, unlimited if it has ended or is another user's."""
    try:
        return Limits(*resource.prlimit(pid, resource.RLIMIT_RTTIME))
    except (AttributeError, OSError):
        return Limits(UNLIMITED, UNLIMITED)


def tag_of(pid: int) -> ProcessTag | None:
    """Return the tag of a process, or None."""
    limits = limits_of(pid)
    if limits.most == UNLIMITED:
        return None
    return ProcessTag.of_number(limits.now) or _tag_in_environment(pid)


def has_in_environment(pid: int, tag: ProcessTag) -> bool:
    """Return True if a process was started with *tag* in its environment."""
    return f"{VARIABLE}={tag.text}\0".encode() in _environment(pid)


def _tag_in_environment(pid: int) -> ProcessTag | None:
    for entry in _environment(pid).split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == VARIABLE.encode():
            with suppress(ValueError):
                return ProcessTag.of_number(int(value, 16))
    return None


def _environment(pid: int) -> bytes:
    try:
        return read_proc(f"/proc/{pid}/environ")
    except OSError:  # ended, or another user's
        return b""


def _short(born: int) -> int:
    return born % (1 << _BORN_BITS)


@cache
def _serials() -> "itertools.count[int]":
    return itertools.count(1)
