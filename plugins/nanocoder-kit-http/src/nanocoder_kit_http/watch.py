"""The timers of one request, and the hand that ends it from another thread."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from attrs import frozen
from nanocoder import Cancelled, ProviderError

from nanocoder_kit_http.failures import FinalError

_DRAIN_S: Final = 0.2


@frozen
class Timeouts:
    """How long each phase may take, in seconds; *total_s* 0 means no limit.

    *header_s* 0 leaves it to the client: 60, or 600 for a server on this machine. *idle_s* starts
    again with any byte, *progress_s* only with an event that carries data.
    """

    connect_s: float = 10.0
    header_s: float = 60.0
    idle_s: float = 120.0
    progress_s: float = 300.0
    total_s: float = 0.0


class Watch:
    """Says how long the next read may block; `abort` ends that read at once, from any thread."""

    def __init__(
        self, timeouts: Timeouts, host: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._timeouts = timeouts
        self._host = host
        self._clock = clock
        self._total_until = clock() + timeouts.total_s if timeouts.total_s else float("inf")
        self._header_until = 0.0
        self._progress_until = 0.0
        self._socket: socket.socket | None = None
        self._aborted = False

    def hold(self, sock: socket.socket) -> None:
        """Make *sock* the one that `abort` shuts down; raises Cancelled after an abort."""
        self._socket = sock
        if self._aborted:
            raise Cancelled("interrupted")

    def abort(self) -> None:
        """Wake whoever reads or writes."""
        self._aborted = True
        if self._socket is not None:
            with suppress(OSError):
                # Not sock.shutdown: that of a TLS socket takes its state away under the reader.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def body_begins(self) -> None:
        """Change from the header's timer to those of the body."""
        self.progressed()

    def progressed(self) -> None:
        """Start the progress timer again."""
        self._progress_until = self._clock() + self._timeouts.progress_s

    def body_ended(self) -> None:
        """Allow a last short look for the end of the body, which keeps the connection usable."""
        self._total_until = min(self._total_until, self._clock() + _DRAIN_S)

    def seconds_left(self) -> float:
        """Return how long the next read may block; raises ProviderError when time is up."""
        now = self._clock()
        left = self._next_deadline(now) - now
        if left <= 0:
            raise self.expired()
        return left

    def expired(self) -> ProviderError:
        """Tell which timer ended the wait."""
        now = self._clock()
        limits = self._timeouts
        if now >= self._total_until:
            return self._stalled(f"took longer than {limits.total_s:g} s in all")
        if not self._progress_until:
            return ProviderError(
                f"{self._host} did not begin to answer within {limits.header_s:g} s "
                "(setting header_timeout_s)",
                kind="network",
            )
        if now >= self._progress_until:
            return self._stalled(f"sent nothing of the reply for {limits.progress_s:g} s")
        return ProviderError(
            f"{self._host} sent nothing for {limits.idle_s:g} s (setting idle_timeout_s)",
            kind="network",
        )

    def _stalled(self, what: str) -> ProviderError:
        return FinalError(f"the reply stalled: {self._host} {what}", kind="network")

    def _next_deadline(self, now: float) -> float:
        if self._progress_until:
            return min(now + self._timeouts.idle_s, self._progress_until, self._total_until)
        # Counted from the first look for an answer: sending a large request is not waiting.
        self._header_until = self._header_until or now + self._timeouts.header_s
        return min(self._header_until, self._total_until)
