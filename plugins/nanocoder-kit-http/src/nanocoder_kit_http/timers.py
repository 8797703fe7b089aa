"""How long a request may take, and each of its phases."""

import time
from typing import Final, NamedTuple

from nanocoder import ProviderError

from nanocoder_kit_http.failures import FinalError

_DRAIN_S: Final = 0.2


class Timeouts(NamedTuple):
    """How long each phase may take, in seconds; *total_s* 0 means no limit.

    *header_s* 0 leaves it to the client: 60, 600 for a server on this machine, and no limit for a
    reply of a server on this machine or in its network. *idle_s* starts
    again with any byte, *progress_s* only with an event that carries data.
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
        """Return how long the request may still take; time is up below 0."""
        return self._total_until - time.monotonic()

    def read_s(self) -> float:
        """Return how long the next read may block; time is up below 0."""
        return self.remaining_s()


class RequestTimers(TotalTimer):
    """The timers of a reply that streams: header, silence, progress, and the total.

    With *is_patient* only the total counts until the first event. With *asks_once* a wait for the
    header that took too long is not tried again.
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
        """Take the header: from now on there has to be progress, but not for a patient wait."""
        if not self._is_patient:
            self.progressed()

    def progressed(self) -> None:
        """Start the progress timer again; the first time it replaces the header's."""
        self._is_patient = False
        self._progress_until = time.monotonic() + self._timeouts.progress_s

    def body_ended(self) -> None:
        """Allow a last short look for the end of the body, which keeps the connection usable."""
        self._total_until = min(self._total_until, time.monotonic() + _DRAIN_S)

    def read_s(self) -> float:
        """Return how long the next read may block; time is up below 0."""
        now = time.monotonic()
        if self._is_patient:
            until = float("inf")
        elif self._progress_until:
            until = min(now + self._timeouts.idle_s, self._progress_until)
        else:
            # Counted from the first look for an answer: sending a large request is not waiting.
            until = self._header_until = self._header_until or now + self._timeouts.header_s
        return min(until, self._total_until) - now

    def expired(self) -> ProviderError:
        """Tell which timer ended the wait."""
        now = time.monotonic()
        limits = self._timeouts
        if now >= self._total_until:
            return self._stalled(f"took longer than {limits.total_s:g} s in all")
        if not self._progress_until:
            # A server nearby still works on the request, and would do so twice.
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
