"""How an event of a session reaches its journal and the plugins that listen."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from attrs import field
from nanocoder_schema import Shown, lazy_define

from nanocoder.errors import PluginError
from nanocoder.hooks import styles
from nanocoder.hooks.contributions import Journal
from nanocoder.plugins import Plugins
from nanocoder.values import Event

RECORDED = frozenset(
    (
        *("message", "notice", "session.changed", "session.finished", "telemetry.failed"),
        *("transcript.compacted", "run.started", "run.steered", "run.finished", "call.started"),
        *("call.returned", "call.approved", "call.edited", "call.denied", "call.restored"),
        "call.rewritten",
    )
)
"""Events that the journal keeps; a result is kept as `call.finished`."""


@lazy_define
class Delivery(Shown):
    """Takes each event of one session to its journal, and then to each plugin that listens.

    *lock* is held while a plugin hears an event, so that it hears one at a time, from child
    sessions, too. *is_durable* tells whether the record of a call waits for the disk.
    """

    _plugins: Plugins
    _journal: Journal | None
    _hook_context: Callable[[], dict[str, Any]]
    _is_durable: Callable[[], bool]
    _lock: AbstractContextManager[Any]
    _failed: set[str] = field(factory=set)

    def deliver_all(self, events: Iterable[Event]) -> Iterator[Event]:
        """Deliver each event before the next step is taken, and yield it."""
        for event in events:
            failures = self.deliver(event)
            yield event
            for failure in failures:
                self.deliver(failure)
                yield failure

    def deliver(self, event: Event) -> Iterable[Event]:
        """Journal one event, then tell each plugin that listens.

        A failing listener never affects the run: an event says so when it fails for the first time.
        """
        self._record(event)
        errors: list[PluginError] = []
        with self._lock:
            listeners = self._plugins.implementations("nanocoder_event")
            styles.tell(listeners, errors.append, {"event": event, **self._hook_context()})
        problem = self._journal.problem if self._journal is not None else ""
        return self._failures(event, errors, problem) if errors or problem else ()

    def _failures(
        self, event: Event, errors: Iterable[PluginError], journal_problem: str
    ) -> list[Event]:
        rows = [("journal", "", journal_problem)] if journal_problem else []
        for error in errors:
            self._plugins.report(error)
            rows.append(("hook", error.plugin, str(error)))
        failures = []
        for part, plugin, message in rows:
            if (plugin or message) not in self._failed:
                self._failed.add(plugin or message)
                data = {"part": part, "plugin": plugin, "message": message}
                failures.append(Event("telemetry.failed", data, event.call_id))
        return failures

    def _record(self, event: Event) -> None:
        if self._journal is None or event.kind not in RECORDED:
            return
        kind, data = event.kind, event.data
        if kind == "call.returned":
            failed = data["status"] != "ok"
            kind = "call.finished"
            data = {"result": {**data, "is_error": failed, "call_id": event.call_id}}
        if event.call_id:
            data = {**data, "call_id": event.call_id}
        # With "power", the record is on the disk before the call changes anything.
        sync = kind in {"call.started", "run.finished"} and self._is_durable()
        self._journal.append(kind, data, sync=sync)
