"""The two screens. Nothing but them writes to standard output.

While one of them is open, `sys.stdout` is standard error: what a plugin prints must not end up
between two events.
"""

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from nanocoder import Event, SessionInfo, for_terminal

from nanocoder_ui_json.encoding import encoded

ENDS = ("run.finished", "session.finished")


class Output:
    """Standard output, kept from everybody else until it is given back."""

    def __init__(self) -> None:
        self._before = sys.stdout
        # The command line has kept it for us, and what plugins print out of it, from the start.
        is_kept = sys.stdout is sys.stderr and sys.__stdout__ is not None
        self._stream: TextIO = sys.__stdout__ if is_kept else sys.stdout  # type: ignore[assignment]
        sys.stdout = sys.stderr

    def write(self, line: str) -> None:
        """Write a line and flush; raises BrokenPipeError when the reader has gone."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def give_back(self) -> None:
        """Let others write to it again."""
        sys.stdout = self._before


class Lines:
    """Writes each event as one line, at once."""

    def __init__(self) -> None:
        self._output = Output()

    def show(self, event: Event) -> None:
        """Write an event and flush; raises BrokenPipeError when the reader has gone."""
        line = {"type": event.kind, "at": event.at, "call_id": event.call_id}
        self._output.write(encoded({**line, **event.data, **line}))

    def close(self) -> None:
        """Leave nothing behind: each line was flushed."""
        self._output.give_back()


class Summary:
    """Writes what the run came to, as one object at the end."""

    def __init__(self) -> None:
        self._output = Output()
        self._report: Mapping[str, Any] | None = None

    def show(self, event: Event) -> None:
        """Keep the latest report; a notice is for the person, on standard error."""
        if event.kind in ENDS:
            self._report = event.data
        elif event.kind == "notice":
            sys.stderr.write(f"nanocoder: {for_terminal(event.data['text'])}\n")

    def close(self) -> None:
        """Write the object; raises BrokenPipeError when the reader has gone."""
        self._output.give_back()
        if self._report is not None:
            self._output.write(encoded(self._report))


def open_lines(_info: SessionInfo, _settings: Any) -> Lines:
    """Open the screen "jsonl"."""
    return Lines()


def open_object(_info: SessionInfo, _settings: Any) -> Summary:
    """Open the screen "json"."""
    return Summary()
