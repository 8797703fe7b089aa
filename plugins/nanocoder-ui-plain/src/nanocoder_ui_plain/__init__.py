"""A run as plain text, where no terminal shows it: in a pipe, in a file, under a build server."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from nanocoder import Event, Screen, SessionInfo, brief, for_terminal, hookimpl, one_line

COLUMNS: Final = 200
USUAL_COLUMNS: Final = 80
"""Assumed width of a terminal that does not report one."""
SENTENCES: Final[Mapping[str, str]] = {
    "notice": "text",
    "request.retrying": "message",
    "transcript.compacted": "message",
}
"""Events with one sentence for the user, and the key of the sentence."""
BLOCKED: Final[Mapping[str, str]] = {
    "approval_needed": "needed approval, and no person could give it",
    "denied": "was denied by a rule",
}
"""The reason a run was blocked, by its stop_reason."""


@hookimpl
def nanocoder_screens() -> list[Screen]:
    """Offer the screen that the core takes for text where no person is at a terminal."""
    return [Screen("plain", _open, "Plain text, for pipes and files.")]


def _open(info: SessionInfo, _settings: Any) -> "PlainText":
    return PlainText(info)


class PlainText:
    """The answer on stdout, earlier text and the tools' activity on stderr, without colours.

    A terminal gets a reply while it streams; a pipe gets it when it is complete, because a reply
    may break off, and its beginning may turn out to be thinking.
    """

    def __init__(self, info: SessionInfo) -> None:
        self._folder = info.cwd
        self._unchanged = info.changes_nothing_by
        self._ends_open = False
        self._waiting: list[str] = []
        self._passing = Passing()

    def show(self, event: Event) -> None:
        """Write text pieces, a line for each call, and at last which files changed."""
        if event.kind == "request.progress":
            self._passing.show(event.data["text"])
            return
        self._passing.end()
        if event.kind in {"text", "message", "request.retrying"}:
            self._take(event)
        if event.kind == "request.finished":
            self.close()
            if event.data["truncated"]:
                _say("the reply was cut off by the model's token limit")
        elif event.kind == "call.started":
            _chatter(f"- {event.data['tool']} {brief(event.data['arguments'])}")
        elif event.kind in SENTENCES:
            if not any(self._waiting):
                self.close()
            _say(event.data[SENTENCES[event.kind]])
        elif event.kind == "call.returned" and event.data["status"] != "ok":
            _chatter(event.data["output"])
        elif event.kind == "run.finished":
            self.close()
            self._show_changes(event.data)
            _show_block(event.data)

    def _show_changes(self, report: Mapping[str, Any]) -> None:
        """Write which files changed, or that none did: a model may well claim otherwise.

        A log has no word of an answer that only answers.
        """
        if report["files_changed"]:
            _chatter(f"changed {', '.join(report['files_changed'])} in {self._folder}")
        elif self._unchanged:
            _chatter(f"{self._unchanged}: nothing was changed")
        elif not report["untracked"] and _columns():
            _chatter("no file was changed")

    def close(self) -> None:
        """Print the reply and end its last line."""
        self._passing.end()
        self._print()
        if self._ends_open:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._ends_open = False

    def _take(self, event: Event) -> None:
        """Take a piece of a reply, all of it, or that it is asked for again."""
        if event.kind == "text":
            self._waiting.append(event.data["text"])
            if _is_terminal():
                self._print()
        elif event.kind == "request.retrying":
            self._waiting = []
        elif self._waiting and event.data["role"] == "assistant":
            self._waiting = [event.data.get("text", "")]
            if event.data.get("calls"):  # a remark on the way to the answer
                remark, self._waiting = self._waiting[0], []
                _write(for_terminal(remark).rstrip("\n"))

    def _print(self) -> None:
        text, self._waiting = "".join(self._waiting), []
        if text:
            # A file or a pipe often ends on a terminal; whole bytes are in --output json.
            sys.stdout.write(for_terminal(text))
            sys.stdout.flush()
            self._ends_open = not text.endswith("\n")


class Passing:
    """The line on stderr with the model's present activity, only on a terminal."""

    def __init__(self) -> None:
        self._columns = 0

    def show(self, text: str) -> None:
        """Replace the current line by *text*."""
        if columns := _columns():
            line = one_line(text, min(columns - 1, COLUMNS))
            with suppress(OSError, ValueError):
                sys.stderr.write(f"\r{line.ljust(self._columns)}")
                sys.stderr.flush()
            self._columns = len(line)

    def end(self) -> None:
        """Take the line away, with blanks: they work on every terminal."""
        if self._columns:
            with suppress(OSError, ValueError):
                sys.stderr.write(f"\r{' ' * self._columns}\r")
                sys.stderr.flush()
            self._columns = 0


def _is_terminal() -> bool:
    with suppress(OSError, ValueError, AttributeError):
        return sys.stdout.isatty()
    return False


def _columns() -> int:
    """Return the columns of the terminal at standard error, or 0 without one."""
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    return 0


def _show_block(report: Mapping[str, Any]) -> None:
    """Write the blocked tools if they are the reason for the end of the run."""
    reason = report.get("stop_reason", "")
    if reason in BLOCKED:
        refused = [row["tool"] for row in report["denials"] if row["status"] == reason]
        _say(f"{', '.join(dict.fromkeys(refused))} {BLOCKED[reason]}")


def _chatter(line: str) -> None:
    _write(one_line(line, COLUMNS))


def _write(text: str) -> None:
    if text:
        with suppress(OSError, ValueError):  # a closed stderr is no problem
            sys.stderr.write(f"{text}\n")


def _say(message: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(f"nanocoder: {for_terminal(message)}\n")
