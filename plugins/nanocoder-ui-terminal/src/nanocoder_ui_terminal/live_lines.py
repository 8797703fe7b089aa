"""The last lines of the screen, painted over and over while everything above them stays."""

import re
from collections.abc import Sequence
from typing import Final

from nanocoder_ui_terminal.terminal import Terminal, columns_of

# Terminals that know these codes show a frame at once; the others ignore them.
BEGIN_FRAME: Final = "\x1b[?2026h"
END_FRAME: Final = "\x1b[?2026l"
HIDE_CURSOR: Final = "\x1b[?25l"
SHOW_CURSOR: Final = "\x1b[?25h"
CLEAR_DOWN: Final = "\x1b[J"
CLEAR_LINE: Final = "\x1b[K"
STYLE: Final = re.compile(r"\x1b\[[\d;]*m")


class LiveLines:
    """Lines at the bottom; where the cursor cannot move, only lines that stay are written."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._lines: list[str] = []
        self._columns = 0

    def update(
        self, stay: Sequence[str], lines: Sequence[str] = (), *, cursor: bool = False
    ) -> None:
        """Write lines that stay and below them lines that do not, as one frame.

        All of them end before the right edge. The cursor is shown behind the last one if *cursor*.
        """
        text = "".join(f"{line}\n" for line in stay)
        if not self._terminal.moves:
            if text:
                self._terminal.write(text)
            return
        if not text and list(lines) == self._lines:
            return
        cursor_code = SHOW_CURSOR if cursor or not lines else HIDE_CURSOR
        frame = self._erase_code() + text + "\n".join(lines)
        self._lines, self._columns = list(lines), self._terminal.size[0]
        self._terminal.write(f"{BEGIN_FRAME}{frame}{cursor_code}{END_FRAME}")

    def _erase_code(self) -> str:
        if not self._lines:
            return ""
        rows, columns = len(self._lines), self._terminal.size[0]
        if columns < self._columns:
            # The window became narrower, so each of our lines may now take several rows.
            widths = (columns_of(STYLE.sub("", line)) for line in self._lines)
            rows = sum(max(1, -(-width // columns)) for width in widths)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        if columns != self._columns:
            return f"\r{up}{CLEAR_DOWN}"
        # Terminals that are cleared from their first row keep what was there in their history.
        return f"\r{up}" + "\n".join([CLEAR_LINE] * rows) + up
