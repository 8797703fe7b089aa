"""One session, from its first event to its last, as a program works with it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from nanocoder_schema import evolve

from nanocoder.call.executor import Executor
from nanocoder.cancel import Cancel
from nanocoder.errors import PluginError
from nanocoder.hooks import dispatch
from nanocoder.session.compaction import Compaction, Shortened
from nanocoder.session.conversation import Conversation
from nanocoder.session.loop import Events, Run
from nanocoder.session.report import Report
from nanocoder.session.runtime import Runtime
from nanocoder.session.setup import start_notices
from nanocoder.session.sub_sessions import SubSessions, stricter
from nanocoder.values import Attachment, Event, Message, Mode, ToolCall, ToolResult

_RECORDED = """
message notice session.changed session.finished telemetry.failed transcript.compacted run.started
run.steered run.finished call.started call.returned call.approved call.edited call.denied
call.restored call.rewritten
"""
RECORDED = frozenset(_RECORDED.split())
"""Events that the journal records; a result is recorded as `call.finished`."""
PIECES = frozenset(("text", "thinking"))
PIECES_S = 0.1
"""Batching interval in seconds for pieces of a reply: each call of a listener takes a thread."""


class Session(Runtime, AbstractContextManager["Session"]):
    """One conversation in one directory. Made by `open_session`; use it as a context manager.

    `run` and `call` yield events as they happen; `report` is the outcome of the latest run,
    `result` that of the latest `call`.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.result: ToolResult | None = None
        self.compaction = Compaction(self)
        self._sub_sessions = SubSessions(self)
        self.executor = Executor(self, self.approvals, self._sub_sessions.open)
        self._failed, self._pieces = set[str](), list[Event]()
        self._effects: dict[str, Collection[str]] = {}  # of the tools of calls, by their ids
        self._run: Run | None = None
        self._cancel, self._is_cancel_used = Cancel(), False
        self._started, self._closed, self._announced = False, False, ""
        self._reported = len(self.plugins.reports) if self.parent else 0

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        model = self.info.model or "no model asked yet"
        return f"<Session {self.info.id} in {self.info.cwd}: mode {self.info.mode}, {model}>"

    @property
    def id(self) -> str:
        """The session's id, by which it can be resumed."""
        return self.info.id

    @property
    def messages(self) -> Sequence[Message]:
        """The transcript so far."""
        return tuple(self.conversation.messages)

    def set_mode(self, mode: Mode) -> None:
        """Change the mode from the next call on.

        Raises: UsageError for a mode that an administrator has ruled out.
        """
        self.config.refuse_change("mode", mode)
        self.set_info(mode=mode if self.parent is None else stricter(mode, self.parent.info.mode))
        self._sub_sessions.tighten(mode)

    def run(
        self, prompt: str, *, attachments: Sequence[Attachment] = (), typed: str | None = None
    ) -> Iterator[Event]:
        """Work on *prompt* until the model answers; yields events, the last is `run.finished`.

        *typed* is the part that a person typed, if not all of it; people are shown only that.
        Raises: UsageError or ProviderError if there is no model to ask. Later errors are in the
        report.
        """
        message = Message("user", prompt, attachments=tuple(attachments), typed=typed)
        return self._deliver_all(self._prompted(message))

    def call(
        self, name: str, arguments: Mapping[str, Any], *, typed: bool = False
    ) -> Iterator[Event]:
        """Run one call by the same path as the model's calls.

        With *typed* a person typed it, so it needs no approval. The last event is `call.returned`.
        """
        call_id = f"call-{len(self.report.tool_calls) + 1}"
        return self._deliver_all(self._called(ToolCall(call_id, name, {**arguments}, typed=typed)))

    def compact(self, focus: str = "") -> Iterator[Event]:
        """Have a plugin shorten the transcript now, keeping the topics in *focus*."""
        self._next_cancel()
        return self._deliver_all(self.compaction.shorten("asked", focus))

    def propose(self, focus: str = "") -> Shortened | None:
        """Return the transcript that `compact` would make now, or None, and change nothing."""
        self._next_cancel()
        return self.compaction.propose("asked", focus)

    def replace(self, new: Shortened, reason: str = "asked") -> Iterator[Event]:
        """Continue with *new* in place of the transcript."""
        return self._deliver_all(self.compaction.replace(new, reason))

    def reread(self) -> None:
        """Load the messages from the journal again, after a plugin changed it.

        Raises: UsageError if the journal cannot be read.
        """
        if self.journal is not None and not self.journal.problem:
            self.conversation = Conversation(self.journal.messages())
            self.compaction = Compaction(self)

    def interrupt(self, reason: str = "interrupted", *, signal: int = 0) -> None:
        """Stop the run; may be called from any thread, but not from a signal handler.

        *signal* is the number of the signal that caused it, for the report. Before the first run
        it stops that run at its start.
        """
        self.report.signal = signal
        self._cancel.set(reason)

    def expect_answer(self, schema: Mapping[str, Any] | None) -> None:
        """Ask for answers that fit a JSON Schema, if the provider can; they are not validated."""
        self.set_info(answer_schema=schema)

    def steer(self, text: str) -> None:
        """Send *text* with the next request of the current run; called from any thread.

        A run that would have ended continues with it. An event `run.steered` confirms it; nothing
        is sent without a current run, or if the run is stopped before.
        """
        if self._run is not None:
            self._run.steering.append(text)

    def reload(self) -> None:
        """Read the configuration again, for sub-agents, too; raises as `Runtime.reload`."""
        super().reload()
        for child in self._sub_sessions.children():
            child.config = self.config

    def close(self) -> None:
        """End the session: `session.finished` is its last event; all resources are closed."""
        # An explicit `close` inside a `with` must not end the session twice.
        if self._closed:
            return
        self._closed = True
        # First, because the last event's report includes their totals.
        self._sub_sessions.close()
        if self._started:
            data = {**self.report.data(), "failed_plugins": {**self.plugins.failed}}
            self._deliver(Event("session.finished", data))
        # After the last event, because it may wait for seconds.
        self.executor.close()
        super().close()

    def _prompted(self, message: Message) -> Events:
        self.open_provider()  # without a model there is no run
        signal, dry_run = self.report.signal, self.approvals.start_dry_run()
        self.report = Report(self.id, self.info.model, signal=signal, dry_run=dry_run)
        parts = (self.executor, self.compaction, self._sub_sessions, self.report)
        self._run = Run(self, *parts, self._next_cancel())
        yield from self._begin()
        yield from self._run.work_on(message)

    def _called(self, call: ToolCall) -> Events:
        cancel = self._next_cancel()
        yield from self._begin()
        [self.result] = yield from self.executor.turn([call], cancel)
        self.report.note([call], [self.result], self.tools)
        self.settle()

    def _next_cancel(self) -> Cancel:
        # An unused one stays, so that an interrupt before the first run stops that run.
        self._cancel = Cancel() if self._is_cancel_used else self._cancel
        self._is_cancel_used, self.compaction.cancel = True, self._cancel
        return self._cancel

    def _begin(self) -> Events:
        info = self.info
        if not self._started:
            self._started = True
            resumed = bool(self.conversation.messages)
            facts = {"session_id": info.id, "model": info.model, "cwd": str(info.cwd)}
            yield Event("session.started", {**facts, "mode": str(info.mode), "resumed": resumed})
            lines = [*self.notices, *start_notices(self.config, self.plugins)]
            for line in () if self.parent else lines:
                yield Event("notice", {"text": line})
        if info.model != self._announced:  # a resumed session continues with its last model
            self._announced = info.model
            yield Event("session.changed", {"model": info.model})

    def _deliver_all(self, events: Iterable[Event]) -> Iterator[Event]:
        """Deliver each event before the next step is taken, and yield it."""
        for event in events:
            failures = self._deliver(event)
            yield event
            for failure in failures:
                self._deliver(failure)
                yield failure

    def _deliver(self, event: Event) -> Iterable[Event]:
        """Journal one event, then call each plugin that listens to it.

        A failing listener never affects the run; its first failure is reported by an event.
        """
        # Before the listeners: if one kills the program, the event is recorded.
        self._record(event)
        if event.kind == "call.returned":
            self.report.note_outcome(event.data)
        errors: list[PluginError] = []
        with self.event_lock:
            listeners = self.plugins.implementations("nanocoder_event")
            for due in self._due(event):
                kinds = self._kinds(due)
                if hear := [it for it in listeners if not kinds.isdisjoint(it.events or kinds)]:
                    dispatch.collect(hear, errors.append, self.hook_context(event=due), object)
        problem = self.journal.problem if self.journal is not None else ""
        is_sound = not (errors or problem) and len(self.plugins.reports) == self._reported
        return () if is_sound else list(self._failures(event, errors, problem))

    def _kinds(self, event: Event) -> set[str]:
        """Return the names for which *event* is sent: its kind, and kind:effect for each effect."""
        if event.kind in {"call.received", "call.started"}:
            self._effects[event.call_id] = event.data.get("effects", ())
        # Dropped at a call's last event, so that a long session does not grow.
        find = self._effects.pop if event.kind == "call.returned" else self._effects.get
        return {event.kind, *[f"{event.kind}:{effect}" for effect in find(event.call_id, ())]}

    def _due(self, event: Event) -> list[Event]:
        """Return the events due after *event*; neighbouring pieces of one kind are joined."""
        first, due = self._pieces[0] if self._pieces else event, []
        if first.kind != event.kind or event.at - first.at > PIECES_S:
            pieces, self._pieces = self._pieces, []
            due.append(evolve(first, data={"text": "".join(it.data["text"] for it in pieces)}))
        (self._pieces if event.kind in PIECES else due).append(event)
        return due

    def _failures(self, event: Event, errors: Iterable[PluginError], problem: str) -> Events:
        for error in errors:
            self.plugins.report(error)
        for report in self.plugins.reports[self._reported :]:
            facts = {"plugin": report.plugin, "message": str(report)}
            yield Event("plugin.failed", facts, event.call_id)
        self._reported = len(self.plugins.reports)
        rows = [("journal", "", problem), *(("hook", it.plugin, str(it)) for it in errors)]
        for part, plugin, message in rows:
            # Reported once: a failing listener usually fails at every event.
            if message and (plugin or message) not in self._failed:
                self._failed.add(plugin or message)
                data = {"part": part, "plugin": plugin, "message": message}
                yield Event("telemetry.failed", data, event.call_id)

    def _record(self, event: Event) -> None:
        journal = self.journal
        if journal is None or event.kind not in RECORDED:
            return
        kind, data = event.kind, event.data
        if kind == "call.returned":
            kind, failed = "call.finished", data["status"] != "ok"
            data = {"result": {**data, "is_error": failed, "call_id": event.call_id}}
        if event.call_id:
            data = {**data, "call_id": event.call_id}
        # With "power", the record is on the disk before the call changes anything.
        is_durable = self.config.core.durability == "power"
        journal.append(kind, data, sync=is_durable and kind in {"call.started", "run.finished"})
