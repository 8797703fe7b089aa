"""The terminal after a stop: a shell has set it for itself, and hands it over with `fg`."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

LOOK_S: Final = 0.1


@contextmanager
def taking_back(take: Callable[[], object]) -> Iterator[None]:
    """Call *take* on another thread whenever the terminal is ours again after a stop.

    `fg` sends no signal to a job that SIGCONT from elsewhere has continued, so after a SIGCONT in
    the background the thread looks until we are in the foreground.
    """
    ended = threading.Event()

    def wait() -> None:
        with suppress(OSError):  # the terminal has gone
            while not is_foreground():
                if ended.wait(LOOK_S):
                    return
            take()

    def go_on(_number: int, _frame: Any) -> None:
        # In the background a look at the keyboard would stop us once more.
        with suppress(OSError):
            signal.signal(signal.SIGTTIN, reading if is_foreground() else signal.SIG_IGN)
        threading.Thread(target=wait, daemon=True).start()

    reading = signal.getsignal(signal.SIGTTIN)
    before = signal.signal(signal.SIGCONT, go_on)
    try:
        yield
    finally:
        ended.set()
        signal.signal(signal.SIGCONT, before)
        signal.signal(signal.SIGTTIN, reading)


def is_foreground() -> bool:
    """Return True if the terminal hands its keys to us; raises OSError without a terminal."""
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
