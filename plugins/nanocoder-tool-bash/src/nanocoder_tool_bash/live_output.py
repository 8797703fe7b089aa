"""The output of a command while it runs: in pieces, for the person who watches."""

import codecs
from collections.abc import Callable
from typing import Final

INTERVAL_S: Final = 0.016
"""Pieces come at most this often; more would never be seen on a screen."""
PIECE_CHARS: Final = 4_096
"""The most that one piece has: of a flood the end is passed on, and the result has the rest."""


class LiveOutput:
    """Joins the output of several streams and passes it to *show*."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}
        self._waiting = ""
        self._shown_at = 0.0

    def add(self, stream: int, chunk: bytes) -> None:
        """Add output of a stream; bytes that are no text are dropped."""
        if b"\0" in chunk:
            return
        decoder = self._decoders.get(stream)
        if decoder is None:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            self._decoders[stream] = decoder
        self._waiting = (self._waiting + decoder.decode(chunk))[-PIECE_CHARS:]

    def due_s(self, now: float) -> float:
        """Return in how many seconds `pass_on` has something to do."""
        return max(0.0, self._shown_at + INTERVAL_S - now) if self._waiting else float("inf")

    def pass_on(self, now: float) -> None:
        """Show the pending output, unless the last piece was a moment ago."""
        if self._waiting and now >= self._shown_at + INTERVAL_S:
            self.finish()
            self._shown_at = now

    def finish(self) -> None:
        """Show the pending output."""
        if self._waiting:
            self._show(self._waiting)
            self._waiting = ""
