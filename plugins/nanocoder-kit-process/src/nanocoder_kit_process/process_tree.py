"""The process tree of a command or job, including processes that left its group or parent.

Linux: this process becomes the subreaper of its orphaned descendants, so that each of them stays
below it. A child of ours belongs to a tree if it is in the leader's session, was seen below the
leader, or has the tree's tag or a tampered one; so do all its descendants. On other systems
the tree is the leader's process group.

A process escapes if it removes its tag as root, or if it kills this process. Only a PID
namespace, as in a sandbox, contains such a process.
"""

import os
import signal
import time
from contextlib import suppress
from functools import cache
from typing import Final

from nanocoder_kit_process import process_tag as tags
from nanocoder_kit_process.process_tag import UNLIMITED, ProcessTag, limits_of
from nanocoder_kit_process.processes import (
    Process,
    children,
    lineage,
    pids_of_user,
    process,
    send,
)

POLITE_S: Final = 0.25  # time for background processes to tidy up after the call
FORCE_S: Final = 2.0
LOOK_S: Final = 0.003
MOMENT_S: Final = 0.000_5  # for a process that exits by itself, like that of a sandbox

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


@cache
def guard() -> None:
    """Adopt orphaned descendants, and prevent children from reading our memory and environment.

    Both are permanent for this process. Children of root can still read everything.
    Also kills the processes that a killed nanocoder has left behind.
    """
    # Not known to the interpreter itself; costs 3 ms once.
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        end_orphans()


class ProcessTree:
    """The processes with one *tag*.

    *leader* leads its own session; *is_led* is false for a leader that exits before the others.
    """

    def __init__(self, tag: ProcessTag, leader: int, *, is_led: bool = True) -> None:
        """Tag *leader*, the ancestor of all others."""
        tags.put_on(tag, leader)
        self.leader = leader if is_led else -1
        self._tag = tag
        leading = process(leader)
        self._born = 0 if leading is None else leading.born
        self._seen: set[tuple[int, int]] = set()

    def send(self, number: signal.Signals) -> None:
        """Signal all members; a leader that was waited for may have passed on its number."""
        members = self.members()  # before any of them loses its parent
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for member in members:
            if member.group != self.leader:
                send(member, number)

    def end(self) -> list[str]:
        """End the living members, politely and then by force, and return their names."""
        alive = self._alive_in_a_moment()
        names = sorted(member.name for member in alive if not member.is_ending)
        for number, patience_s in ((signal.SIGTERM, POLITE_S), (signal.SIGKILL, FORCE_S)):
            until = time.monotonic() + patience_s
            signalled: set[int] = set()
            while alive and time.monotonic() < until:
                for member in alive:
                    if member.pid not in signalled:
                        signalled.add(member.pid)
                        send(member, number)
                time.sleep(LOOK_S)
                alive = self._alive()
        self._reap()
        return names

    def _alive_in_a_moment(self) -> list[Process]:
        """Return the living members, after those have ended that do so by themselves."""
        alive = self._alive()
        until = time.monotonic() + (MOMENT_S if alive else 0)
        until_ended = until + POLITE_S
        while alive:
            now = time.monotonic()
            if now > until_ended or (now > until and not all(each.is_ending for each in alive)):
                break
            time.sleep(MOMENT_S / 2)
            alive = self._alive()
        return alive

    def _alive(self) -> list[Process]:
        members = self.members()
        alive = [member for member in members if not member.is_dead]
        if alive or len(members) <= 1:
            return alive
        # A process that was reparented meanwhile was missed, but is our child now.
        return [member for member in self.members() if not member.is_dead]

    def members(self) -> list[Process]:
        """Return all processes of this call, zombies included."""
        members = []
        queue = [child for child in children(os.getpid()) if self._is_ours(child)]
        while queue:
            member = queue.pop()
            members.append(member)
            queue += children(member.pid)
        self._seen.update((member.pid, member.born) for member in members)
        return members

    def _is_ours(self, child: Process) -> bool:
        if child.session == self.leader or self._is_known(child):
            return True
        return tags.has_in_environment(child.pid, self._tag)

    def _is_known(self, child: Process) -> bool:
        if (child.pid, child.born) in self._seen:
            return True
        now, most = limits_of(child.pid)
        if now == self._tag.number:
            return True
        # The process removed its tag, which never happens by accident; ours never had one.
        is_tampered = most != UNLIMITED and ProcessTag.of_number(now) is None
        return is_tampered and child.born >= self._born and limits_of(os.getpid()).most == UNLIMITED

    def _reap(self) -> None:
        """Wait for adopted processes that have died, since nothing else does."""
        ours = os.getsid(0)
        for child in children(os.getpid()):
            # A process that we started shares our session or leads one; other code may wait for it.
            is_adopted = child.session not in {ours, child.pid}
            is_known = child.pid != self.leader and self._is_known(child)
            if child.is_dead and (is_adopted or is_known):
                with suppress(ChildProcessError):  # another call was faster
                    os.waitpid(child.pid, os.WNOHANG)


def end_orphans() -> None:
    """Kill all processes whose tag names an ended process, regardless of their parent."""
    until = time.monotonic() + FORCE_S
    while (orphans := _orphans()) and time.monotonic() < until:
        for each in orphans:
            send(each, signal.SIGKILL)
        time.sleep(LOOK_S)


def _orphans() -> list[Process]:
    ancestors = frozenset(lineage(os.getpid()))
    # Our ancestors and all processes with their tag are in use.
    spared = {tags.tag_of(pid) for pid in ancestors}
    orphans = []
    for pid in pids_of_user(os.getuid()):
        tag = tags.tag_of(pid)
        if tag is None or tag in spared or not tag.is_orphan or not _is_here(pid):
            continue
        each = process(pid)
        if each is not None and not each.is_dead:
            orphans.append(each)
    return orphans


def _is_here(pid: int) -> bool:
    """Return True if a process is in our PID namespace: in another one its numbers mean others."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid")
    except OSError:
        return False
