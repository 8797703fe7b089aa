"""Interfaces that plugins implement besides tools, providers and commands.

Screens, session stores, runners, resources, dialects, sandboxes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nanocoder_schema import value

from nanocoder.cancel import Cancel
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import EMPTY, Access, Event, Message, ToolCall, ToolResult

Job = Mapping[str, Any]


class Display(Protocol):
    """The display of one session for a person or a program."""

    def show(self, event: Event) -> None:
        """Show an event; called in order, from one thread."""

    def close(self) -> None:
        """Show the rest and restore the terminal; called once."""


@value
class Screen:
    """A way to show a session: *name* is a value of `--output` ("text" draws on a terminal).

    *open* gets the session's info and the plugin's settings. With *reads_stdin* standard input has
    the answers of a program, and is part of the prompt only on a person's request.
    """

    name: str
    open: Callable[[SessionInfo, Any], Display]
    description: str = ""
    reads_stdin: bool = False


class Journal(Protocol):
    """The record of one session; its methods are called from any thread."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def problem(self) -> str:
        """A message for the person why the session is not recorded, or ""."""

    @property
    def artifacts(self) -> Path | None:
        """Directory of plugins' files, deleted with the session; None if there is none."""

    @property
    def outputs(self) -> Path | None:
        """Directory of outputs that were too long for the model, which may read them; or None."""

    @property
    def backups(self) -> Path | None:
        """Directory of backups of changed files; None if there are none."""

    def append(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> int:
        """Record an event and return its number; never raises. *data* is ready for JSON.

        With *sync* the record survives a power cut once this has returned.
        """

    def output(self, name: str, data: bytes) -> str:
        """Store a long output under a name like *name*; return its path, "" on failure."""

    def messages(self) -> Sequence[Message]:
        """Return the messages recorded so far; raises UsageError.

        Every call has exactly one result, also after a crash.
        """

    def replaced(self) -> Sequence[tuple[tuple[Message, ...], int]]:
        """Return the compactions that were not restored, the latest last.

        Each is the messages before it, and the number of messages after it. Raises: UsageError.
        """

    def close(self) -> None:
        """Stop recording and release the session; closing twice is fine."""


@value
class StoredSession:
    """A resumed session: its journal, its messages, and its last model and *cwd*."""

    journal: Journal
    messages: tuple[Message, ...] = ()
    model: str = ""
    cwd: str = ""


class Sessions(Protocol):
    """Store of a person's sessions. A name is an id, or "last": the last session in *cwd*."""

    def start(
        self,
        cwd: Path,
        model: str,
        mode: str,
        *,
        origin: Mapping[str, str] = EMPTY,
        parent: Journal | None = None,
    ) -> Journal:
        """Start a session; one of a sub-agent has a *parent*. *origin* is recorded with it."""

    def find(self, name: str, *, cwd: Path | None = None) -> str:
        """Return the id of the session *name*; raises UsageError."""

    def resume(self, name: str, *, cwd: Path | None = None) -> StoredSession:
        """Resume the session *name*; raises UsageError."""


@value
class Store:
    """A session store: *name* is a value of the setting `store`.

    *open* gets the environment variables, the plugin's settings, and a function that shows a line
    to the person. It raises UsageError or ConfigError if the store cannot be used.
    """

    name: str
    open: Callable[[Mapping[str, str], Any, Callable[[str], None]], Sessions]


@value
class Runner:
    """A way to run many jobs in parallel: *name* is a value of `nanocoder batch --runner`.

    *run* gets the work, the jobs, a `Cancel`, the options of the command line ("workers", 0 for the
    runner's own number, and "scheduler") and the plugin's settings. In any order it yields pairs of
    a job and the result of `work(job, cancel, admit)`, or the exception in its place. Jobs and
    results are ready for JSON, and other processes import the work by its name. The work holds
    `admit(provider)`, a context manager, during a request to a model, and waits there for limits
    that all workers share. Once the `Cancel` is set, no job starts and the running ones end soon.
    """

    name: str
    run: Callable[[Any, Sequence[Job], Cancel, Job, Any], Iterator[tuple[Job, Any]]]


@value
class Resource:
    """Something that a plugin keeps open for one session: a job table, a cache, a client.

    *open* is called at the first `ctx.resource(name)`; its result is closed with the session (its
    close method). Its method `news_for_model(cancel)`, if it has one, returns lines that the model
    reads with the next request, each once, such as the end of a job. Without a *cancel* it returns
    at once; with one the run is about to end, and it may wait for running jobs until the cancel is
    set.
    """

    name: str
    open: Callable[[SessionInfo, Any], Any]


@runtime_checkable
class Dialect(Protocol):
    """A translation of tools, calls and results between the model's form and the canonical one.

    Policies see canonical calls only. A dialect may have a method `reword(text)`, which translates
    a plugin's line for the model, such as the end of a job, to the dialect's names.
    """

    name: str

    def offer(self, tools: Sequence[Tool[..., Any]]) -> Sequence[Mapping[str, Any]]:
        """Return the name, description and parameters of each tool in this dialect."""

    def canonical(self, call: ToolCall) -> ToolCall:
        """Translate a model's call to a canonical one; raises BadArguments."""

    def render(self, call: ToolCall, result: ToolResult) -> str:
        """Return the text that the model reads; *call* is the model's own, untranslated."""


class OpenSandbox(Protocol):
    """The sandbox of one session."""

    def wrap(self, argv: Sequence[str], ports: Sequence[int], access: Access) -> list[str]:
        """Return the argv that runs *argv* inside; called from any thread.

        With the access READ, writes of programs in the workspace are discarded or refused, and
        `changes` names the files. A program inside that listens on one of *ports* is reachable
        there from this machine. Raises: ToolError.
        """

    def changes(self) -> Sequence[str]:
        """Undo changes by programs inside that would affect programs outside; a line for each.

        Called after each call of the session once a program was wrapped, from any thread. Raises:
        ToolError, and the call's result is withheld.
        """


@value
class Sandbox:
    """A way to run processes with fewer rights than our own: *name* is a value of `sandbox`.

    The plugin's resource of the same name is the session's `OpenSandbox`. *in_force* gets the
    plugin's settings and returns the sandbox in one word for people and policies, or "" for none.
    It is called often, and raises ToolError (sandbox_unavailable) if the sandbox cannot be used.
    The sandbox "auto" is the first usable one by *rank*; 0: never chosen so. With a *system*, a
    value of `sys.platform`, "auto" tries it only there.
    """

    name: str
    in_force: Callable[[Any], str]
    rank: int = 0
    system: str = ""
