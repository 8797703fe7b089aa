"""What commands, the plugins' own included, get to work with."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanocoder.cli.output import complain
from nanocoder.config import Config, state_dir
from nanocoder.directory import existing_directory
from nanocoder.errors import ConfigError, PersonError, UsageError
from nanocoder.plugins import Plugins
from nanocoder.session.api import open_session
from nanocoder.session.build import installed_plugins
from nanocoder.session.loop import Session
from nanocoder.session.store import SessionStore, name_of
from nanocoder.session.summary import SessionSummary
from nanocoder.signals import Signals

if TYPE_CHECKING:
    from nanocoder.session.served import Served

INTERRUPTED, TERMINATED = "interrupted", "terminated"

Say = Callable[[str], object]
Agree = Callable[[], bool]


class Host:
    """The command line as a plugin's command sees it.

    Configuration and plugins of *cwd*, and the way to a session.
    """

    def __init__(self, cwd: str = ".", **flags: Any) -> None:
        if not cwd:
            # The variable of a script that is not set: it must not mean the directory here.
            raise UsageError("--cwd is empty; name a directory, or leave it out to work here")
        self.cwd: Path = existing_directory(cwd)
        self.flags = {name: value for name, value in flags.items() if value not in ("", None)}
        self._has_told = False
        self._told_notices = 0

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
        """What is installed, configured."""
        return installed_plugins(self.config)

    def refuse_foreign_places(self) -> None:
        """Raise ConfigError where our own directories may be a project's, not the person's."""
        if self.config.refusal:
            raise ConfigError(self.config.refusal)

    @property
    def is_interactive(self) -> bool:
        """Tell whether a person is at both ends: a terminal to read and one to write."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stdout)

    @property
    def state_dir(self) -> Path:
        """Where the person's own state is kept; raises ConfigError without a home directory."""
        return state_dir()

    def sessions(self) -> Sequence[SessionSummary]:
        """Return the conversations held in this directory, the last used first."""
        found = SessionStore.of_user(warn=self.say).list()
        return [one for one in found if one.title and one.cwd == str(self.cwd)]

    def say(self, message: str) -> None:
        """Tell a person something beside the output."""
        complain(message)

    @contextmanager
    def session(self, **options: Any) -> Iterator[Session]:
        """Open a session with the host's configuration and plugins.

        A signal interrupts its run, and a second one ends the process.
        """
        with self.signals:
            opened = open_session(
                self.cwd, config=self.config, plugins=self.plugins, warn=self.say, **options
            )
            self.tell_news()
            with opened, self.signals.obeyed_by(partial(stop, opened)):
                yield opened
        self._tell_ignored()  # a plugin's table is read at its first call

    def undo(
        self, session: Session, say: Say, agree: Agree, *, redo: bool = False, force: bool = False
    ) -> list[str]:
        """Put back what the last run of *session* changed, or with *redo* take that back.

        With *force* also what was changed since. *say* is told what would be done, *agree* decides.
        Returns the paths, none when it does not.
        Raises: PersonError.
        """
        from nanocoder.cli.undo import Desk, Wanted, what  # few conversations undo anything
        from nanocoder.session.records import read

        ground = session._ground  # noqa: SLF001 - what a session stands on is the core's alone
        journal = ground.journal
        if journal is None or journal.path is None:
            raise UsageError("this session is not kept, so its changes cannot be undone")
        taken = what(read(journal.path), Wanted(redo=redo))
        desk = Desk(ground.workspace, journal, session.plugins, say, agree, force)
        return desk.undo(taken) or []

    def notices(self, session: Session) -> Sequence[str]:
        """Return what the first run or call of *session* will say of rules that do not hold."""
        from nanocoder.session.policy_tools import start_notices

        return start_notices(session.config, session.plugins)

    def models(self, session: Session) -> "Sequence[Served]":
        """Return the models that each provider can name, for *session* to choose from."""
        from nanocoder.session.served import served_models  # few conversations look at them

        try:
            current = session.chosen
        except PersonError:
            current = None
        return served_models(session.plugins, current)

    def rename(self, session: Session, title: str) -> None:
        """Give *session* a name; raises UsageError when it is empty, or nothing is kept."""
        journal = session._ground.journal  # noqa: SLF001 - as for undo
        if journal is None or journal.path is None:
            raise UsageError("this session is not kept, so it cannot be named")
        journal.rename(name_of(title))

    def tell_news(self) -> None:
        """Say once what is new, set aside, or was ignored."""
        if self._has_told:
            return
        self._has_told = True
        self._tell_ignored()
        if self.plugins.fresh:
            self.say(f"new or changed plugins: {', '.join(self.plugins.fresh)}")
        for name, reason in self.plugins.set_aside.items():
            self.say(f"plugin {name!r} is set aside: {reason} (nanocoder doctor)")

    def _tell_ignored(self) -> None:
        """Say what of the configuration was ignored, each line once."""
        notices = self.config.notices
        for notice in notices[self._told_notices :]:
            self.say(notice)
        self._told_notices = len(notices)


def stop(session: Session, number: int) -> None:
    """Interrupt *session* because of a signal."""
    import signal

    session.interrupt(INTERRUPTED if number == signal.SIGINT else TERMINATED, signal=number)


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False
