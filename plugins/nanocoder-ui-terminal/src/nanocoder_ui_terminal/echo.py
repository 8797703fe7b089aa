"""The keyboard while we draw: the terminal does not echo it, and we may read it."""

import os
import select
import sys
import termios
import threading
from contextlib import suppress
from typing import Any

from nanocoder_ui_terminal.first_keys import PASTE_OFF, PASTE_ON, READ_BYTES
from nanocoder_ui_terminal.terminal import Terminal, is_terminal


class Echo:
    """Switches the terminal's echo off and back on; what was typed meanwhile is not lost.

    With *keys* each key can be read at once instead, as long as the echo is off.
    """

    def __init__(self, terminal: Terminal, *, keys: bool = False) -> None:
        self._terminal = terminal
        self._can_switch = terminal.moves and is_terminal(sys.stdin)
        self._keys = keys and self._can_switch
        self._before: list[Any] | None = None
        self._ended = threading.Event()
        self._wake: tuple[int, ...] = os.pipe() if self._keys else ()

    @property
    def reads(self) -> bool:
        """Return True if keys come to us now."""
        return self._keys and self._before is not None

    def off(self) -> None:
        """Do not show what is typed; Ctrl-C keeps its meaning."""
        if not self._can_switch or self._before is not None:
            return
        try:
            before = termios.tcgetattr(sys.stdin.fileno())
            termios.tcsetattr(
                sys.stdin.fileno(), termios.TCSADRAIN, self._attributes_without_echo(before)
            )
        except (termios.error, OSError):
            return
        self._before = before
        if self._keys:
            self._terminal.write(PASTE_ON)

    def on(self) -> None:
        """Show it again."""
        if self._before is None:
            return
        if self._keys:
            self._terminal.write(PASTE_OFF)
        before, self._before = self._before, None
        try:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
        except (termios.error, OSError):
            return

    def keep(self) -> None:
        """Switch it off again where a shell switched it on: after Ctrl-Z and `fg`."""
        if self._before is None:
            return
        descriptor = sys.stdin.fileno()
        with suppress(termios.error, OSError):
            is_ours = os.tcgetpgrp(descriptor) == os.getpgrp()
            if is_ours and termios.tcgetattr(descriptor)[3] & termios.ECHO:
                original, self._before = self._before, None
                self.off()
                self._before = original

    def wait(self, seconds: float) -> bool:
        """Wait for a key, the time, or `end`; tells whether there is something to read."""
        if not self._keys:
            self._ended.wait(seconds)
            return False
        sources = [self._wake[0], *([sys.stdin.fileno()] if self.reads else [])]
        return sys.stdin.fileno() in select.select(sources, [], [], seconds)[0]

    def read(self) -> bytes:
        """Return the bytes typed since the last call; none while the echo is on."""
        if not self.reads or not select.select([sys.stdin.fileno()], [], [], 0)[0]:
            return b""
        typed = b""
        with suppress(OSError):
            typed = os.read(sys.stdin.fileno(), READ_BYTES)
        self._keys = bool(typed)  # nothing: the terminal has gone
        return typed

    def end(self) -> None:
        """End `wait` in another thread."""
        self._ended.set()
        if self._wake:
            os.write(self._wake[1], b"\0")

    def close(self) -> None:
        """Close the descriptors of `wait`, which must not run any more."""
        for descriptor in self._wake:
            os.close(descriptor)
        self._wake = ()

    def _attributes_without_echo(self, before: list[Any]) -> list[Any]:
        quiet = [*before[:6], list(before[6])]
        quiet[3] &= ~termios.ECHO
        if self._keys:
            quiet[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
            quiet[3] &= ~(termios.ICANON | termios.IEXTEN)
            quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        return quiet
