"""The two screens. Nothing but them writes to standard output."""

import sys
from collections.abc import Mapping
from typing import Any

from nanocoder import Event, SessionInfo

from nanocoder_ui_json.encoding import encoded

ENDS = ("run.finished", "session.finished")


class Lines:
    """Writes each event as one line, at once."""

    def show(self, event: Event) -> None:
        """Write an event and flush; raises BrokenPipeError when the reader has gone."""
        line = {"type": event.kind, "at": event.at, "call_id": event.call_id}
        _write(encoded({**line, **event.data, **line}))

    def close(self) -> None:
        """Leave nothing behind: each line was flushed."""


class Summary:
    """Writes what the run came to, as one object at the end."""

    def __init__(self) -> None:
        self._report: Mapping[str, Any] | None = None

    def show(self, event: Event) -> None:
        """Keep the latest report."""
        if event.kind in ENDS:
            self._report = event.data

    def close(self) -> None:
        """Write the object; raises BrokenPipeError when the reader has gone."""
        if self._report is not None:
            _write(encoded(self._report))


def open_lines(_info: SessionInfo, _settings: Any) -> Lines:
    """Open the screen "jsonl"."""
    return Lines()


def open_object(_info: SessionInfo, _settings: Any) -> Summary:
    """Open the screen "json"."""
    return Summary()


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
