"""What commands, the plugins' own included, get to work with."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from nanocoder.cli.output import complain
from nanocoder.config import Config, state_dir
from nanocoder.errors import UsageError
from nanocoder.loop import Session, open_session
from nanocoder.opening import existing_directory, installed_plugins
from nanocoder.plugins import Plugins
from nanocoder.session import SessionStore, SessionSummary

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
    def config(self) -> Config:
        """The configuration of the directory, flags included; raises ConfigError."""
        return Config.load(self.cwd, flags=self.flags)

    @cached_property
    def plugins(self) -> Plugins:
        """What is installed, configured."""
        return installed_plugins(self.config)

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

        A Ctrl-C interrupts its run, a second one ends it.
        """
        opened = open_session(
            self.cwd, config=self.config, plugins=self.plugins, warn=self.say, **options
        )
        self.tell_news()
        with opened, _interruptible(opened):
            yield opened
        self._tell_ignored()  # a plugin's table is read at its first call

    def undo(self, session: Session, say: Say, agree: Agree, *, redo: bool = False) -> list[str]:
        """Put back what the last run of *session* changed, or with *redo* take that back.

        *say* is told what would be done, *agree* decides. Returns the paths, none when it does not.
        Raises: PersonError.
        """
        from nanocoder.cli.undo import Desk, Wanted, what  # few conversations undo anything
        from nanocoder.session import read

        ground = session._ground  # noqa: SLF001 - what a session stands on is the core's alone
        journal = ground.journal
        if journal is None or journal.path is None:
            raise UsageError("this session is not kept, so nothing of it can be undone")
        taken = what(read(journal.path), Wanted(redo=redo))
        desk = Desk(ground.workspace, journal, session.plugins, say, agree)
        return desk.undo(taken) or []

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


@contextmanager
def _interruptible(session: Session) -> Iterator[None]:
    """Let SIGINT, SIGTERM and a terminal that closes stop the run in order.

    The second signal raises KeyboardInterrupt.
    """
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    count = 0

    def stop(number: int, _: object) -> None:
        nonlocal count
        count += 1
        session.interrupt("interrupted" if number == signal.SIGINT else "terminated")
        if count > 1:
            raise KeyboardInterrupt

    numbers = [signal.SIGINT, signal.SIGTERM]
    # Under nohup the end of the terminal means nothing; a system may not know it at all.
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        numbers.append(hangup)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False
