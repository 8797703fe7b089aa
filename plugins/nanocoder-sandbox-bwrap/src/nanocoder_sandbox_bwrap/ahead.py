"""Opens a session's sandbox while the model gives its first answer, and looks again at each."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from nanocoder_sandbox_bwrap.bubblewrap import Bubblewrap

IDLE_S: Final = 0.3
"""How long the model may take to answer until the sandbox is opened: the request goes first."""
END_S: Final = 2.0


class OpenedAhead:
    """The sandbox of a session, once it was opened here."""

    def __init__(self) -> None:
        self._sandbox: Bubblewrap | None = None
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, open_sandbox: "Callable[[], Bubblewrap | None]") -> None:
        """Have a sandbox made for the next command, by a thread; the model is being asked."""
        if self._sandbox is not None:
            self._sandbox.foresee()
        elif self._thread is None or not self._thread.is_alive():
            self._answered = threading.Event()
            # A daemon: a session that is dropped must not keep the program from ending.
            self._thread = threading.Thread(
                target=self._open, args=(open_sandbox, self._answered), daemon=True
            )
            self._thread.start()

    def answered(self) -> None:
        """Take note that the model has answered: what was not begun is left to the command."""
        self._answered.set()

    def end(self) -> None:
        """Wait for what was begun: the session closes what it has opened."""
        self.answered()
        if self._thread is not None:
            self._thread.join(END_S)

    def _open(
        self, open_sandbox: "Callable[[], Bubblewrap | None]", answered: threading.Event
    ) -> None:
        if answered.wait(IDLE_S):
            return
        # The first command meets the same problem, and reports it.
        with suppress(Exception):
            sandbox = open_sandbox()
            if sandbox is not None:
                sandbox.foresee()
            self._sandbox = sandbox
