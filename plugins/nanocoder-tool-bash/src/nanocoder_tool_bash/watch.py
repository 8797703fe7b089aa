"""Watching a command: its output, its end, its limit, and the person who interrupts."""

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Final

from attrs import define, frozen
from nanocoder import Cancel
from nanocoder_kit_process.family import Family

from nanocoder_tool_bash.capture import Capture

QUIET_S: Final = 0.1  # a pipe that a child keeps open counts as finished after this much silence …
DRAIN_S: Final = 2.0  # … and in any case after this
HURRY_S: Final = 0.4  # a person who interrupts waits no longer for each signal to work
KILLED_S: Final = 2.0  # for a killed process to be gone; one that hangs in the kernel stays
LOOK_S: Final = 0.05  # between two looks where the kernel does not wake us …
LOOK_CLOSELY_S: Final = 0.005  # … and once the pipes are closed


@frozen
class Limits:
    """Seconds: for the command, and for it to end after SIGINT, then after SIGTERM."""

    command_s: float
    interrupt_s: float
    terminate_s: float


class Bell:
    """A descriptor that becomes readable when the call is cancelled, from whatever thread."""

    def __init__(self, cancelled: Cancel) -> None:
        self.fd, self._button = os.pipe()
        self._lock = threading.Lock()
        self._forget = cancelled.on_set(self._ring)

    def close(self) -> None:
        """Take the bell down."""
        self._forget()
        with self._lock:
            os.close(self.fd)
            os.close(self._button)
            self._button = -1

    def _ring(self) -> None:
        # Without the lock, a late ring could write into whatever has this number by then.
        with self._lock:
            if self._button >= 0:
                os.write(self._button, b"!")


@define(eq=False)
class Watch:
    """Reads until the leader is gone and its pipes are dry; climbs a ladder of signals."""

    _process: "subprocess.Popen[bytes]"
    _family: Family
    _captures: tuple[Capture, ...]
    _limits: Limits
    timed_out: bool = False
    cancelled: bool = False
    _handle: int = -1
    _gone_at: float | None = None
    _heard_at: float = 0.0
    _next_at: float = 0.0
    _ladder: Iterator[tuple[signal.Signals, float]] | None = None
    _given_up: bool = False

    def run(self, started: float, bell: Bell) -> None:
        """Return when the command is over, or when even SIGKILL did not help."""
        self._next_at = started + self._limits.command_s
        self._handle = _handle(self._process.pid)
        try:
            self._run(bell)
        finally:
            if self._handle >= 0:
                os.close(self._handle)

    def _run(self, bell: Bell) -> None:
        poll = select.poll()
        for fd in (bell.fd, self._handle, *(capture.fd for capture in self._captures)):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        now = time.monotonic()
        while not self._is_over(now):
            ready = {fd for fd, _ in poll.poll(1_000 * self._pause(now))}
            now = time.monotonic()
            self._read(ready, poll, now)
            self._look(ready, now)
            if bell.fd in ready:
                poll.unregister(bell.fd)
                self.cancelled = not self.timed_out
                self._next_at = now
            if self._gone_at is None and now >= self._next_at:
                self._climb(now)

    def _is_over(self, now: float) -> bool:
        if self._gone_at is None:
            return self._given_up
        if self.timed_out or self.cancelled or not self._has_open_pipe():
            return True
        return now >= min(max(self._gone_at, self._heard_at) + QUIET_S, self._gone_at + DRAIN_S)

    def _has_open_pipe(self) -> bool:
        return any(capture.is_open for capture in self._captures)

    def _pause(self, now: float) -> float:
        if self._gone_at is not None:
            return QUIET_S
        left = max(0.0, self._next_at - now)
        if self._handle >= 0:
            return left
        return min(left, LOOK_S if self._has_open_pipe() else LOOK_CLOSELY_S)

    def _read(self, ready: set[int], poll: select.poll, now: float) -> None:
        for capture in self._captures:
            if capture.fd in ready and capture.is_open:
                self._heard_at = now
                capture.read()
                if not capture.is_open:
                    poll.unregister(capture.fd)

    def _look(self, ready: set[int], now: float) -> None:
        if self._gone_at is None and (self._handle < 0 or self._handle in ready):
            self._gone_at = now if _is_gone(self._process) else None

    def _climb(self, now: float) -> None:
        """Send the next stronger signal, and note when the one after is due."""
        if self._ladder is None:
            self.timed_out = not self.cancelled
            self._ladder = iter(self._rungs())
        number, patience_s = next(self._ladder, (None, 0.0))
        if number is None:
            self._given_up = True
            return
        self._family.send(number)
        self._next_at = now + patience_s

    def _rungs(self) -> list[tuple[signal.Signals, float]]:
        most = HURRY_S if self.cancelled else float("inf")
        return [
            (signal.SIGINT, min(most, self._limits.interrupt_s)),
            (signal.SIGTERM, min(most, self._limits.terminate_s)),
            (signal.SIGKILL, KILLED_S),
        ]


def _handle(pid: int) -> int:
    """Return a descriptor that becomes readable when *pid* ends; -1 where there is none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _is_gone(process: "subprocess.Popen[bytes]") -> bool:
    """Tell whether the leader has ended, if possible without giving up its number."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
