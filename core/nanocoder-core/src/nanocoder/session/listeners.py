"""Delivers events: to the journal first, then to each plugin that listens."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nanocoder.errors import PluginError
from nanocoder.hooks import styles
from nanocoder.session.runtime import Runtime
from nanocoder.values import Event


class Listeners:
    """Delivers the events of one session.

    A failing listener never affects the run and is reported once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._reported: set[str] = set()

    def deliver_all(
        self, events: Iterable[Event], context: Callable[[], Mapping[str, Any]]
    ) -> Iterator[Event]:
        """Deliver each event before the next step is taken, and yield it."""
        for event in events:
            failures = self.deliver(event, context())
            yield event
            for failure in failures:
                self.deliver(failure, context())
                yield failure

    def deliver(self, event: Event, context: Mapping[str, Any]) -> Iterable[Event]:
        """Deliver one event; return an event for each listener that failed for the first time."""
        runtime = self._runtime
        runtime.record(event)
        errors: list[PluginError] = []
        with runtime.event_lock:
            implementations = runtime.plugins.implementations("nanocoder_event")
            styles.tell(implementations, errors.append, {"event": event, **context})
        problem = runtime.journal.problem if runtime.journal is not None else ""
        return self._failures(event, errors, problem) if errors or problem else ()

    def _failures(
        self, event: Event, errors: Iterable[PluginError], journal_problem: str
    ) -> list[Event]:
        rows = [("journal", "", journal_problem)] if journal_problem else []
        for error in errors:
            self._runtime.plugins.report(error)
            rows.append(("hook", error.plugin, str(error)))
        failures = []
        for part, plugin, message in rows:
            key = plugin or message
            if key not in self._reported:
                self._reported.add(key)
                data = {"part": part, "plugin": plugin, "message": message}
                failures.append(Event("telemetry.failed", data, event.call_id))
        return failures
