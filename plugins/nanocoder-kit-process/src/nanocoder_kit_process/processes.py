"""Processes as the system lists them; none if it has no /proc."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

_ENDING: Final = 0x4
"""The flag of a process that has run its last instruction."""
_READ_BYTES: Final = 64 * 1024


class Process(NamedTuple):
    """One line of /proc/PID/stat; *born* distinguishes two processes with the same PID."""

    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    born: int
    flags: int = 0

    @property
    def is_dead(self) -> bool:
        """Return True if the process has ended, even if its parent has not waited for it."""
        return self.state in "ZX"

    @property
    def is_ending(self) -> bool:
        """Return True if the process is exiting; its memory and files may not be freed yet."""
        return bool(self.flags & _ENDING)


def process(pid: int) -> Process | None:
    """Return the process with that PID, or None."""
    try:
        line = read_proc(f"/proc/{pid}/stat").decode("utf-8", "replace")
    except OSError:
        return None
    # The name itself may contain spaces and parentheses.
    name, _, rest = line.partition("(")[2].rpartition(")")
    fields = rest.split()
    parent, group, session = map(int, fields[1:4])
    numbers = parent, group, session, int(fields[19]), int(fields[6])
    return Process(pid, name, fields[0], *numbers)


def children(pid: int) -> Iterator[Process]:
    """Yield the children of all threads of a process."""
    for number in _child_numbers(pid):
        child = process(number)
        if child is not None:
            yield child


def lineage(pid: int) -> Iterator[int]:
    """Yield *pid* and the numbers of its living ancestors."""
    visited: set[int] = set()
    while pid > 0 and pid not in visited:
        visited.add(pid)
        yield pid
        current = process(pid)
        pid = 0 if current is None else current.parent


def pids_of_user(user: int) -> Iterator[int]:
    """Yield the numbers of the processes of one user."""
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with suppress(OSError):  # ended meanwhile
                    if entry.stat().st_uid == user:
                        yield int(entry.name)


def send(member: Process, number: signal.Signals) -> None:
    """Signal *member*, and never a newer process with the same number."""
    try:
        pidfd = os.pidfd_open(member.pid)
    except OSError:
        return
    try:
        now = process(member.pid)
        if now is not None and now.born == member.born:
            signal.pidfd_send_signal(pidfd, number)
    except OSError:  # ended meanwhile, or another user's
        return
    finally:
        os.close(pidfd)


def read_proc(path: str) -> bytes:
    """Return the content of a file of /proc; raises OSError."""
    # Each call that runs a program reads a dozen of these, and a file object takes five times as
    # many system calls.
    descriptor, pieces = os.open(path, os.O_RDONLY | os.O_CLOEXEC), []
    try:
        while piece := os.read(descriptor, _READ_BYTES):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def _child_numbers(pid: int) -> list[int]:
    numbers: list[int] = []
    with suppress(OSError):  # gone; or a system without these files
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                numbers += map(int, read_proc(f"/proc/{pid}/task/{task}/children").split())
    return numbers
