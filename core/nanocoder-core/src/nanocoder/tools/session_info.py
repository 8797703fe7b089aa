"""The information on a session for plugins, and the interface of a session that one opened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field
from nanocoder_files import Readable
from nanocoder_schema import ToolError, value

from nanocoder.values import Event, Mode, StopReason, Usage

if TYPE_CHECKING:
    from nanocoder_files import ResolvedPath


class CallLimit:
    """The limit of calls of a session and its sub-agents that work at once."""

    def __init__(self, most: int = 8) -> None:
        self.most = self.current = most

    def lower_to(self, current: int) -> None:
        """Let *current* calls work at once from now on: at least 1, at most as configured."""
        self.current = max(1, min(self.most, current))


class Notices:
    """Lines of plugins for the person of a session; each is shown once."""

    def __init__(self) -> None:
        self._lines: dict[str, bool] = {}

    def add(self, text: str) -> None:
        """Show *text* before the next request is sent, as the event `notice`."""
        self._lines.setdefault(text, False)

    def take(self) -> list[str]:
        """Return the lines that were not shown yet, and mark them as shown."""
        new = [text for text, is_shown in [*self._lines.items()] if not is_shown]
        self._lines.update(dict.fromkeys(new, True))
        return new


@value
class SessionInfo:
    """The information on a session for plugins.

    *interactive*: a person is there to answer; *answered*: somebody approves calls, if only the
    program that opened the session. *output* is "text", "json" or "jsonl"; *profile* is "small" if
    the model wants short descriptions and few tools. *folder* is the session's directory beside its
    journal, for files of plugins; it need not exist yet, and is None for a session that is not
    recorded. *outputs* is its directory of outputs that were too long for the model, which may read
    them. *agent* is the name of a sub-agent's profile, empty for the main agent, *parent* the
    session that opened it, *parent_call* the call there that started it.
    *origins* are the directories that *cwd* is a copy of, the nearest first: the parent's, if a
    sub-agent works in a copy. A rule for a path below them applies to the same path below *cwd*.
    *own_folders* are the directories of nanocoder's settings, sessions and caches. *readable* is
    the combined read filter of all policies (`nanocoder_readable`). With *call_limit* a plugin
    lowers the number of calls that work at once. In a *dry_run* calls that would change something
    are shown but not run. With *is_trial* a call is only judged, to be shown or to be asked about
    with others. *answer_schema* is a JSON Schema that answers should fit. *find_sandbox* returns
    `sandbox`, and raises ToolError if it cannot be used; *wrap* returns the command line of a
    program as that sandbox runs it, and raises alike. *notices* takes lines for the person, such
    as a file that a plugin refused to read.
    """

    id: str
    cwd: Path
    mode: Mode = Mode.ASK
    model: str = ""
    interactive: bool = False
    answered: bool = False
    output: str = "text"
    profile: str = "full"
    folder: Path | None = None
    outputs: Path | None = None
    agent: str = ""
    parent: str = ""
    parent_call: str = ""
    origins: tuple[Path, ...] = ()
    own_folders: tuple[Path, ...] = ()
    readable: Readable = field(factory=Readable, eq=False, repr=False)
    dry_run: bool = False
    is_trial: bool = False
    call_limit: CallLimit = field(factory=CallLimit, eq=False, repr=False)
    answer_schema: Mapping[str, Any] | None = field(default=None, eq=False, repr=False)
    find_sandbox: Callable[[], str] = field(default=str, eq=False, repr=False)
    wrap: Callable[[list[str]], list[str]] = field(default=list, eq=False, repr=False)
    notices: Notices = field(factory=Notices, eq=False, repr=False)

    @property
    def sandbox(self) -> str:
        """The name of the tools' sandbox; "" for none, and for one that cannot be used."""
        with suppress(ToolError):
            return self.find_sandbox()
        return ""

    @property
    def changes_nothing_by(self) -> str:
        """The name of the mode that forbids all changes: "plan mode" or "dry run", else ""."""
        return "plan mode" if self.mode is Mode.PLAN else "dry run" if self.dry_run else ""

    def resolve(self, path: str, directory: str = ".", *, literal: bool = False) -> "ResolvedPath":
        r"""Resolve *path* by the walk with which the workspace opens files.

        *path* is as a tool gets it, relative to *directory*, which is relative to the workspace.
        Nothing needs to exist, and any text is resolved. *literal* is for words of a command, in
        which `\xff` is no escape.
        """
        from nanocoder_files import resolver  # a start resolves no path

        own, origins = tuple(map(str, self.own_folders)), tuple(map(str, self.origins))
        resolve = resolver(str(self.cwd), own, str(self.folder or ""), origins)
        return resolve.resolve(path, directory, literal=literal)


class RunReport(Protocol):
    """The outcome of a run so far, to read only.

    *text* is that of the latest reply, *stop_reason* the reason of the end, *error* the class and
    the message of the error that ended it, None after an answer. *turns* is the number of requests
    to the model, *usage* their total, *files_changed* the files that its calls changed.
    """

    text: str
    stop_reason: StopReason
    error: dict[str, str] | None
    turns: int
    usage: Usage
    files_changed: list[str]


class ChildSession(AbstractContextManager["ChildSession"], Protocol):
    """A child session, for the tool that opened it. Close it after use."""

    @property
    def info(self) -> SessionInfo:
        """The information on the session for policies."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def report(self) -> RunReport:
        """The outcome of the latest run."""

    def run(self, prompt: str) -> Iterator[Event]:
        """Work on *prompt* until the model answers; yields events as they happen."""

    def set_mode(self, mode: Mode) -> None:
        """Change the session's mode from the next call on."""

    def interrupt(self, reason: str = ...) -> None:
        """Stop the current run; called from any thread."""

    def close(self) -> None:
        """End the session."""

    def __exit__(self, *error: object) -> None:
        """Close it."""
