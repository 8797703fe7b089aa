"""Wait for a command: read its output, enforce its timeout, and obey an interruption."""

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
from nanocoder_kit_process.process_tree import ProcessTree

from nanocoder_tool_bash.capture import Capture
from nanocoder_tool_bash.live_output import LiveOutput
from nanocoder_tool_bash.terminal_wait import find_wait

QUIET_S: Final = 0.1  # a pipe that a child holds open is finished after this much silence …
DRAIN_S: Final = 2.0  # … and in any case after this
HURRIED_S: Final = 0.4  # timeout of each signal of an interruption
KILLED_S: Final = 2.0  # timeout of a killed process; one that hangs in the kernel stays
POLL_S: Final = 0.05  # between two checks where the kernel does not wake us …
CLOSE_POLL_S: Final = 0.005  # … and once the pipes are closed
LOOK_S: Final = 1.0  # until the first check for a program that waits for a terminal …
LOOK_FACTOR: Final = 1.5  # … and the interval grows by this factor


@frozen
class Limits:
    """Seconds: for the command, and for it to end after SIGINT, then after SIGTERM."""

    command_s: float
    interrupt_s: float
    terminate_s: float


class CancelPipe:
    """A pipe that becomes readable when the call is cancelled, from any thread."""

    def __init__(self, cancelled: Cancel) -> None:
        self.fd, self._write_fd = os.pipe()
        self._lock = threading.Lock()
        self._forget = cancelled.on_set(self._notify)

    def close(self) -> None:
        """Close the pipe."""
        self._forget()
        with self._lock:
            os.close(self.fd)
            os.close(self._write_fd)
            self._write_fd = -1

    def _notify(self) -> None:
        # Without the lock, a late write could go to another file that has this number by then.
        with self._lock:
            if self._write_fd >= 0:
                os.write(self._write_fd, b"!")


@define(eq=False)
class ProcessWait:
    """Reads until the leader has ended and its pipes are empty; sends ever stronger signals."""

    _process: "subprocess.Popen[bytes]"
    _tree: ProcessTree
    _captures: tuple[Capture, ...]
    _limits: Limits
    _live: LiveOutput
    timed_out: bool = False
    cancelled: bool = False
    needs_terminal: str = ""
    _look_s: float = LOOK_S
    _look_at: float = float("inf")
    _pidfd: int = -1
    _ended_at: float | None = None
    _output_at: float = 0.0
    _signal_at: float = 0.0
    _remaining_signals: Iterator[tuple[signal.Signals, float]] | None = None
    _given_up: bool = False

    def run(self, started: float, cancel_pipe: CancelPipe) -> None:
        """Return when the command has ended, or when even SIGKILL did not end it."""
        self._signal_at = started + self._limits.command_s
        self._look_at = started + LOOK_S
        self._pidfd = _open_pidfd(self._process.pid)
        try:
            self._run(cancel_pipe)
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)

    def _run(self, cancel_pipe: CancelPipe) -> None:
        poll = select.poll()
        for fd in (cancel_pipe.fd, self._pidfd, *(capture.fd for capture in self._captures)):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        now = time.monotonic()
        while not self._is_over(now):
            pause_s = min(self._pause(now), self._live.due_s(now))
            ready = {fd for fd, _ in poll.poll(1_000 * pause_s)}
            now = time.monotonic()
            self._read(ready, poll, now)
            self._live.pass_on(now)
            self._check_end(ready, now)
            if cancel_pipe.fd in ready:
                poll.unregister(cancel_pipe.fd)
                self.cancelled = not (self.timed_out or self.needs_terminal)
                self._signal_at = now
            if self._ended_at is None:
                self._look(now)
                if now >= self._signal_at:
                    self._send_signal(now)

    def _is_over(self, now: float) -> bool:
        if self._ended_at is None:
            return self._given_up
        if self._is_stopped or not self._has_open_pipe():
            return True
        return now >= min(max(self._ended_at, self._output_at) + QUIET_S, self._ended_at + DRAIN_S)

    @property
    def _is_stopped(self) -> bool:
        return self.timed_out or self.cancelled or bool(self.needs_terminal)

    def _has_open_pipe(self) -> bool:
        return any(capture.is_open for capture in self._captures)

    def _pause(self, now: float) -> float:
        if self._ended_at is not None:
            return QUIET_S
        remaining_s = max(0.0, min(self._signal_at, self._look_at) - now)
        if self._pidfd >= 0:
            return remaining_s
        return min(remaining_s, POLL_S if self._has_open_pipe() else CLOSE_POLL_S)

    def _read(self, ready: set[int], poll: select.poll, now: float) -> None:
        for capture in self._captures:
            if capture.fd in ready and capture.is_open:
                self._output_at = now
                capture.read()
                if not capture.is_open:
                    poll.unregister(capture.fd)

    def _check_end(self, ready: set[int], now: float) -> None:
        if self._ended_at is None and (self._pidfd < 0 or self._pidfd in ready):
            self._ended_at = now if _has_ended(self._process) else None

    def _look(self, now: float) -> None:
        """Stop the command at once if one of its programs waits for a terminal."""
        if now < self._look_at:
            return
        self._look_s *= LOOK_FACTOR
        self._look_at = now + self._look_s
        self.needs_terminal = find_wait(self._tree)
        if self.needs_terminal:
            self._look_at = float("inf")
            self._signal_at = now

    def _send_signal(self, now: float) -> None:
        """Send the next stronger signal, and set the time of the one after."""
        if self._remaining_signals is None:
            self.timed_out = not (self.cancelled or self.needs_terminal)
            self._remaining_signals = iter(self._signals())
        number, patience_s = next(self._remaining_signals, (None, 0.0))
        if number is None:
            self._given_up = True
            return
        self._tree.send(number)
        self._signal_at = now + patience_s

    def _signals(self) -> list[tuple[signal.Signals, float]]:
        most = HURRIED_S if self.cancelled or self.needs_terminal else float("inf")
        return [
            (signal.SIGINT, min(most, self._limits.interrupt_s)),
            (signal.SIGTERM, min(most, self._limits.terminate_s)),
            (signal.SIGKILL, KILLED_S),
        ]


def _open_pidfd(pid: int) -> int:
    """Return a descriptor that becomes readable when *pid* ends; -1 without support for it."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return True if the leader has ended, if possible without freeing its process id."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
