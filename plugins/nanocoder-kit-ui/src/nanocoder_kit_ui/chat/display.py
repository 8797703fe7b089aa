"""The interface of a screen to the conversation that it shows."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from nanocoder import Cancel, Event, Message


class Running(Protocol):
    """Shows something that runs: a prompt's run, or a command."""

    def show(self, event: Event) -> None:
        """Show what happened."""

    def warn(self, text: str) -> None:
        """Show a message beside it that a person should not miss."""


class Display(Protocol):
    """A screen of one conversation, which shows it and asks the user.

    It makes every text safe to show. Its methods are called on the thread of the conversation.
    """

    @property
    def keys(self) -> Sequence[tuple[str, str]]:
        """Keys and signs with their meanings, for /help."""

    @property
    def columns(self) -> int:
        """The approximate width in characters."""

    @property
    def block(self) -> str:
        """The sign that bars are made of."""

    def shorten(self, text: str, columns: int) -> str:
        """Return the beginning of *text* on one line of at most *columns*."""

    def say(self, text: str) -> None:
        """Show a message."""

    def warn(self, text: str) -> None:
        """Show a message that a person should not miss."""

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows of cells."""

    def show_change(self, text: str) -> None:
        """Show a diff, or a message beside it."""

    def show_output(self, title: str, text: str) -> None:
        """Show all that a call printed."""

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show where the conversation is now, after it went back."""

    def running(
        self, stop: Callable[[], Any], *, in_full: bool = False
    ) -> AbstractContextManager[Running]:
        """Show something that runs, and that the person can *stop*.

        With *in_full* its output is shown at length.
        """

    def waiting(self, stop: Callable[[], Any], activity: str) -> AbstractContextManager[Any]:
        """Show that *activity* takes a while, which the person can *stop*."""

    def is_agreed(self, question: str, cancelled: Cancel) -> bool:
        """Ask for a yes; no answer is a no."""

    def choose(self, question: str, options: Sequence[tuple[str, str]], cancelled: Cancel) -> int:
        """Return the number of the option that the person takes, from 1 on; 0 for none.

        Each option is a text, and a remark or "".
        """

    def begin(self, text: str) -> None:
        """Put *text* where the next prompt is typed, so that it can be edited."""
