"""Where a person types: several lines, a history, completion, a line that says how things stand."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import Cancel
from prompt_toolkit import PromptSession
from prompt_toolkit.filters import completion_is_selected
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from nanocoder_ui_terminal.completion import ChatCompleter
from nanocoder_ui_terminal.mentions import Typed

LOOK: Final = {
    "prompt": "ansicyan bold",
    "bottom-toolbar": "noreverse ansibrightblack",
    "completion-menu": "noreverse bg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "reverse",
    "completion-menu.meta.completion": "bg:default ansibrightblack",
    "completion-menu.meta.completion.current": "reverse",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "bg:ansibrightblack",
}


class Entry:
    """The line of input.

    *toolbar* says what stands below it, *next_mode* is what Shift-Tab does. When *leaving* is set
    the line is given up, as at the end of the input.
    """

    def __init__(
        self,
        completer: ChatCompleter,
        history: Path | None,
        toolbar: Callable[[], str],
        next_mode: Callable[[], None],
        sign: str,
        leaving: Cancel,
    ) -> None:
        self._pasted: list[str] = []
        self._sign = sign
        self._leaving = leaving
        leaving.on_set(self._leave_soon)
        self._prompt: PromptSession[str] = PromptSession(
            history=_history(history),
            completer=completer,
            complete_in_thread=True,
            complete_while_typing=True,
            multiline=True,
            key_bindings=self._keys(next_mode),
            bottom_toolbar=lambda: [("class:bottom-toolbar", toolbar())],
            prompt_continuation=lambda _width, _number, _wrapped: "  ",
            style=Style.from_dict(LOOK),
            enable_suspend=True,
            reserve_space_for_menu=6,
        )

    def read(self) -> Typed:
        """Return what was entered; raises EOFError when the person wants to leave."""
        self._pasted.clear()
        while True:
            try:
                text = self._prompt.prompt(
                    [("class:prompt", f"{self._sign} ")], pre_run=self._look_whether_to_leave
                )
            except KeyboardInterrupt:
                continue
            if text.strip():
                return Typed(text.strip(), tuple(self._pasted))

    def _look_whether_to_leave(self) -> None:
        # From here on `_leave_soon` finds the loop of the prompt; before, it did not.
        if self._leaving.is_set():
            self._leave_soon()

    def _leave_soon(self) -> None:
        """Give up the line; called on any thread."""
        loop = self._prompt.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        app = self._prompt.app
        if app.future is not None and not app.future.done():
            app.exit(exception=EOFError)

    def _keys(self, next_mode: Callable[[], None]) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", filter=~completion_is_selected)
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("enter", filter=completion_is_selected)
        def _take(event: KeyPressEvent) -> None:
            event.current_buffer.complete_state = None

        @keys.add("escape", "enter")
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        def _clear(event: KeyPressEvent) -> None:
            event.current_buffer.reset()

        @keys.add("s-tab")
        def _mode(event: KeyPressEvent) -> None:
            next_mode()
            event.app.invalidate()

        @keys.add(Keys.BracketedPaste)
        def _paste(event: KeyPressEvent) -> None:
            text = event.data.replace("\r\n", "\n").replace("\r", "\n")
            self._pasted.append(text)
            event.current_buffer.insert_text(text)

        return keys


def _history(path: Path | None) -> History:
    """Return the history in *path*, which nobody else can read; in memory where that fails."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
