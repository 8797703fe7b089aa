"""A call on the screen: a line while it runs, one when it ends, and the start of its result."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from attrs import define, evolve, frozen

from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut
from nanocoder_ui_terminal.text_lines import (
    TAB_COLUMNS,
    brief,
    clean,
    highlight_lines,
    message_lines,
    one_line,
)

MAX_DEPTH: Final = 6
INDENT: Final = "  "
NAME_COLUMNS: Final = 40
REASON_COLUMNS: Final = 300
MIN_BRIEF_COLUMNS: Final = 10
TAIL_CHARS: Final = 20_000
"""The last lines of an output are taken from this many characters."""
CLIPPED: Final = re.compile(r"^\[([\d,]{1,20}) lines? left out(?:; [^\n]*)?\]$", re.MULTILINE)
MINUTE_S: Final = 60
LONG_S: Final = 1.0
"""A shorter call shows its duration only where there is nothing else to show."""
PRECISE_S: Final = 10
STATUS_STYLES: Final = {"ok": "green", "error": "red"}
REFUSALS: Final = ("denied", "approval_needed")


@define
class Call:
    """A call that was received and has not returned."""

    tool: str
    arguments: Mapping[str, Any]
    depth: int = 0
    started: float = 0.0
    progress: str = ""
    approved: bool = False
    edited: bool = False
    output: str = ""

    def add_output(self, piece: str) -> None:
        """Take a piece of what the call prints while it runs; the end of it is kept."""
        self.output = (self.output + piece)[-TAIL_CHARS:]


class Limits(Protocol):
    """The settings that a screen reads."""

    @property
    def diff_lines(self) -> int: ...  # noqa: D102
    @property
    def output_lines(self) -> int: ...  # noqa: D102
    @property
    def live_lines(self) -> int: ...  # noqa: D102


@frozen
class LineLimits:
    """Limits of shown lines for a diff, a command's output and an error."""

    diff: int
    output: int
    error: int


def running_line(call: Call, spinner: str, terminal: Terminal) -> str:
    """Return the line of a call that runs."""
    words = [clock(time.monotonic() - call.started)]
    if call.progress:
        words.append(one_line(call.progress, NAME_COLUMNS))
    return _line(call, spinner, "  ".join(words), terminal, "dim")


def live_lines(call: Call, limit: int, terminal: Terminal) -> list[str]:
    """Return the last lines of what a running call has printed, each on one line of the screen."""
    indent = INDENT * (call.depth + 1)
    room = max(MIN_BRIEF_COLUMNS, terminal.width - len(indent))
    lines = call.output.rstrip("\r\n").split("\n")[-limit:] if call.output and limit else []
    return [indent + terminal.paint(_as_on_screen(line, room), "dim") for line in lines]


def _as_on_screen(line: str, columns: int) -> str:
    """Return *line* as a terminal would show it: a progress bar overwrites itself."""
    line = line.rstrip("\r").rpartition("\r")[2]
    return cut(clean(line[: 8 * columns]).expandtabs(TAB_COLUMNS), columns)


def returned_lines(
    call: Call, data: Mapping[str, Any], terminal: Terminal, limits: LineLimits
) -> list[str]:
    """Return the lines that stay: the outcome of a call and, below it, the lines that matter."""
    status = str(data["status"])
    sign = terminal.sign("call" if status == "ok" else "failed")
    style = STATUS_STYLES.get(status, "yellow")
    if status in REFUSALS:
        # The person or a rule wrote the reason, so all of it is shown.
        head = _line(call, terminal.paint(sign, style), "", terminal, style)
        reason = one_line(str(data["output"]), min(REASON_COLUMNS, terminal.width - 2))
        return [head, INDENT * (call.depth + 1) + terminal.paint(reason, style)]
    outcome = "  ".join(_outcome(call, data, status))
    words_style = "dim" if status == "ok" else style
    line = _line(
        _without_diff_arguments(call, data),
        terminal.paint(sign, style),
        outcome,
        terminal,
        words_style,
    )
    indent = INDENT * (call.depth + 1)
    return [
        line,
        *(indent + body_line for body_line in _body(call, data, status, terminal, limits)),
    ]


def clock(seconds: float) -> str:
    """Return a running time in whole seconds."""
    minutes, rest = divmod(int(seconds), MINUTE_S)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def duration(seconds: float) -> str:
    """Return a duration as a person reads it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE_S:
        return f"{seconds:.1f} s" if seconds < PRECISE_S else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), MINUTE_S)
    return f"{minutes} min {rest:02d} s"


def _line(call: Call, sign: str, tail: str, terminal: Terminal, style: str) -> str:
    """Return sign, name, arguments and, in *style*, the tail; never wider than the terminal."""
    name = one_line(call.tool, NAME_COLUMNS)
    indent = INDENT * call.depth
    used = columns_of(indent + name) + 3
    tail = cut(tail, max(0, terminal.width - used - MIN_BRIEF_COLUMNS - 2))
    room = terminal.width - used - (columns_of(tail) + 2 if tail else 0)
    arguments = brief(call.arguments, max(MIN_BRIEF_COLUMNS, room))
    head = f"{indent}{sign} {terminal.paint(name, 'bold')}"
    return "".join(
        [
            head,
            f" {arguments}" if arguments else "",
            f"  {terminal.paint(tail, style)}" if tail else "",
        ]
    )


def _without_diff_arguments(call: Call, data: Mapping[str, Any]) -> Call:
    """Leave out the arguments that a diff shows."""
    if data["metadata"].get("added") is None:
        return call
    return evolve(call, arguments=dict(list(call.arguments.items())[:1]))


def _outcome(call: Call, data: Mapping[str, Any], status: str) -> list[str]:
    """Return the words at the end of the line."""
    metadata = data["metadata"]
    words = ["edited"] if call.edited else []
    if metadata.get("exit_code"):
        words.append(f"exit {metadata['exit_code']}")
    elif status == "error":
        words.append(one_line(str(data["error_class"]).replace("_", " "), NAME_COLUMNS))
    elif metadata.get("added") is not None:
        words.append(f"+{metadata['added']} -{metadata.get('removed', 0)}")
    summary = metadata.get("summary")
    if status == "ok" and isinstance(summary, str) and summary:
        words.append(one_line(summary, NAME_COLUMNS))
    if call.started:
        seconds = time.monotonic() - call.started
        if seconds >= LONG_S or not words:
            words.append(duration(seconds))
    return words


def _body(
    call: Call, data: Mapping[str, Any], status: str, terminal: Terminal, limits: LineLimits
) -> Sequence[str]:
    metadata, output = data["metadata"], str(data["output"])
    diff = metadata.get("diff") or _diff_of_new(call, metadata)
    room = max(MIN_BRIEF_COLUMNS, terminal.width - len(INDENT) * (call.depth + 1))
    if status == "error" and "exit_code" not in metadata:
        return _message_lines(output, limits.error, room, terminal)
    if status == "error":
        return _last_lines(output, limits.error, room, terminal)
    if isinstance(diff, str) and diff and not call.approved:
        return _first_lines(_without_header(diff, call), limits.diff, room, terminal)
    if "exit_code" in metadata:
        return _last_lines(output, limits.output, room, terminal)
    note = metadata.get("shown")
    return _first_lines(note, limits.diff, room, terminal) if isinstance(note, str) and note else ()


def _without_header(diff: str, call: Call) -> str:
    """Return *diff* without the lines that name the file which the line of the call names."""
    path = next(iter(call.arguments.values()), "")
    return diff.removeprefix(f"--- a/{path}\n+++ b/{path}\n")


def _diff_of_new(call: Call, metadata: Mapping[str, Any]) -> str:
    """Return the content of a file that the call created, as a diff; "" when it is not known."""
    content = call.arguments.get("content")
    if not metadata.get("created") or not isinstance(content, str) or not content:
        return ""
    lines = content.removesuffix("\n").split("\n")
    return "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)])


def _first_lines(text: str, limit: int, room: int, terminal: Terminal) -> list[str]:
    lines = list(highlight_lines(text.rstrip("\n"), room, terminal))
    if len(lines) <= limit + 1:
        return lines
    return [*lines[:limit], _more_lines_note(len(lines) - limit, terminal)]


def _message_lines(text: str, limit: int, room: int, terminal: Terminal) -> list[str]:
    """Return the beginning of a message to people, which says first what is wrong."""
    lines = [terminal.paint(line, "dim") for line in message_lines(text.strip(), room)]
    if len(lines) <= limit + 1:
        return lines
    return [*lines[:limit], _more_lines_note(len(lines) - limit, terminal)]


def _last_lines(text: str, limit: int, room: int, terminal: Terminal) -> list[str]:
    text = text.rstrip("\n")
    lines = list(highlight_lines(text[-TAIL_CHARS:], room, terminal)) if text else []
    painted = [terminal.paint(line, "dim") for line in lines]
    if len(painted) <= limit + 1:
        return painted
    above = text[:-TAIL_CHARS].count("\n") + len(painted) - limit + _clipped_before(text)
    return [_more_lines_note(above, terminal), *painted[len(painted) - limit :]]


def _clipped_before(text: str) -> int:
    """Return the number of lines that the tool itself left out of its output."""
    counts = (int(count.replace(",", "")) for count in CLIPPED.findall(text))
    return sum(count - 1 for count in counts)


def _more_lines_note(count: int, terminal: Terminal) -> str:
    return terminal.paint(f"{terminal.sign('more')} {count:,} more lines", "dim")
