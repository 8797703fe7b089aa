"""An answer while it arrives: what can no longer change, and what is still being written."""

import re
import threading
import time
from typing import TYPE_CHECKING, Final

from nanocoder_ui_terminal.lines import drawable

if TYPE_CHECKING:
    from nanocoder_ui_terminal.page import Pages

MIN_INTERVAL_S: Final = 0.033
COST_FACTOR: Final = 4
"""Drawing takes at most one part in so many of the time."""


OPEN_CHARS: Final = 50_000
NUMBER: Final = re.compile(r"\A *\d{1,9}(?=[.)])")


class Answer:
    """Collects pieces of text and makes lines of them."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._pages: Pages | None = None
        self._pieces: list[str] = []
        self._text = ""
        self._due = 0.0
        self._has_lines = False

    def prepare(self) -> None:
        """Import the renderer beside the wait for the first words."""
        if self._pages is None:
            threading.Thread(target=lambda: self.pages, daemon=True).start()

    def feed(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)

    def is_due(self) -> bool:
        """Tell whether it is time to draw again."""
        return bool(self._pieces) and time.monotonic() >= self._due

    def draw(self, width: int) -> tuple[list[str], list[str]]:
        """Return the lines that stay, each once, and those that are still open."""
        started = time.monotonic()
        self._take()
        done, rest = self.pages.parts(drawable(self._text))
        stay: list[str] = []
        if done:
            stay = self._lines(done, width)
            self._text = self._text.split("\n", done.count("\n"))[-1]
            if number := NUMBER.match(rest):  # a list that was cut goes on counting
                self._text = NUMBER.sub(number[0], self._text, count=1)
        self._has_lines = self._has_lines or bool(stay)
        # Of what is still open only the end is on the screen.
        opened = self._lines(rest[-OPEN_CHARS:], width)
        ended = time.monotonic()
        self._due = ended + max(MIN_INTERVAL_S, COST_FACTOR * (ended - started))
        return stay, opened

    def finish(self, width: int) -> list[str]:
        """Return all lines that are left and start anew."""
        self._take(last=True)
        if not self._text.strip():
            self._text, self._has_lines = "", False
            return []
        lines = self._lines(drawable(self._text), width)
        self._text, self._has_lines, self._due = "", False, 0.0
        return lines

    @property
    def pages(self) -> "Pages":
        """The renderer, imported when the first text has come."""
        if self._pages is None:
            from nanocoder_ui_terminal.page import Pages  # rich takes a tenth of a second

            self._pages = Pages(colour=self._colour)
        return self._pages

    def _take(self, *, last: bool = False) -> None:
        new = "".join(self._pieces)
        self._pieces.clear()
        if new.endswith("\r") and not last:
            # Its "\n" may be the next piece.
            self._pieces.append("\r")
            new = new[:-1]
        self._text += new.replace("\r\n", "\n")

    def _lines(self, text: str, width: int) -> list[str]:
        lines = self.pages.lines(text, width) if text.strip() else []
        return ["", *lines] if lines and self._has_lines else lines
