"""Telling what happened: the journal first, then each plugin that listens, and what fails there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nanocoder.errors import PluginError
from nanocoder.hooks import styles
from nanocoder.session.build import Ground
from nanocoder.values import Event


class Telemetry:
    """Delivers the events of one session; what fails changes nothing but is told once, too."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._told: set[str] = set()

    def delivered(
        self, events: Iterable[Event], about: Callable[[], Mapping[str, Any]]
    ) -> Iterator[Event]:
        """Let the journal and the plugins know of each event before the next step is taken."""
        for event in events:
            failures = self.deliver(event, about())
            yield event
            for failure in failures:
                self.deliver(failure, about())
                yield failure

    def deliver(self, event: Event, about: Mapping[str, Any]) -> Iterable[Event]:
        """Deliver one event; return one for each part that failed for the first time."""
        ground = self._ground
        ground.record(event)
        failed: list[PluginError] = []
        with ground.telling:  # a plugin hears one event at a time, whoever runs beside this
            listening = ground.plugins.implementations("nanocoder_event")
            styles.tell(listening, failed.append, {"event": event, **about})
        unwritten = ground.journal.problem if ground.journal is not None else ""
        return self._failures(event, failed, unwritten) if failed or unwritten else ()

    def _failures(self, event: Event, failed: Iterable[PluginError], unwritten: str) -> list[Event]:
        found = []
        if unwritten and unwritten not in self._told:
            self._told.add(unwritten)
            data = {"part": "journal", "plugin": "", "message": unwritten}
            found.append(Event("telemetry.failed", data, event.call_id))
        for error in failed:
            self._ground.plugins.report(error)
            if error.plugin not in self._told:
                self._told.add(error.plugin)
                data = {"part": "hook", "plugin": error.plugin, "message": str(error)}
                found.append(Event("telemetry.failed", data, event.call_id))
        return found
