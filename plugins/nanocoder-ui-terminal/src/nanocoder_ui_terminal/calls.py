"""What a call looks like: a line while it runs, one when it is over, a little of its result."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import define, evolve, frozen

from nanocoder_ui_terminal.lines import brief, one_line, shown_lines
from nanocoder_ui_terminal.terminal import Terminal, columns_of, cut

MAX_DEPTH: Final = 6
INDENT: Final = "  "
NAME_COLUMNS: Final = 40
REASON_COLUMNS: Final = 300
MIN_BRIEF_COLUMNS: Final = 10
TAIL_CHARS: Final = 20_000
"""So much of an output is looked at for its last lines."""
CLIPPED: Final = re.compile(r"^\[([\d,]{1,20}) lines? left out(?:; [^\n]*)?\]$", re.MULTILINE)
MINUTE_S: Final = 60
LONG_S: Final = 1.0
"""What takes less time says so only where there is nothing else to say."""
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


@frozen
class Shown:
    """How many lines of a diff, of a command's output and of an error are shown."""

    diff: int
    output: int
    error: int = 6


def running_line(call: Call, spinner: str, terminal: Terminal) -> str:
    """Return the line of a call that runs."""
    words = [clock(time.monotonic() - call.started)]
    if call.progress:
        words.append(one_line(call.progress, NAME_COLUMNS))
    return _line(call, spinner, "  ".join(words), terminal, "dim")


def returned_lines(
    call: Call, data: Mapping[str, Any], terminal: Terminal, shown: Shown
) -> list[str]:
    """Return what stays of a call: its outcome and, beneath, the lines that matter."""
    status = str(data["status"])
    sign = terminal.sign("call" if status == "ok" else "failed")
    style = STATUS_STYLES.get(status, "yellow")
    if status in REFUSALS:
        # The reason is the person's own, or a rule's: all of it matters.
        head = _line(call, terminal.paint(sign, style), "", terminal, style)
        reason = one_line(str(data["output"]), min(REASON_COLUMNS, terminal.width - 2))
        return [head, INDENT * (call.depth + 1) + terminal.paint(reason, style)]
    outcome = "  ".join(_outcome(call, data, status))
    words_style = "dim" if status == "ok" else style
    line = _line(_titled(call, data), terminal.paint(sign, style), outcome, terminal, words_style)
    indent = INDENT * (call.depth + 1)
    return [line, *(indent + one for one in _body(call, data, status, terminal, shown))]


def clock(seconds: float) -> str:
    """Return a time that goes on, in whole seconds."""
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
    """Return sign, name, what it is about, and in *style* the tail; never too long."""
    name = one_line(call.tool, NAME_COLUMNS)
    indent = INDENT * call.depth
    used = columns_of(indent + name) + 3
    tail = cut(tail, max(0, terminal.width - used - MIN_BRIEF_COLUMNS - 2))
    room = terminal.width - used - (columns_of(tail) + 2 if tail else 0)
    about = brief(call.arguments, max(MIN_BRIEF_COLUMNS, room))
    head = f"{indent}{sign} {terminal.paint(name, 'bold')}"
    return "".join(
        [head, f" {about}" if about else "", f"  {terminal.paint(tail, style)}" if tail else ""]
    )


def _titled(call: Call, data: Mapping[str, Any]) -> Call:
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
    call: Call, data: Mapping[str, Any], status: str, terminal: Terminal, shown: Shown
) -> Sequence[str]:
    metadata, output = data["metadata"], str(data["output"])
    diff = metadata.get("diff") or _diff_of_new(call, metadata)
    if status == "error":
        return _last_lines(output, shown.error, terminal)
    if isinstance(diff, str) and diff and not call.approved:
        return _first_lines(diff, shown.diff, terminal)
    if "exit_code" in metadata:
        return _last_lines(output, shown.output, terminal)
    told = metadata.get("shown")
    return _first_lines(told, shown.diff, terminal) if isinstance(told, str) and told else ()


def _diff_of_new(call: Call, metadata: Mapping[str, Any]) -> str:
    """Return the content of a file that the call created, as a diff; "" when it is not known."""
    content = call.arguments.get("content")
    if not metadata.get("created") or not isinstance(content, str) or not content:
        return ""
    lines = content.removesuffix("\n").split("\n")
    return "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)])


def _first_lines(text: str, limit: int, terminal: Terminal) -> list[str]:
    lines = list(shown_lines(text.rstrip("\n"), _room(terminal), terminal))
    if len(lines) <= limit + 1:
        return lines
    return [*lines[:limit], _left_out(len(lines) - limit, terminal)]


def _last_lines(text: str, limit: int, terminal: Terminal) -> list[str]:
    text = text.rstrip("\n")
    lines = list(shown_lines(text[-TAIL_CHARS:], _room(terminal), terminal)) if text else []
    kept = [terminal.paint(line, "dim") for line in lines]
    if len(kept) <= limit + 1:
        return kept
    above = text[:-TAIL_CHARS].count("\n") + len(kept) - limit + _clipped_before(text)
    return [_left_out(above, terminal), *kept[len(kept) - limit :]]


def _clipped_before(text: str) -> int:
    """Return how many lines of an output were left out before it came here."""
    counts = (int(count.replace(",", "")) for count in CLIPPED.findall(text))
    return sum(count - 1 for count in counts)


def _left_out(count: int, terminal: Terminal) -> str:
    return terminal.paint(f"{terminal.sign('more')} {count:,} more lines", "dim")


def _room(terminal: Terminal) -> int:
    return max(MIN_BRIEF_COLUMNS, terminal.width - len(INDENT) * (MAX_DEPTH + 1))
