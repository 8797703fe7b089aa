"""An answer while it arrives: lines that can no longer change, and those still being written."""

import re
import threading
import time
from typing import TYPE_CHECKING, Final

from nanocoder_ui_terminal.text_lines import clean

if TYPE_CHECKING:
    from nanocoder_ui_terminal.markdown_lines import MarkdownRenderer

MIN_INTERVAL_S: Final = 0.033
COST_FACTOR: Final = 4
"""After a frame, the pause is this many times as long as drawing took."""


OPEN_CHARS: Final = 50_000
NUMBER: Final = re.compile(r"\A *\d{1,9}(?=[.)])")


class Answer:
    """Collects pieces of text and makes lines of them."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._renderer: MarkdownRenderer | None = None
        self._pieces: list[str] = []
        self._text = ""
        self._due = 0.0
        self._gap: list[str] = []

    def prepare(self) -> None:
        """Import the renderer while the first words are awaited."""
        if self._renderer is None:
            threading.Thread(target=lambda: self.renderer, daemon=True).start()

    def feed(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)

    def is_due(self) -> bool:
        """Return True if the answer is due to be drawn again."""
        return bool(self._pieces) and time.monotonic() >= self._due

    def draw(self, width: int) -> tuple[list[str], list[str]]:
        """Return the lines that stay, each once, and those that are still open."""
        started = time.monotonic()
        self._take()
        complete, rest, is_inside = self.renderer.split_complete(clean(self._text))
        stay: list[str] = []
        if complete:
            stay = self._lines(complete, width)
            self._text = self._text.split("\n", complete.count("\n"))[-1]
            if number := NUMBER.match(rest):  # a list that was cut goes on counting
                self._text = NUMBER.sub(number[0], self._text, count=1)
        if stay:
            self._gap = [] if is_inside else [""]
        # Only the end of the open part can be on the screen.
        open_lines = self._lines(rest[-OPEN_CHARS:], width)
        ended = time.monotonic()
        self._due = ended + max(MIN_INTERVAL_S, COST_FACTOR * (ended - started))
        return stay, open_lines

    def finish(self, width: int) -> list[str]:
        """Return the remaining lines and start again."""
        self._take(last=True)
        if not self._text.strip():
            self._text, self._gap = "", []
            return []
        lines = self._lines(clean(self._text), width)
        self._text, self._gap, self._due = "", [], 0.0
        return lines

    @property
    def renderer(self) -> "MarkdownRenderer":
        """The renderer, imported when the first text arrives."""
        if self._renderer is None:
            from nanocoder_ui_terminal.markdown_lines import (
                MarkdownRenderer,
            )  # rich takes a tenth of a second

            self._renderer = MarkdownRenderer(colour=self._colour)
        return self._renderer

    def _take(self, *, last: bool = False) -> None:
        new = "".join(self._pieces)
        self._pieces.clear()
        if new.endswith("\r") and not last:
            # Its "\n" may be the next piece.
            self._pieces.append("\r")
            new = new[:-1]
        self._text += new.replace("\r\n", "\n")

    def _lines(self, text: str, width: int) -> list[str]:
        lines = self.renderer.lines(text, width) if text.strip() else []
        return [*self._gap, *lines] if lines else lines
