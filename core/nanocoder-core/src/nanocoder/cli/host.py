"""The host of a command: its directory, configuration, plugins, sessions and output."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nanocoder_console as console
from nanocoder_config import refusal, user_config_dir
from nanocoder_console import Argument, Command
from nanocoder_schema import ConfigError, NanocoderError, UsageError

from nanocoder.cli.commands import COMMANDS, SHORT, build
from nanocoder.config import Config
from nanocoder.plugins import Plugins
from nanocoder.session import workspaces
from nanocoder.session.setup import find_offer, installed_plugins, open_store, why_not_offered

if TYPE_CHECKING:
    from nanocoder_console import Note, Signals
    from nanocoder_files import Workspace

    from nanocoder.hooks.interfaces import Journal, Sessions
    from nanocoder.session.session import Session

LIMITS: Final = ("max_turns", "max_tokens", "max_seconds", "max_cost_usd")
FLAGS: Final = ("model", "mode", *LIMITS, "dialect", "store", "profile")
"""Options that override every other configuration."""
MACHINE_FORMS: Final = ("json", "jsonl")
NAMED: Final = 3
"""The most new plugins that a notice names; `plugins list` has all."""
INTERRUPTED, TERMINATED = "interrupted", "terminated"
NO_SCREEN: Final = """conversations need a plugin: {reason}
Without it: nanocoder run "PROMPT" does one task, nanocoder --help lists every command."""
NO_DETAILS: Final = "`nanocoder {name}` shows this by a plugin: {reason}"


class Host:
    """One directory with its configuration and plugins, the person's sessions, and the output.

    Configuration and plugins are read at first use; with *plugin_set*, the plugins of it. *flags*
    are values of options: the plugin in `plugin_file` is added.
    """

    def __init__(self, cwd: str = ".", plugin_set: str | None = None, **flags: Any) -> None:
        self._cwd, self._set, self._file = cwd, plugin_set, flags.pop("plugin_file", None)
        self.flags = {name: value for name, value in flags.items() if value not in ("", None)}
        self._told: set[str] = set()

    @classmethod
    def of(cls, arguments: Namespace) -> "Host":
        """Return the host for parsed *arguments*."""
        names = (*FLAGS, "plugin_set", "plugin_file")
        return cls(arguments.cwd, **{name: getattr(arguments, name, None) for name in names})

    @cached_property
    def cwd(self) -> Path:
        """The directory; raises UsageError if it does not exist."""
        if not self._cwd:
            # An unset variable of a script must not mean the directory here.
            raise UsageError("--cwd is empty; name a directory, or leave it out to work here")
        root = workspaces.existing_directory(self._cwd)
        try:
            os.getcwd()
        except FileNotFoundError:  # it was removed, and relative paths need one
            os.chdir(root)
        return root

    @cached_property
    def config(self) -> Config:
        """The configuration of the directory, flags included; raises ConfigError."""
        return Config.load(self.cwd, flags=self.flags)

    @cached_property
    def plugins(self) -> Plugins:
        """The installed plugins, configured; a command that describes new ones reports them."""
        plugins = installed_plugins(self.config)
        clean_errors_by(partial(_redact, plugins))
        if gone := plugins.gone.keys() - plugins.set_aside.keys():
            self.say(f"plugins that are gone since the last start: {', '.join(sorted(gone))}")
        if fresh := plugins.fresh:
            names = ", ".join([*fresh[:NAMED], "…"] if len(fresh) > NAMED else fresh)
            self.say(f"new or changed plugins ({len(fresh)}): {names}")
        if self._set is not None:
            _restrict(plugins, self._set)
        if self._file:
            _, files = find_offer(plugins, "resources", "plugin for --plugin with", "file-plugins")
            files.open(None, None).add(self._file, plugins, self.config)
        return plugins

    @cached_property
    def sessions(self) -> "Sessions":
        """The person's sessions in all directories; raises UsageError without a store."""
        return open_store(self.plugins, self.config, os.environ, self.say)

    @cached_property
    def signals(self) -> "Signals":
        """The signals that end a command, once this is entered."""
        from nanocoder_console import Signals  # only sessions need them

        return Signals(self._import)

    def _import(self) -> str:
        """Describe the plugin import that runs now, "" for none."""
        plugins = vars(self).get("plugins")  # the property would wait for them
        name = plugins.importing if plugins else ""
        return f"plugin {name!r} was imported" if name else ""

    @property
    def is_interactive(self) -> bool:
        """Return True if standard input and output are terminals."""
        return console.is_terminal(sys.stdin) and console.is_terminal(sys.stdout)

    @property
    def columns(self) -> int:
        """The width of the terminal at standard output; 0 where it is no terminal."""
        return console.terminal_width()

    print_line = staticmethod(console.print_line)
    print_table = staticmethod(console.print_table)
    print_json = staticmethod(console.print_json)
    say = staticmethod(console.complain)
    agrees = staticmethod(console.is_agreed)

    def commands(self) -> tuple[Mapping[str, Command[Any]], NanocoderError | None]:
        """Return all commands by name, the core's first, without importing a plugin, and an error.

        A plugin's command replaces a short form of the core. If plugins cannot be listed, only the
        core's commands are returned, with the error.
        """
        try:
            declared = {it["name"]: _declared(it) for _, it in self.plugins.offers("commands")}
        except NanocoderError as error:
            return COMMANDS, error
        own = {name: command for name, command in COMMANDS.items() if name not in SHORT}
        return {**COMMANDS, **declared, **own}, None

    def parser(self, note: "Note") -> ArgumentParser:
        """Return the parser of every command; *note* gets each of its arguments."""
        return build(self.commands()[0], note)

    def chat(self, resume: str = "", prompt: str = "") -> int:
        """Start a conversation, or resume the session *resume*; return the exit code."""
        return self._run_offered("chat", NO_SCREEN, Namespace(resume=resume, prompt=prompt))

    def hand_over(self, name: str, arguments: Namespace, **more: Any) -> int:
        """Run a plugin's full form of the core's command *name*; return the exit code.

        It gets *arguments* and *more*. Raises: UsageError if no plugin has it.
        """
        return self._run_offered(name, NO_DETAILS, Namespace(**vars(arguments), **more))

    def _run_offered(self, name: str, lack: str, arguments: Namespace) -> int:
        offer = self.plugins.offered("commands", name)
        if offer is None:
            reason = why_not_offered(self.plugins, "commands", name)
            raise UsageError(lack.format(name=name, reason=reason))
        return int(offer[1].run(arguments, self))

    def settings_classes(self) -> dict[str, type]:
        """Return the settings class of every plugin that has one, loading them."""
        classes = {name: self.plugins.settings_class(name) for name in list(self.plugins.entries)}
        return {name: cls for name, cls in classes.items() if cls is not None}

    @property
    def config_path(self) -> Path:
        """The person's configuration file, which need not exist; raises ConfigError."""
        self.refuse_foreign_places()
        return user_config_dir() / "config.toml"

    def refuse_foreign_places(self) -> None:
        """Raise ConfigError if a project may control our own directories."""
        if self.config.refusal:
            raise ConfigError(self.config.refusal)

    @contextmanager
    def session(self, **options: Any) -> Iterator["Session"]:
        """Open a session with the host's configuration and plugins; *options* as in `open_session`.

        A signal interrupts its run, and a second one ends the process.
        """
        from nanocoder.session.api import open_session  # most commands open no session

        options |= {"config": self.config, "plugins": self.plugins, "warn": self.say}
        with self.signals:
            opened = open_session(self.cwd, **options)
            self.tell_news()
            # An earlier signal was recorded, and stops the run at its first event.
            with opened, self.signals.obeyed_by(partial(stop, opened)):
                yield opened
        self._tell(self.config.notices)  # a plugin's table is read at its first call

    def open_workspace(self, root: Path, journal: "Journal") -> "Workspace":
        """Open the workspace at *root* of a stored session, whose *journal* records its changes.

        Unfinished changes of a killed process are reverted first.

        Raises: ConfigError if a project may control our own directories.
        """
        self.refuse_foreign_places()
        workspaces.restore_interrupted_changes(root, os.environ, self.say)
        return workspaces.open_workspace(root, journal, self.config)

    def tell_news(self) -> None:
        """Print each ignored setting, and each disabled plugin without a report, once."""
        self._tell(self.config.notices)
        reported = {report.plugin for report in self.plugins.reports}
        for name, reason in self.plugins.set_aside.items():
            if name in reported:
                continue
            entry, trace = self.plugins.entries.get(name), ""
            if entry and os.environ.get("NANOCODER_DEBUG"):
                trace = f"\n{entry.description.get('traceback', '')}".rstrip()
            self._tell([f"plugin {name!r} is disabled: {reason} (nanocoder doctor){trace}"])

    def tell_reports(self) -> None:
        """Print each failure of a plugin once."""
        self._tell(map(str, self.plugins.reports))

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line not in self._told:
                self._told.add(line)
                self.say(line)


def stop(session: "Session", number: int) -> None:
    """Interrupt *session* because of a signal."""
    import signal

    session.interrupt(INTERRUPTED if number == signal.SIGINT else TERMINATED, signal=number)


def clean_early(text: str) -> str:
    """Redact *text* before the plugins are known, as in an error of the configuration.

    Strict mode is not known then, so an existing lock file counts.
    """
    clean_errors_by(str)  # for messages of the steps below
    config = Config(())
    with suppress(NanocoderError, OSError):
        config.refusal = refusal(Path.cwd(), os.environ)
        config.strict = (user_config_dir() / "plugins.lock").exists()
        clean_errors_by(partial(_redact, installed_plugins(config)))
    return str(getattr(sys.stderr, "clean", str)(text))


def clean_errors_by(clean: Callable[[str], str]) -> None:
    """Redact standard error with *clean*."""
    if isinstance(sys.stderr, console.CleanedStream):
        sys.stderr.clean = clean


def _redact(plugins: Plugins, text: str) -> str:
    """Redact *text* with the redactor of a plugin, loaded at the first text."""
    with suppress(NanocoderError):  # reported with the plugins
        if offer := plugins.offered("resources", "redactor"):
            # The next text need not look it up.
            clean_errors_by(redact := offer[1].open(None, plugins.settings(offer[0])).redact)
            return str(redact(text))
    return text


def _restrict(plugins: Plugins, name: str) -> None:
    """Keep only the *plugins* that the set *name* depends on, as the plugin for sets lists them.

    Raises: UsageError if it is not installed.
    """
    _, sets = find_offer(plugins, "resources", "plugin for --set with", "sets")
    members = sets.open(None, None).members(name)
    for plugin, entry in list(plugins.entries.items()):
        # A set may omit tools, never a policy that the person has installed.
        if entry.distribution not in members and not entry.is_policy:
            plugins.remove(plugin, f"does not belong to the set {name!r}")


def _declared(offer: Mapping[str, Any]) -> Command[Any]:
    arguments = tuple(Argument(**argument) for argument in offer["arguments"])
    return Command(offer["name"], offer["help"], None, arguments)
