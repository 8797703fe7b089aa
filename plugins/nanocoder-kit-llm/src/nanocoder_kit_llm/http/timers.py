"""Timeouts of a request and of each of its phases."""

import time
from typing import Final, NamedTuple

from nanocoder import ProviderError

from nanocoder_kit_llm.http.failures import FinalError

_DRAIN_S: Final = 0.2


class Timeouts(NamedTuple):
    """Timeout of each phase, in seconds; *total_s* 0 means no limit.

    *header_s* 0 selects the client's default: 60, 600 for a server on this machine, and no limit
    for a reply of a server on this machine or in its network. *idle_s* restarts with any byte,
    *progress_s* only with an event that carries data.
    """

    connect_s: float = 10.0
    header_s: float = 60.0
    idle_s: float = 120.0
    progress_s: float = 300.0
    total_s: float = 0.0


class TotalTimer:
    """The time of a whole request with all its redirects; *total_s* 0 means no limit."""

    def __init__(self, total_s: float) -> None:
        self._started = time.monotonic()
        self._total_until = self._started + total_s if total_s else float("inf")

    def elapsed_s(self) -> float:
        """Return the seconds since the request began."""
        return time.monotonic() - self._started

    def remaining_s(self) -> float:
        """Return the seconds left for the request, negative after the deadline."""
        return self._total_until - time.monotonic()

    def read_s(self) -> float:
        """Return the seconds that the next read may block, negative after the deadline."""
        return self.remaining_s()


class RequestTimers(TotalTimer):
    """The timers of a streamed reply: header, silence, progress, and the total.

    With *is_patient* only the total applies until the first event. With *asks_once* a timeout of
    the header is not retried.
    """

    def __init__(
        self, timeouts: Timeouts, host: str, *, is_patient: bool = False, asks_once: bool = False
    ) -> None:
        super().__init__(timeouts.total_s)
        self._timeouts = timeouts
        self._host = host
        self._header_until = 0.0
        self._progress_until = 0.0
        self._is_patient = is_patient
        self._asks_once = asks_once

    def answered(self) -> None:
        """Record the header: from now on progress is required, except for a patient wait."""
        if not self._is_patient:
            self.progressed()

    def progressed(self) -> None:
        """Restart the progress timer; the first time it replaces the header's."""
        self._is_patient = False
        self._progress_until = time.monotonic() + self._timeouts.progress_s

    def body_ended(self) -> None:
        """Allow a last short read of the end of the body, which keeps the connection reusable."""
        self._total_until = min(self._total_until, time.monotonic() + _DRAIN_S)

    def read_s(self) -> float:
        """Return the seconds that the next read may block, negative after the deadline."""
        now = time.monotonic()
        if self._is_patient:
            until = float("inf")
        elif self._progress_until:
            until = min(now + self._timeouts.idle_s, self._progress_until)
        else:
            # Starts with the first read: sending a large request takes time, too.
            until = self._header_until = self._header_until or now + self._timeouts.header_s
        return min(until, self._total_until) - now

    def expired(self) -> ProviderError:
        """Return the error of the timer that expired."""
        now = time.monotonic()
        limits = self._timeouts
        if now >= self._total_until:
            return self._stalled(f"took longer than {limits.total_s:g} s in all")
        if not self._progress_until:
            # A local server still works on the request, and a retry would make it work twice.
            kind_of_error = FinalError if self._asks_once else ProviderError
            return kind_of_error(
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
