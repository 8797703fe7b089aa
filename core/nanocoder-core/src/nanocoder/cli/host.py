"""The host of a command: the command line as a plugin's command sees it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from argparse import Action, ArgumentParser

    from nanocoder_files import Workspace

    from nanocoder.cli.signals import Signals
    from nanocoder.config.config import Config
    from nanocoder.hooks.contributions import Argument
    from nanocoder.plugins import Plugins
    from nanocoder.session.journal import Journal
    from nanocoder.session.models import ServedModels
    from nanocoder.session.session import Session
    from nanocoder.session.store import SessionStore

Note = Callable[["Action", "Argument"], object]


class Host(Protocol):
    """One directory with its configuration and plugins, the person's sessions, and the output.

    Configuration and plugins are read when they are first asked for.
    """

    cwd: Path

    @property
    def config(self) -> "Config":
        """The configuration of the directory, flags included; raises ConfigError."""
        ...

    @property
    def plugins(self) -> "Plugins":
        """The installed plugins, configured."""
        ...

    @property
    def sessions(self) -> "SessionStore":
        """The person's sessions, of every directory."""
        ...

    @property
    def signals(self) -> "Signals":
        """The signals that end a command, from the moment that this is entered."""
        ...

    @property
    def state_dir(self) -> Path:
        """The directory of the person's own state; raises ConfigError without a home directory."""
        ...

    @property
    def is_interactive(self) -> bool:
        """Tell whether a person is at both ends: a terminal to read and one to write."""
        ...

    @property
    def columns(self) -> int:
        """The width of the terminal at standard output; 0 where it is no terminal."""
        ...

    def print_line(self, text: str = "") -> None:
        """Print one line, with anything that could steer a terminal made visible."""
        ...

    def print_table(self, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print rows below their heads, aligned; numbers to the right."""
        ...

    def print_json(self, value: Any) -> None:
        """Print *value* as one JSON document."""
        ...

    def say(self, message: str) -> None:
        """Tell a person something beside the output."""
        ...

    def agrees(self, question: str) -> bool:
        """Ask the person for a yes; anything else is a no, an end of input too."""
        ...

    def parser(self, note: "Note") -> "ArgumentParser":
        """Return the parser of every command; *note* gets each of its arguments."""
        ...

    def chat(self, resume: str = "") -> int:
        """Start a conversation, or go on with the session *resume*; returns the exit code."""
        ...

    def session(
        self,
        *,
        interactive: bool = ...,
        output: str = ...,
        resume: str = ...,
        dry_run: bool = ...,
        persist: bool = ...,
    ) -> AbstractContextManager["Session"]:
        """Open a session with the host's configuration and plugins, as `open_session` does.

        A signal interrupts its run, and a second one ends the process.
        """
        ...

    def open_workspace(self, root: Path, journal: "Journal") -> "Workspace":
        """Open the workspace at *root* of a stored session, whose *journal* gets its changes.

        Raises: ConfigError where a project may have chosen our own directories.
        """
        ...

    def tell_start_files(self) -> None:
        """Name what plugins have put into every start of Python: few people look there."""
        ...

    def notices(self, session: "Session") -> Sequence[str]:
        """Return what the first run or call of *session* will say of rules that do not hold."""
        ...

    def models(self, session: "Session") -> Sequence["ServedModels"]:
        """Return the models that each provider can name, for *session* to choose from."""
        ...
