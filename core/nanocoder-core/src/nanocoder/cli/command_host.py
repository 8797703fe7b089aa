"""The command line as the core's own commands, and those of plugins, work with it."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanocoder.cli import output
from nanocoder.cli.host import Note
from nanocoder.cli.signals import Signals
from nanocoder.config.config import Config
from nanocoder.config.places import state_dir
from nanocoder.errors import ConfigError, PersonError, UsageError
from nanocoder.plugins import Plugins
from nanocoder.session.installed import installed_plugins
from nanocoder.session.workspaces import existing_directory, open_workspace

if TYPE_CHECKING:
    from nanocoder_files import Workspace

    from nanocoder.session.journal import Journal
    from nanocoder.session.models import ServedModels
    from nanocoder.session.session import Session
    from nanocoder.session.store import SessionStore

INTERRUPTED, TERMINATED = "interrupted", "terminated"


class CommandHost:
    """The host of a command in directory *cwd*; *flags* go before every other configuration."""

    def __init__(self, cwd: str = ".", **flags: Any) -> None:
        if not cwd:
            # An unset variable of a script must not mean the directory here.
            raise UsageError("--cwd is empty; name a directory, or leave it out to work here")
        self.cwd: Path = existing_directory(cwd)
        self.flags = {name: value for name, value in flags.items() if value not in ("", None)}
        self._has_news = True
        self._notices_told = 0
        self.print_json = output.print_json
        self.print_line = output.print_line
        self.print_table = output.print_table

    @classmethod
    def of(cls, arguments: Namespace) -> "CommandHost":
        """Return the host for parsed *arguments*."""
        return cls(arguments.cwd, model=arguments.model, mode=arguments.mode)

    @cached_property
    def signals(self) -> Signals:
        """The signals that end a command, from the moment that this is entered."""
        return Signals()

    @cached_property
    def config(self) -> Config:
        """The configuration of the directory, flags included; raises ConfigError."""
        return Config.load(self.cwd, flags=self.flags)

    @cached_property
    def plugins(self) -> Plugins:
        """The installed plugins, configured."""
        return installed_plugins(self.config)

    @cached_property
    def sessions(self) -> "SessionStore":
        """The person's sessions, of every directory."""
        from nanocoder.session.store import SessionStore  # listing plugins needs no session

        return SessionStore.of_user(warn=self.say)

    @property
    def is_interactive(self) -> bool:
        """Tell whether a person is at both ends: a terminal to read and one to write."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stdout)

    @property
    def state_dir(self) -> Path:
        """The directory of the person's own state; raises ConfigError without a home directory."""
        return state_dir()

    @property
    def columns(self) -> int:
        """The width of the terminal at standard output; 0 where it is no terminal."""
        return output.terminal_width()

    def parser(self, note: Note) -> ArgumentParser:
        """Return the parser of every command; *note* gets each of its arguments."""
        from nanocoder.cli.offered import known_commands
        from nanocoder.cli.parser import build

        return build(known_commands(self)[0], note=note)

    def chat(self, resume: str = "") -> int:
        """Start a conversation, or go on with the session *resume*; returns the exit code."""
        from nanocoder.cli.chat import start_chat

        return start_chat(self, resume)

    def say(self, message: str) -> None:
        """Tell a person something beside the output."""
        output.complain(message)

    def agrees(self, question: str) -> bool:
        """Ask the person for a yes; anything else is a no, an end of input too."""
        from nanocoder.cli.question import is_agreed

        return is_agreed(question)

    def refuse_foreign_places(self) -> None:
        """Raise ConfigError where our own directories may be a project's, not the person's."""
        if self.config.refusal:
            raise ConfigError(self.config.refusal)

    @contextmanager
    def session(self, **options: Any) -> Iterator["Session"]:
        """Open a session with the host's configuration and plugins.

        A signal interrupts its run, and a second one ends the process.
        """
        from nanocoder.session.api import open_session  # most commands open no session

        with self.signals:
            opened = open_session(
                self.cwd, config=self.config, plugins=self.plugins, warn=self.say, **options
            )
            self.tell_news()
            with opened, self.signals.obeyed_by(partial(stop, opened)):
                yield opened
        self._tell_ignored()  # a plugin's table is read at its first call

    def open_workspace(self, root: Path, journal: "Journal") -> "Workspace":
        """Open the workspace at *root* of a stored session, whose *journal* gets its changes.

        Raises: ConfigError where a project may have chosen our own directories.
        """
        self.refuse_foreign_places()
        return open_workspace(root, journal, self.config)

    def notices(self, session: "Session") -> Sequence[str]:
        """Return what the first run or call of *session* will say of rules that do not hold."""
        from nanocoder.session.installed import start_notices

        return start_notices(session.config, session.plugins)

    def models(self, session: "Session") -> "Sequence[ServedModels]":
        """Return the models that each provider can name, for *session* to choose from."""
        from nanocoder.session.models import served_models  # few conversations look at them

        try:
            current = session.chosen
        except PersonError:
            current = None
        return served_models(session.plugins, current)

    def tell_start_files(self) -> None:
        """Name what plugins have put into every start of Python: few people look there."""
        from nanocoder.plugins.discovery import find_plugins, site_paths, start_files

        plugins = {plugin.distribution: plugin for plugin in find_plugins(site_paths())}
        for distribution, plugin in sorted(plugins.items()):
            for file in start_files(plugin):
                self.say(
                    f"{distribution} contains {file}, which runs code whenever Python starts, with"
                    " or without nanocoder; review it"
                )

    def tell_news(self) -> None:
        """Say once what is new, set aside, or was ignored."""
        if not self._has_news:
            return
        self._has_news = False
        self._tell_ignored()
        if self.plugins.fresh:
            self.say(f"new or changed plugins: {', '.join(self.plugins.fresh)}")
        for name, reason in self.plugins.set_aside.items():
            self.say(f"plugin {name!r} is set aside: {reason} (nanocoder doctor)")

    def _tell_ignored(self) -> None:
        """Say what of the configuration was ignored, each line once."""
        notices = self.config.notices
        for notice in notices[self._notices_told :]:
            self.say(notice)
        self._notices_told = len(notices)


def stop(session: "Session", number: int) -> None:
    """Interrupt *session* because of a signal."""
    import signal

    session.interrupt(INTERRUPTED if number == signal.SIGINT else TERMINATED, signal=number)


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False
