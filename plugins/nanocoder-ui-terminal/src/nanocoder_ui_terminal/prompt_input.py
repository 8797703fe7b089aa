"""The prompt where a person types: several lines, a history, completion and a status line."""

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from nanocoder import Cancel
from nanocoder_kit_ui.chat import Typed
from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus, to_filter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style

from nanocoder_ui_terminal.completion import ChatCompleter
from nanocoder_ui_terminal.foreground import taking_back
from nanocoder_ui_terminal.pastes import Pastes

LEAVE: Final = "Ctrl-C again, or Ctrl-D, leaves"
PASTE_GAP_S: Final = 0.02
"""So soon the next piece of a paste arrives."""
REWIND: Final = "/rewind"
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


class PromptInput:
    """The line of input.

    *toolbar* returns the text below it, *next_mode* is what Shift-Tab does, *show_output* what
    Ctrl-O does. When *leaving* is set, the line is given up, as at the end of the input. Without
    *moves* the terminal gets text alone.
    """

    def __init__(
        self,
        completer: ChatCompleter,
        history: Path | None,
        toolbar: Callable[[], str],
        next_mode: Callable[[], None],
        sign: str,
        leaving: Cancel,
        show_output: Callable[[], None],
        *,
        moves: bool,
    ) -> None:
        self._pastes = Pastes()
        self._show_output = show_output
        self._wants_to_leave = False
        self._has_suspended = False
        self._sign = sign
        self._leaving = leaving
        self._prompt: PromptSession[str] = PromptSession(
            history=_open_history(history),
            completer=completer,
            complete_in_thread=True,
            complete_while_typing=Condition(self._may_complete),
            multiline=True,
            key_bindings=self._keys(next_mode),
            bottom_toolbar=lambda: [
                ("class:bottom-toolbar", LEAVE if self._wants_to_leave else toolbar())
            ],
            prompt_continuation=lambda _width, _number, _wrapped: "  ",
            style=Style.from_dict(LOOK),
            reserve_space_for_menu=6,
            output=None if moves else PlainTextOutput(sys.stdout),
        )
        self._keep_status_close()
        self._prompt.default_buffer.on_text_changed += self._stay
        leaving.on_set(self._leave_soon)  # a signal may come at once

    def read(self, begun: Typed) -> Typed:
        """Read one entry; raises EOFError when the user leaves.

        *begun* is the text that the line already has.
        """
        self._pastes.clear()
        self._wants_to_leave = False
        line = self._pastes.put_back(begun)
        while True:
            try:
                with taking_back(self._take_back):
                    text = self._prompt.prompt(
                        [("class:prompt", f"{self._sign} ")],
                        default=line,
                        pre_run=self._begin,
                    )
            except KeyboardInterrupt:
                continue
            finally:
                line = ""
            typed = self._pastes.typed(text)
            if typed.text:
                return typed

    def remember(self, typed: Typed) -> None:
        """Add to the history what was entered elsewhere."""
        self._prompt.history.append_string(typed.text)

    def _begin(self) -> None:
        # A signal before this moment found no loop of the prompt to stop.
        if self._leaving.is_set():
            self._leave_soon()

    def _take_back(self) -> None:
        """Take the terminal back after a stop; called on any thread."""
        self._call_soon(self._redraw)

    def _redraw(self) -> None:
        app = self._prompt.app
        if app.is_running:
            # The prompt has entered this mode itself, and restores the one before.
            app.input.raw_mode().__enter__()
            if self._has_suspended:  # after its own stop the prompt draws itself, too
                self._has_suspended = False
                app.renderer.erase(leave_alternate_screen=False)
            app.renderer.reset(leave_alternate_screen=False)
            app.renderer.request_absolute_cursor_position()
            app.invalidate()

    def _leave_soon(self) -> None:
        """Give up the line; called on any thread."""
        self._call_soon(self._leave)

    def _call_soon(self, act: Callable[[], None]) -> None:
        loop = self._prompt.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(act)

    def _leave(self) -> None:
        app = self._prompt.app
        if app.future is not None and not app.future.done():
            app.exit(exception=EOFError)

    def _keys(self, next_mode: Callable[[], None]) -> KeyBindings:
        keys = KeyBindings()
        # Elsewhere, such as in the history search, keys have their own meaning.
        types = has_focus(DEFAULT_BUFFER)

        @keys.add("enter", filter=types)
        def _send(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            elif _is_followed(event):
                # Nobody types on at once: it is a paste, in a terminal that does not mark it.
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        @keys.add("c-j", filter=types)
        @keys.add("escape", "enter", filter=types)
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("s-tab")
        def _mode(event: KeyPressEvent) -> None:
            next_mode()
            event.app.invalidate()

        @keys.add("c-o", filter=types)
        def _output(_event: KeyPressEvent) -> None:
            run_in_terminal(self._show_output)

        @keys.add(Keys.BracketedPaste)
        def _insert(event: KeyPressEvent) -> None:
            self._paste(event)

        self._add_keys_of_empty_line(keys)
        self._add_keys_that_stop(keys)
        return keys

    def _add_keys_of_empty_line(self, keys: KeyBindings) -> None:
        """Add the keys that mean something else, or nothing, where text was typed."""
        types = has_focus(DEFAULT_BUFFER)
        is_empty = Condition(lambda: not self._prompt.default_buffer.text)

        @keys.add("escape", "escape", filter=types & is_empty)
        def _rewind(event: KeyPressEvent) -> None:
            event.current_buffer.text = REWIND
            event.current_buffer.validate_and_handle()

    def _add_keys_that_stop(self, keys: KeyBindings) -> None:
        """Add Ctrl-C and Ctrl-Z."""

        @keys.add("c-c", filter=has_focus(DEFAULT_BUFFER))
        def _interrupt(event: KeyPressEvent) -> None:
            self._clear(event)

        @keys.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            self._has_suspended = True
            event.app.suspend_to_background()

    def _keep_status_close(self) -> None:
        """Have the line take as many rows as its text: the status is below, not far away."""
        for window in self._prompt.layout.find_all_windows():
            control = window.content
            if isinstance(control, BufferControl) and control.buffer is self._prompt.default_buffer:
                window.dont_extend_height = to_filter(True)

    def _may_complete(self) -> bool:
        """Return True if the line has something to complete; only then is there room for a menu."""
        text = self._prompt.default_buffer.text
        return text.startswith("/") or "@" in text

    def _clear(self, event: KeyPressEvent) -> None:
        """Empty the line; leave if it was empty and the toolbar has said how to leave."""
        if not event.current_buffer.text and self._wants_to_leave:
            event.app.exit(exception=EOFError)
            return
        self._wants_to_leave = not event.current_buffer.text
        event.current_buffer.reset()

    def _stay(self, buffer: Buffer) -> None:
        self._wants_to_leave = self._wants_to_leave and not buffer.text

    def _paste(self, event: KeyPressEvent) -> None:
        # Without the event no completion menu opens for the end of the paste.
        event.current_buffer.insert_text(self._pastes.put(event.data), fire_event=False)


def _is_followed(event: KeyPressEvent) -> bool:
    """Return True if more was typed than the key of *event*, so soon that nobody typed it.

    An answer of the terminal itself, as when it is asked for the cursor, does not count.
    """
    app = event.app
    with suppress(OSError, ValueError):
        if select.select([app.input.fileno()], [], [], PASTE_GAP_S)[0]:
            app.key_processor.feed_multiple(app.input.read_keys())
    waiting = [press.key for press in app.key_processor.input_queue]
    return any(key in (Keys.Enter, Keys.ControlJ) or len(key) == 1 for key in waiting)


def _open_history(path: Path | None) -> History:
    """Return the history in *path*, readable only by its owner; in memory where that fails."""
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
