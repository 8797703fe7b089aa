"""The signals that end a command: a handler records them, a thread reacts.

A handler runs between any two instructions of the main thread, which may hold any lock. So it takes
no lock and raises nothing; waiting code is woken by its `Cancel`.
"""

import contextlib
import os
import queue
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

from nanocoder_console.streams import is_terminal

GRACE_S = 1.0
"""The seconds after the first signal until what does not end by itself is ended."""
EXIT_BASE = 128
"""The exit code that a shell reports for a signal is this plus the signal's number."""
SHOW_CURSOR = b"\x1b[?25h\x1b[?2004l\r\n"

React = Callable[[int], object]


class Signals:
    """Handling of SIGINT, SIGTERM and SIGHUP while it is entered; may be entered repeatedly.

    The function registered by `obeyed_by` handles the first signal. The second one ends the
    process at once. *blocking* names what no such function can stop, "" for nothing: while it
    names something a second after the first signal, the process ends, too.
    """

    def __init__(self, blocking: Callable[[], str] = str) -> None:
        self._blocking = blocking
        self._received: list[int] = []
        self._inbox: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._reactions: list[React] = []
        self._lock = threading.Lock()  # never taken by the handler
        self._before: dict[int, Any] = {}
        self._depth = 0
        self._terminal: list[Any] = []

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1 and threading.current_thread() is threading.main_thread():
            self._terminal = termios.tcgetattr(sys.stdin.fileno()) if is_terminal(sys.stdin) else []
            threading.Thread(target=self._react, name="nanocoder-signals", daemon=True).start()
            for number in _numbers():
                self._before[number] = signal.signal(number, self._record)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        self._inbox.put(0)
        # A terminal that has hung up refuses further output.
        if self.number and isinstance(error, (OSError, KeyboardInterrupt)):
            raise SystemExit(self.exit_code) from error

    @property
    def number(self) -> int:
        """The number of the first signal; 0 if there was none."""
        return next(iter(self._received), 0)

    @property
    def exit_code(self) -> int:
        """The exit code of a command that the signal ended."""
        return EXIT_BASE + self.number

    @contextlib.contextmanager
    def obeyed_by(self, react: React) -> Iterator[None]:
        """Call *react* with the number of a signal, on another thread.

        An earlier signal is handled at once.
        """
        with self._lock:
            self._reactions.append(react)
        if self.number:
            react(self.number)
        try:
            yield
        finally:
            with self._lock:
                self._reactions.remove(react)

    def forget_interrupts(self) -> int:
        """Drop all SIGINTs so far, which were handled; return another signal's number, or 0."""
        received = list(self._received)
        for number in received:
            if number != signal.SIGINT:
                return number
        del self._received[: len(received)]
        return 0

    def _record(self, number: int, _frame: object) -> None:
        # Both operations are atomic, and safe in a signal handler.
        self._received.append(number)
        self._inbox.put(number)

    def _react(self) -> None:
        while number := self._next():
            if len(received := list(self._received)) > 1:
                self._leave(received[-1])  # this thread may see both at once
            with self._lock:
                reactions = self._reactions[-1:]
            for react in reactions:
                # On a thread of its own: if it hangs, the second signal is still handled.
                threading.Thread(target=react, args=(number,), daemon=True).start()

    def _next(self) -> int:
        """Return the next signal; after the first one, end the process if something blocks it."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._inbox.get(timeout=GRACE_S if self.number else None)
            if (number := self.number) and (name := self._blocking()):
                # Not by `complain`, which may wait for the same thing to redact its text.
                os.write(2, f"nanocoder: interrupted while {name}\n".encode())
                self._leave(number)

    def _leave(self, number: int) -> None:
        """End the process; its children end with it, and the journal has every event so far."""
        with contextlib.suppress(Exception):
            _restore_terminal(self._terminal)
        os._exit(EXIT_BASE + number)


def _numbers() -> list[int]:
    numbers = [int(signal.SIGINT), int(signal.SIGTERM)]
    # Under nohup SIGHUP is ignored; some systems do not have it.
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        numbers.append(int(hangup))
    return numbers


def _restore_terminal(settings: list[Any]) -> None:
    """Restore the terminal's *settings*; raises without a terminal."""
    # tcsetattr would stop a process in the background.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, settings)
    if os.isatty(1) and select.select([], [1], [], 0)[1]:
        os.write(1, SHOW_CURSOR)
