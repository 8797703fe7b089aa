"""The two screens, which alone write to standard output.

While a screen is open, `sys.stdout` is standard error, so that no output of a plugin ends up
between two events.
"""

import sys
from collections.abc import Mapping
from typing import Any, TextIO

from nanocoder import Event, SessionInfo, for_terminal
from nanocoder_kit_files.redact import Redactor, redact_value

from nanocoder_ui_json.encoding import encode

ENDS = ("run.finished", "session.finished")


class Output:
    """Standard output, taken from all others until it is given back."""

    def __init__(self) -> None:
        self._before = sys.stdout
        # The command line may have replaced `sys.stdout` already, to divert plugins' output.
        is_replaced = sys.stdout is sys.stderr and sys.__stdout__ is not None
        self._stream: TextIO = sys.__stdout__ if is_replaced else sys.stdout  # type: ignore[assignment]
        sys.stdout = sys.stderr

    def write(self, line: str) -> None:
        """Write a line and flush; raises BrokenPipeError if the reader has closed the pipe."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def give_back(self) -> None:
        """Let others write to it again."""
        sys.stdout = self._before


class Lines:
    """Writes each event as one line, at once."""

    def __init__(self) -> None:
        self._output = Output()
        self._redactor = Redactor()

    def show(self, event: Event) -> None:
        """Write an event and flush; raises BrokenPipeError if the reader has closed the pipe."""
        line = {"type": event.kind, "at": event.at, "call_id": event.call_id}
        # A model writes no secret in its pieces that it has not read, and there are many of them.
        is_piece = event.kind.endswith(".delta")
        data = event.data if is_piece else redact_value(event.data, self._redactor)
        self._output.write(encode({**line, **data, **line}))

    def close(self) -> None:
        """Give standard output back; each line was flushed."""
        self._output.give_back()


class Summary:
    """Writes the report of the run as one object at its end."""

    def __init__(self) -> None:
        self._output = Output()
        self._report: Mapping[str, Any] | None = None

    def show(self, event: Event) -> None:
        """Store the latest report; write notices for the user to standard error."""
        if event.kind in ENDS:
            self._report = event.data
        elif event.kind == "notice":
            sys.stderr.write(f"nanocoder: {for_terminal(event.data['text'])}\n")

    def close(self) -> None:
        """Write the object; raises BrokenPipeError if the reader has closed the pipe."""
        self._output.give_back()
        if self._report is not None:
            self._output.write(encode(redact_value(self._report, Redactor())))


def open_lines(_info: SessionInfo, _settings: Any) -> Lines:
    """Open the screen "jsonl"."""
    return Lines()


def open_object(_info: SessionInfo, _settings: Any) -> Summary:
    """Open the screen "json"."""
    return Summary()
