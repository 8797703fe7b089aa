"""All processes that a command or a job started, also those that left its group or lost parents.

Linux: this process becomes the reaper of its orphaned descendants, so that each of them can be
found below it. A child of ours belongs to a family when it is in the leader's session, was seen
below the leader, or carries the family's brand or one that was tampered with; then everything below
it does. Other systems know the leader's group only.

What escapes: a process that takes off its brand as root, or that ends this process, too. Only a PID
namespace, which a sandbox has, holds that one.
"""

import os
import signal
import time
from contextlib import suppress
from functools import cache
from typing import Final

from nanocoder_kit_process import brand as brands
from nanocoder_kit_process.brand import UNLIMITED, Brand, limits_of
from nanocoder_kit_process.processes import (
    Process,
    children,
    everybody,
    lineage,
    process,
    send,
)

POLITE_S: Final = 0.25  # what background processes get to tidy up when the call is over
FORCE_S: Final = 2.0
LOOK_S: Final = 0.003

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


@cache
def guard() -> None:
    """Adopt orphaned descendants, and keep children from reading our memory and environment.

    Both hold for the whole process and stay. Root's children can still read what they like. What
    a process that was killed has left behind is ended.
    """
    # Not known to the interpreter itself; costs 3 ms once.
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        end_orphans()


class Family:
    """The processes of one *brand*.

    *leader*, if it is none of a job whose leader is gone, leads a session of its own.
    """

    def __init__(self, brand: Brand, leader: int, *, is_led: bool = True) -> None:
        """Brand *leader*, from which all others come."""
        brands.put_on(brand, leader)
        self.leader = leader if is_led else -1
        self._brand = brand
        found = process(leader)
        self._born = 0 if found is None else found.born
        self._seen: set[tuple[int, int]] = set()

    def send(self, number: signal.Signals) -> None:
        """Signal everybody; once somebody waited for the leader, its number may be another's."""
        members = self._members()  # before anybody loses a parent
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for member in members:
            if member.group != self.leader:
                send(member, number)

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
                        send(member, number)
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
        queue = [child for child in children(os.getpid()) if self._is_ours(child)]
        while queue:
            member = queue.pop()
            found.append(member)
            queue += children(member.pid)
        self._seen.update((member.pid, member.born) for member in found)
        return found

    def _is_ours(self, child: Process) -> bool:
        if child.session == self.leader or self._is_known(child):
            return True
        return brands.has_in_environment(child.pid, self._brand)

    def _is_known(self, child: Process) -> bool:
        if (child.pid, child.born) in self._seen:
            return True
        now, most = limits_of(child.pid)
        if now == self._brand.number:
            return True
        # It had a brand, and took it off: nobody does that by accident. Ours are all unbranded.
        is_tampered = most != UNLIMITED and Brand.of_number(now) is None
        return is_tampered and child.born >= self._born and limits_of(os.getpid()).most == UNLIMITED

    def _reap(self) -> None:
        """Wait for adopted processes that have died; nobody else will."""
        ours = os.getsid(0)
        for child in children(os.getpid()):
            # What was started here shares our session or leads one; somebody may wait for it.
            is_adopted = child.session not in {ours, child.pid}
            is_known = child.pid != self.leader and self._is_known(child)
            if child.is_dead and (is_adopted or is_known):
                with suppress(ChildProcessError):  # another call was faster
                    os.waitpid(child.pid, os.WNOHANG)


def end_orphans() -> None:
    """End what carries the brand of a process that is no more, whoever it belongs to by now."""
    until = time.monotonic() + FORCE_S
    while (left := _orphans()) and time.monotonic() < until:
        for each in left:
            send(each, signal.SIGKILL)
        time.sleep(LOOK_S)


def _orphans() -> list[Process]:
    ancestors = frozenset(lineage(os.getpid()))
    # What we come from ourselves is in use again, and so is all that has its brand.
    spared = {brands.brand_of(pid) for pid in ancestors}
    found = []
    for pid in everybody(os.getuid()):
        brand = brands.brand_of(pid)
        if brand is None or brand in spared or not brand.is_orphan or not _is_here(pid):
            continue
        each = process(pid)
        if each is not None and not each.is_dead:
            found.append(each)
    return found


def _is_here(pid: int) -> bool:
    """Tell whether a process counts as we do: in a container, an owner has another number."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
