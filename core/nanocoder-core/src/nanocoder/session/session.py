"""One session, from its first event to its last, as a program works with it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

from nanocoder.cancel import Cancel
from nanocoder.config.config import Config
from nanocoder.path.path import Executor
from nanocoder.provider import Provider
from nanocoder.session.context import Context, Shortened
from nanocoder.session.conversation import Conversation
from nanocoder.session.installed import start_notices
from nanocoder.session.loop import Events, Run
from nanocoder.session.models import Chosen
from nanocoder.session.report import Report
from nanocoder.session.runtime import Runtime
from nanocoder.session.sub_sessions import SubSessions
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import Attachment, Event, Message, Mode, ToolCall, ToolResult


class Session:
    """One conversation in one directory. Made by `open_session`; use it as a context manager.

    `run` and `call` yield events as they happen; `report` is what the latest run came to, `result`
    what the latest `call` did.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.plugins = runtime.plugins
        self.journal = runtime.journal
        self.approvals = runtime.approvals
        self.open_workspace = runtime.open_workspace
        self.result: ToolResult | None = None
        self._sub_sessions = SubSessions(runtime)
        core = runtime.config.core
        self.executor = Executor(
            plugins=runtime.plugins,
            workspace=runtime.open_workspace,
            approvals=runtime.approvals,
            session_id=self.id,
            resource=runtime.resource,
            artifact=runtime.keep_output,
            wrap=runtime.wrap,
            child=partial(self._sub_sessions.open, Session),
            tools=runtime.tool_list.tools,
            infos=lambda: runtime.tool_list.infos(self.info),
            call_timeout_s=core.call_timeout_s,
            keep_tmp=core.keep_tmp,
            admission=runtime.admission,
            is_inner=runtime.parent is not None,
        )
        self.context = Context(runtime)
        self._run: Run | None = None
        self._cancel = Cancel()
        self._signal = 0
        self._started, self._closed, self._announced = False, False, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        model = self.info.model or "no model asked yet"
        return f"<Session {self.info.id} in {self.info.cwd}: mode {self.info.mode}, {model}>"

    @property
    def info(self) -> SessionInfo:
        """What plugins know of the session."""
        return self._runtime.info

    @property
    def id(self) -> str:
        """The session's id, by which it can be resumed."""
        return self.info.id

    @property
    def config(self) -> Config:
        """The configuration that holds now."""
        return self._runtime.config

    @property
    def messages(self) -> Sequence[Message]:
        """The transcript so far."""
        return tuple(self._runtime.conversation.messages)

    @property
    def tools(self) -> Mapping[str, Tool[..., Any]]:
        """The tools on offer, by name."""
        return self._runtime.tool_list.tools()

    @property
    def chosen(self) -> Chosen:
        """The provider and model; raises UsageError or ProviderError."""
        return self._runtime.chosen

    @property
    def provider(self) -> Provider:
        """The provider, opened at first use; raises UsageError or ProviderError."""
        return self._runtime.open_provider()

    @property
    def system(self) -> str:
        """The system prompt; the same text until the mode changes."""
        return self._runtime.system

    @property
    def report(self) -> Report:
        """The outcome of the latest run so far."""
        return self._runtime.report

    def set_mode(self, mode: Mode) -> None:
        """Change how much nanocoder may do without asking, from the next call on.

        Raises UsageError for a mode that an administrator has ruled out.
        """
        self._runtime.config.refuse_change("mode", mode)
        self._runtime.set_info(mode=mode)
        self._sub_sessions.tighten(mode)

    def set_model(self, model: str) -> None:
        """Talk to another model from the next turn on.

        Raises UsageError and changes nothing if there is none.
        """
        self._runtime.config.refuse_change("model", model)
        self._runtime.set_model(model)

    def reload(self) -> None:
        """Read the configuration again: the next call is judged by its rules.

        Raises: ConfigError or PluginError, and the rules stay as they were.
        """
        self._runtime.reload()

    def run(
        self, prompt: str, *, attachments: Sequence[Attachment] = (), typed: str | None = None
    ) -> Iterator[Event]:
        """Work on *prompt* until the model answers; yields events, the last is `run.finished`.

        *typed* is what a person typed of it, if not all: people are shown that. Raises: UsageError
        or ProviderError when there is no model to ask. Later errors are in the report.
        """
        message = Message("user", prompt, attachments=tuple(attachments), typed=typed)
        return self._runtime.delivery.deliver_all(self._prompted(message))

    def call(
        self, name: str, arguments: Mapping[str, Any], *, typed: bool = False
    ) -> Iterator[Event]:
        """Take one call down the same path that the model's take.

        With *typed* a person typed it, so it needs no approval. The last event is `call.returned`.
        """
        call_id = f"call-{len(self.report.tool_calls) + 1}"
        call = ToolCall(call_id, name, dict(arguments), typed=typed)
        return self._runtime.delivery.deliver_all(self._called(call))

    def compact(self, focus: str = "", prepared: Shortened | None = None) -> Iterator[Event]:
        """Shorten the transcript now, keeping what *focus* names, or take what was *prepared*."""
        self._next_cancel()
        return self._runtime.delivery.deliver_all(self.context.shorten("asked", focus, prepared))

    def restore(self) -> Iterator[Event]:
        """Put back what the latest compaction replaced; raises UsageError when there was none."""
        return self._runtime.delivery.deliver_all(self.context.restore())

    def reread(self) -> None:
        """Go on with the messages that the journal has now, after a plugin changed which these are.

        Raises: UsageError when the journal cannot be read.
        """
        if self.journal is not None and not self.journal.problem:
            self._runtime.conversation = Conversation(self.journal.messages())
            self.context = Context(self._runtime)

    def interrupt(self, reason: str = "interrupted", *, signal: int = 0) -> None:
        """Stop the run; may be called from any thread, but not from a signal handler.

        *signal* is the number of the signal that asked for it: the report keeps it. Before the
        first run, that one stops as soon as it begins.
        """
        self._signal = signal
        if self._run is not None:
            self._run.signal = signal
        self._cancel.set(reason)

    def expect_answer(self, schema: Mapping[str, Any] | None) -> None:
        """Ask for answers that fit a JSON Schema, where the provider can; nothing checks them."""
        self._runtime.set_info(answer_schema=schema)

    def steer(self, text: str) -> None:
        """Send *text* with the next request of the run that is working; from any thread.

        A run that would have ended goes on with it. An event `run.steered` says that it is sent;
        nothing is sent where no run works, or the run is stopped before.
        """
        if self._run is not None:
            self._run.steering.append(text)

    def close(self) -> None:
        """End the session: `session.finished` is its last event; everything it opened is closed."""
        if self._closed:
            return
        self._closed = True
        self._sub_sessions.close(self.report)
        if self._started:
            self._runtime.delivery.deliver(Event("session.finished", self.report.data()))
        self.executor.close()
        self._runtime.close()

    def _prompted(self, message: Message) -> Events:
        runtime = self._runtime
        runtime.open_provider()  # without a model there is no run
        runtime.report = Report(self.id, self.info.model, dry_run=self.approvals.start_dry_run())
        parts = (self.executor, self.context, self._sub_sessions, runtime.report)
        self._run = Run(runtime, *parts, self._next_cancel(), self._signal)
        yield from self._begin()
        yield from self._run.work_on(message)

    def _called(self, call: ToolCall) -> Events:
        cancel = self._next_cancel()
        yield from self._begin()
        self.result = yield from self.executor.path(call, cancel)
        self.report.note([call], [self.result], self.tools)
        self._sub_sessions.settle(self.report)

    def _next_cancel(self) -> Cancel:
        if self._started:
            self._cancel = Cancel()
        self.context.cancel = self._cancel
        return self._cancel

    def _begin(self) -> Events:
        info, runtime = self.info, self._runtime
        if not self._started:
            self._started = True
            resumed = bool(runtime.conversation.messages)
            facts = {"session_id": info.id, "model": info.model, "cwd": str(info.cwd)}
            yield Event("session.started", {**facts, "mode": str(info.mode), "resumed": resumed})
            for line in () if runtime.parent else start_notices(self.config, self.plugins):
                yield Event("notice", {"text": line})
        if info.model != self._announced:  # a resumed session goes on with its last model
            self._announced = info.model
            yield Event("session.changed", {"model": info.model})
