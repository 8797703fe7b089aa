"""Cancelling: one flag that wakes what blocks."""

import threading
from collections.abc import Callable

from nanocoder.errors import Cancelled


class Cancel:
    """Set once, from any thread; wakes waits and runs callbacks.

    A child is set with its parent, not the reverse.
    """

    def __init__(self, parent: "Cancel | None" = None) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._next = 0
        self.reason = ""
        self._detach = parent.on_set(lambda: self.set(parent.reason)) if parent else None

    def is_set(self) -> bool:
        """Tell whether the work should stop."""
        return self._event.is_set()

    def set(self, reason: str = "interrupted") -> None:
        """Stop the work; later calls change nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def on_set(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call *callback* when set, at once if it is; return what takes the wish back."""
        with self._lock:
            if not self._event.is_set():
                key = self._next
                self._next += 1
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until set or *timeout_s* seconds have passed; True when set."""
        return self._event.wait(timeout_s)

    def check(self) -> None:
        """Raise `Cancelled` when set."""
        if self._event.is_set():
            raise Cancelled(self.reason or "interrupted")

    def close(self) -> None:
        """Let go of the parent, once the work is over."""
        if self._detach:
            self._detach()
            self._detach = None
