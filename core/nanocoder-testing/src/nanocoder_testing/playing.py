"""Test sessions: scripted turns run through the whole path, from model to handler and back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import frozen
from nanocoder.call.state import Approver
from nanocoder.cancel import Cancel
from nanocoder.hooks.marks import hookimpl
from nanocoder.plugins import Plugins
from nanocoder.session.api import open_session
from nanocoder.session.session import Session
from nanocoder.tools.tool import Tool
from nanocoder.values import (
    ApprovalAnswer,
    ApprovalRequest,
    Event,
    Message,
    Question,
    ToolCall,
    ToolResult,
)

from nanocoder_testing.scripted import Scripted, Turn

Offered = Plugins | Mapping[str, object] | Iterable[ModuleType]
"""Plugins for a test: a `Plugins`, objects by name, or modules."""


@frozen(eq=False)
class Played:
    """The result of a scripted run.

    *results* has one result for each call of the model, in its order; *report* is what
    `run --output json` prints; *model* holds the requests that were made.
    """

    events: Sequence[Event]
    messages: Sequence[Message]
    report: Mapping[str, Any]
    model: Scripted

    @property
    def text(self) -> str:
        """The last text of the model."""
        return str(self.report["text"])

    @property
    def results(self) -> list[ToolResult]:
        """The results that the model read."""
        return [result for message in self.messages for result in message.results]

    def kinds(self, call_id: str = "") -> list[str]:
        """Return the kinds of all events in order, or of those of one call."""
        return [event.kind for event in self.events if not call_id or event.call_id == call_id]


class Tools:
    """A plugin that offers *tools*, for the sessions of a test."""

    def __init__(self, *tools: Tool[..., Any]) -> None:
        self._tools = list(tools)

    @hookimpl
    def nanocoder_tools(self) -> list[Tool[..., Any]]:
        """Offer them."""
        return self._tools


def play(
    cwd: Path | str,
    turns: Sequence[Turn],
    *,
    plugins: Offered = (),
    prompt: str = "go",
    **options: Any,
) -> Played:
    """Run one prompt with a scripted model in *cwd* and return the outcome.

    *options* are those of `opened`.
    """
    with opened(cwd, turns, plugins=plugins, **options) as (session, model):
        events = list(session.run(prompt))
        return Played(events, session.messages, session.report.data(), model)


@contextmanager
def opened(
    cwd: Path | str,
    turns: Sequence[Turn] = (),
    *,
    plugins: Offered = (),
    approve: Approver | None = None,
    settings: Mapping[str, Any] | None = None,
    model: Scripted | None = None,
    **options: Any,
) -> Iterator[tuple[Session, Scripted]]:
    """Open a session with a scripted model, for tests that need more than `play`.

    *settings* are settings objects by plugin, *approve* answers approval requests; the rest are
    options of `nanocoder.open_session`. No journal is written, and only the directory's own
    configuration is read.
    """
    together = gathered(plugins)
    model = model or Scripted(turns)
    together.add(model, "script")
    chosen = dict(settings or {})
    together.configure(lambda name, cls: chosen.get(name) or cls())
    options = {"persist": False, "environment": {"HOME": "/nonexistent"}, **options}
    with open_session(cwd, plugins=together, model="script", approve=approve, **options) as session:
        yield session, model


def gathered(plugins: Offered) -> Plugins:
    """Return *plugins* as one set; raises PluginError for an invalid one."""
    if isinstance(plugins, Plugins):
        return plugins
    if not isinstance(plugins, Mapping):
        plugins = {_name_of(plugin): plugin for plugin in plugins}
    together = Plugins()
    for name, plugin in plugins.items():
        together.add(plugin, name)
    return together


def _name_of(module: ModuleType) -> str:
    return module.__name__.removeprefix("nanocoder_").replace("_", "-")


def called(
    session: Session, name: str, arguments: Mapping[str, Any], *, cancel: Cancel | None = None
) -> tuple[ToolResult, list[Event]]:
    """Run one call by the path of *session*; return its result and its events."""
    steps = session.executor.turn([ToolCall("call-1", name, arguments)], cancel or Cancel())
    events = []
    while True:
        try:
            events.append(next(steps))
        except StopIteration as end:
            [result] = end.value
            return result, events


def agree(request: ApprovalRequest) -> ApprovalAnswer:
    """Answer an approval request with yes."""
    return ApprovalAnswer(request.id, request.digest, approved=True)


def first_choice(question: Question) -> str:
    """Answer a tool's question with the first of its choices."""
    return str(next(iter(question.choices), "yes"))
