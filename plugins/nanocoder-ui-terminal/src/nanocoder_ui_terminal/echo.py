"""Whether what is typed shows on the terminal: not while we draw there."""

import sys
from typing import Any

from nanocoder_ui_terminal.terminal import is_terminal


class Echo:
    """Switches the terminal's echo off and back on; what was typed meanwhile is not lost."""

    def __init__(self, wanted: bool) -> None:  # noqa: FBT001 - there is nothing else to say
        self._wanted = wanted and is_terminal(sys.stdin)
        self._before: list[Any] | None = None

    def off(self) -> None:
        """Do not show what is typed; Ctrl-C keeps its meaning."""
        if not self._wanted or self._before is not None:
            return
        import termios  # nothing else needs it, and it is not everywhere

        try:
            before = termios.tcgetattr(sys.stdin.fileno())
            quiet = list(before)
            quiet[3] &= ~termios.ECHO
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, quiet)
        except (termios.error, OSError):
            return
        self._before = before

    def on(self) -> None:
        """Show it again."""
        if self._before is None:
            return
        import termios

        before, self._before = self._before, None
        try:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
        except (termios.error, OSError):
            return
