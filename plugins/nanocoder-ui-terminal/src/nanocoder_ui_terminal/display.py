"""A conversation as the terminal shows it: messages, what runs, and questions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from attrs import evolve
from nanocoder import Cancel, Event, Message, Session
from nanocoder_kit_ui.chat import Typed

from nanocoder_ui_terminal.last_exchange import last_exchange
from nanocoder_ui_terminal.prompt_queue import PromptQueue
from nanocoder_ui_terminal.questions import choose, is_agreed
from nanocoder_ui_terminal.screen import TextScreen
from nanocoder_ui_terminal.table import table_lines
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import (
    highlight_lines,
    is_diff,
    message_lines,
    one_line,
    shorten_whole_files,
)

KEYS: Final = (
    ("Enter", "send; during a run: with its next request"),
    ("Tab", "during a run: queue for after it"),
    ("!command", "run a command yourself; the model reads it"),
    ("Backspace, Up", "on an empty line: take back what is queued"),
    ("Alt-Enter, Ctrl-J, or \\ Enter", "new line"),
    ("Tab", "complete a command or a file"),
    ("@path, @path:10-20", "send a file or some lines along"),
    ("Shift-Tab", "next mode: plan, ask, edits"),
    ("Ctrl-C", "clear line, stop run, say no; twice: leave"),
    ("Esc", "stop the run"),
    ("Ctrl-O", "all that the last call printed; in a run: more"),
    ("Esc Esc", "on an empty line: go back to an earlier prompt"),
    ("Ctrl-R", "search what you typed before"),
    ("Ctrl-D", "leave"),
)
SHOWN_LINES: Final = 200
"""This many of the last lines of the person's own command stay; Ctrl-O shows all."""
TITLE_COLUMNS: Final = 60


class TerminalDisplay:
    """Shows the conversation in *session*; keys typed during a run go to `queue`."""

    keys = KEYS

    def __init__(self, session: Session, terminal: Terminal, settings: Any) -> None:
        self.terminal = terminal
        self.queue = PromptQueue()
        self._session = session
        self._settings = settings
        self._sent: list[Typed] = []

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return self.terminal.width

    @property
    def block(self) -> str:
        """The sign that bars are made of."""
        return self.terminal.sign("block")

    def shorten(self, text: str, columns: int) -> str:
        """Return the beginning of *text* on one line, counted as the terminal does."""
        return one_line(text, columns)

    def say(self, text: str) -> None:
        """Show a message."""
        self._write_message(text, "dim")

    def warn(self, text: str) -> None:
        """Show a message in yellow."""
        self._write_message(text, "yellow")

    def show_change(self, text: str) -> None:
        """Show a message, as a diff if it is one; whole files are shown as one line each."""
        width = self.terminal.width
        if is_diff(text):
            self.show_lines(highlight_lines(shorten_whole_files(text), width, self.terminal))
        else:
            self.show_lines(message_lines(text, width))

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows in aligned columns."""
        self.show_lines(table_lines(rows, self.terminal))

    def show_output(self, title: str, text: str) -> None:
        """Show all that a call printed, with the colours of a diff if it is one."""
        head = self.terminal.paint(one_line(title, TITLE_COLUMNS), "bold")
        self.show_lines([head, *highlight_lines(text, self.terminal.width, self.terminal)])

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show the last prompt and its answer: those before are further up."""
        if messages:
            self.show_lines(last_exchange(messages, self.terminal))

    def show_lines(self, lines: Iterable[str]) -> None:
        """Show lines that are safe and fit, and an empty one below."""
        self.terminal.write("".join(f"{line}\n" for line in lines) + "\n")

    @contextmanager
    def running(self, stop: Callable[[], Any], *, in_full: bool = False) -> Iterator["RunView"]:
        """Provide a screen for something that runs, and that Ctrl-C and Escape stop."""
        limits = {"live_lines": SHOWN_LINES, "output_lines": SHOWN_LINES} if in_full else {}
        screen = TextScreen(
            self.terminal,
            evolve(self._settings, **limits),
            errors=True,
            unchanged=self._session.info.changes_nothing_by,
            queue=self.queue,
        )
        self.queue.stop = stop
        if in_full:  # no request starts its clock
            screen.start_clock()
        try:
            yield RunView(screen, self.queue, self._session)
        finally:
            self.queue.stop = None
            screen.close()
            if screen.has_written:
                self.terminal.write("\n")
            self._sent += self.queue.end_steering()

    @contextmanager
    def waiting(self, stop: Callable[[], Any], activity: str) -> Iterator[None]:
        """Show a status line while something takes its time."""
        if not self.terminal.moves:
            self.say(f"{activity}; Ctrl-C stops it")
        with self.running(stop) as view:
            view.start_clock(activity)
            yield

    def take_sent(self) -> list[Typed]:
        """Remove and return the lines that were sent to the model while it worked."""
        sent, self._sent = self._sent, []
        return sent

    def is_agreed(self, question: str, cancelled: Cancel) -> bool:
        """Ask for a yes."""
        return is_agreed(question, self.terminal, cancelled)

    def choose(self, question: str, options: Sequence[tuple[str, str]], cancelled: Cancel) -> int:
        """Return the number of an option, 0 for none."""
        return choose(question, options, self.terminal, cancelled)

    def begin(self, text: str) -> None:
        """Put *text* into the line of input."""
        self.queue.begin(text)

    def _write_message(self, text: str, style: str) -> None:
        lines = message_lines(text, self.terminal.width)
        self.show_lines(self.terminal.paint(line, style) for line in lines)


class RunView:
    """Shows a run on *screen*; lines typed meanwhile go to the model once it listens."""

    def __init__(self, screen: TextScreen, queue: PromptQueue, session: Session) -> None:
        self._screen = screen
        self._queue = queue
        self._session = session
        self.start_clock = screen.start_clock

    def show(self, event: Event) -> None:
        """Show what happened."""
        if event.kind == "run.started":
            self._queue.steer = self._session.steer
        self._screen.show(event)

    def warn(self, text: str) -> None:
        """Show a message beside the run, in yellow."""
        self._screen.say(text, "yellow")
