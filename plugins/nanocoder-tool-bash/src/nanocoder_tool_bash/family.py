"""All processes that a command started, also those that left its group or lost their parents.

Linux: this process becomes the reaper of its orphaned descendants, so that each of them can be
found below it. A child of ours belongs to a call when it is in the leader's session, was seen below
the leader or carries the call's brand; then everything below it does. Other systems know the
leader's group only.

The brand is a resource limit that means nothing to ordinary programs and is handed down to each
child: the real-time CPU limit, in microseconds, far beyond any use, with the leader's number in it.
Unlike an environment it stays readable in a zombie, and it is not lost by accident. Processes that
are born before the limit is set, in the first moments of the shell, have the environment's mark.

What escapes: a process that sets out to. Only a PID namespace, which a sandbox has, holds that one.
"""

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

MARK: Final = "NANOCODER_CALL"
POLITE_S: Final = 0.25  # what background processes get to tidy up when the call is over
FORCE_S: Final = 2.0
LOOK_S: Final = 0.003
BRAND: Final = 10**15  # µs of real-time CPU: 31 years

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def guard() -> None:
    """Adopt orphaned descendants, and keep children from reading our memory and environment.

    Both hold for the whole process and stay. Root's children can still read what they like.
    """
    # Not known to the interpreter itself; costs 3 ms once.
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


class Process(NamedTuple):
    """One line of /proc/PID/stat; *born* tells two processes of one number apart."""

    pid: int
    name: str
    state: str
    group: int
    session: int
    born: int

    @property
    def is_dead(self) -> bool:
        """Tell whether it has ended, whether or not anybody has waited for it."""
        return self.state in "ZX"


class Family:
    """The processes of one call: its *leader*, in a session of its own, and what came from it."""

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._mark = f"{MARK}={mark}\0".encode()
        self._seen: set[tuple[int, int]] = set()
        with suppress(OSError, ValueError):  # a hard limit is set: the mark has to do
            _, hard = resource.prlimit(leader, resource.RLIMIT_RTTIME)
            resource.prlimit(leader, resource.RLIMIT_RTTIME, (BRAND + leader, hard))

    def send(self, number: signal.Signals) -> None:
        """Signal everybody; once somebody waited for the leader, its number may be another's."""
        members = self._members()  # before anybody loses a parent
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for member in members:
            if member.group != self.leader:
                _send(member, number)

    def end(self) -> list[str]:
        """End whoever is left, politely and then by force, and return their names."""
        left = self._alive()
        names = sorted(member.name for member in left)
        for number, patience_s in ((signal.SIGTERM, POLITE_S), (signal.SIGKILL, FORCE_S)):
            until = time.monotonic() + patience_s
            told: set[int] = set()
            while left and time.monotonic() < until:
                for member in left:
                    if member.pid not in told:
                        told.add(member.pid)
                        _send(member, number)
                time.sleep(LOOK_S)
                left = self._alive()
        self._reap()
        return names

    def _alive(self) -> list[Process]:
        members = self._members()
        alive = [member for member in members if not member.is_dead]
        if alive or len(members) <= 1:
            return alive
        # Whoever lost its parent while the lists were read was missed; it is below us by now.
        return [member for member in self._members() if not member.is_dead]

    def _members(self) -> list[Process]:
        """Everybody of this call, dead ones that nobody has waited for included."""
        found = []
        queue = [child for child in _children(os.getpid()) if self._is_ours(child)]
        while queue:
            member = queue.pop()
            found.append(member)
            queue += _children(member.pid)
        self._seen.update((member.pid, member.born) for member in found)
        return found

    def _is_ours(self, child: Process) -> bool:
        if child.session == self.leader or self._is_known(child):
            return True
        try:
            return self._mark in Path(f"/proc/{child.pid}/environ").read_bytes()
        except OSError:  # gone, or another user's
            return False

    def _is_known(self, child: Process) -> bool:
        if (child.pid, child.born) in self._seen:
            return True
        try:
            return resource.prlimit(child.pid, resource.RLIMIT_RTTIME)[0] == BRAND + self.leader
        except OSError:  # gone, or another user's
            return False

    def _reap(self) -> None:
        """Wait for adopted processes that have died; nobody else will."""
        ours = os.getsid(0)
        for child in _children(os.getpid()):
            # What was started here shares our session or leads one; somebody may wait for it.
            is_adopted = child.session not in {ours, child.pid}
            is_known = child.pid != self.leader and self._is_known(child)
            if child.is_dead and (is_adopted or is_known):
                with suppress(ChildProcessError):  # another call was faster
                    os.waitpid(child.pid, os.WNOHANG)


def _send(member: Process, number: signal.Signals) -> None:
    """Signal *member*, and never a newer process with the same number."""
    try:
        handle = os.pidfd_open(member.pid)
    except OSError:
        return
    try:
        now = _process(member.pid)
        if now is not None and now.born == member.born:
            signal.pidfd_send_signal(handle, number)
    except OSError:  # gone meanwhile, or another user's
        return
    finally:
        os.close(handle)


def _children(pid: int) -> Iterator[Process]:
    for number in _child_numbers(pid):
        process = _process(number)
        if process is not None:
            yield process


def _child_numbers(pid: int) -> list[int]:
    numbers: list[int] = []
    with suppress(OSError):  # gone; or a system without these files
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                numbers += map(int, (task / "children").read_bytes().split())
    return numbers


def _process(pid: int) -> Process | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name may itself hold spaces and brackets.
    name, _, rest = line.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(pid, name, fields[0], int(fields[2]), int(fields[3]), int(fields[19]))
