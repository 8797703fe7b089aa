"""A conversation as browsers show it: entries of the feed, and questions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from attrs import frozen
from nanocoder import Cancel, Event, Message, Question, one_line

from nanocoder_ui_web.entries import Entries
from nanocoder_ui_web.questions import Questions

YES, NO = "Yes", "No"
NONE: Final = "None of these"
MAX_OPTIONS: Final = 30
OPTION_COLUMNS: Final = 100
KEYS: Final = (
    ("Enter", "send; during a run: with its next request"),
    ("Shift-Enter", "new line"),
    ("Tab, Down", "take a suggestion, or go to it; Esc closes the list"),
    ("!command", "run a command yourself; the model reads it"),
    ("@path, @path:10-20", "send a file or some lines along"),
)


class WebDisplay:
    """Shows one conversation to every browser."""

    keys = KEYS
    columns = 120
    block = "\u2588"

    def __init__(self, entries: Entries, questions: Questions) -> None:
        self._entries = entries
        self._questions = questions
        self._stopped = Cancel()

    def shorten(self, text: str, columns: int) -> str:
        """Return the beginning of *text* on one line."""
        return one_line(text, columns)

    def say(self, text: str) -> None:
        """Show a message."""
        self._entries.say(text)

    def warn(self, text: str) -> None:
        """Show a message in the colour of warnings."""
        self._entries.say(text, warns=True)

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows of cells."""
        self._entries.show_table(rows)

    def show_change(self, text: str) -> None:
        """Show a diff with colours, or a message beside it."""
        self._entries.show_change(text)

    def show_output(self, title: str, text: str) -> None:
        """Show all that a call printed."""
        self._entries.show_output(title, text)

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show the conversation from its beginning again."""
        self._entries.begin_again(messages)

    @contextmanager
    def running(
        self,
        stop: Callable[[], Any],  # noqa: ARG002 - browsers stop by a request of their own
        *,
        in_full: bool = False,
    ) -> Iterator["RunView"]:
        """Show something that runs."""
        try:
            yield RunView(self._entries, in_full=in_full)
        finally:
            self._entries.end_run()

    @contextmanager
    def waiting(
        self,
        stop: Callable[[], Any],  # noqa: ARG002 - as above
        activity: str,
    ) -> Iterator[None]:
        """Show *activity* until it is over."""
        self._entries.show_passing(activity)
        try:
            yield
        finally:
            self._entries.end_passing()

    def is_agreed(self, question: str, cancelled: Cancel) -> bool:
        """Ask the browsers for a yes."""
        return self._ask(question, (YES, NO), cancelled) == YES

    def choose(self, question: str, options: Sequence[tuple[str, str]], cancelled: Cancel) -> int:
        """Let a browser choose one of the last options; return its number, 0 for none."""
        earlier = max(0, len(options) - MAX_OPTIONS)
        texts = [
            f"{number}. {one_line(text, OPTION_COLUMNS)}" + (f" ({remark})" if remark else "")
            for number, (text, remark) in enumerate(options[earlier:], earlier + 1)
        ]
        answer = self._ask(question, (*texts, NONE), cancelled)
        return texts.index(answer) + earlier + 1 if answer in texts else 0

    def begin(self, text: str) -> None:
        """Put *text* where the next prompt is typed."""
        self._entries.begin_prompt(text)

    def stop_asking(self) -> None:
        """End the question that is open, without an answer; from any thread."""
        self._stopped.set()

    def _ask(self, text: str, choices: tuple[str, ...], cancelled: Cancel) -> str | None:
        self._stopped = Cancel(cancelled)
        try:
            question = Question(text, choices, custom=False, timeout_s=0)
            return self._questions.ask(question, self._stopped)
        finally:
            self._stopped.close()


@frozen
class RunView:
    """Shows the events of something that runs; with *in_full* its calls stay open."""

    entries: Entries
    in_full: bool

    def show(self, event: Event) -> None:
        """Show *event*."""
        self.entries.show(event, in_full=self.in_full)

    def warn(self, text: str) -> None:
        """Show a message beside the run."""
        self.entries.say(text, warns=True)
