"""A thread that has the next command's sandbox made as the workspace is after a call.

The places that a sandbox shows are listed anew for each command. A command, or a tool that writes
files, may change that list; so they are listed while the model thinks, too.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

PAUSE_S: Final = 0.005
"""How long the result of the call has the processor first."""
END_S: Final = 1.0


class Foresight:
    """Calls *prepare* on a thread, a moment after each `wake`."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._prepare = prepare
        self._guard = threading.Lock()
        self._woken, self._closed = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Have it called, from now on at most once until the next time."""
        self._woken.set()
        with self._guard:
            if self._thread is None and not self._closed.is_set():
                # A daemon: a session that is dropped must not keep the program from ending.
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Call it no more."""
        self._closed.set()
        self._woken.set()
        with self._guard:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(END_S)

    def _run(self) -> None:
        while self._woken.wait():
            if self._closed.wait(PAUSE_S):
                return
            self._woken.clear()
            # The next command meets the same problem, and reports it.
            with suppress(Exception):
                self._prepare()
