"""The result of a command that ended: text for the model, and the same as data."""

import signal
from collections.abc import Callable
from typing import Any, Final

from attrs import frozen
from nanocoder import OutputLimit, ToolResult

from nanocoder_tool_bash.capture import Capture, Stream
from nanocoder_tool_bash.condense import last_states
from nanocoder_tool_bash.process import Ended

DATA_CHARS: Final = 100_000  # of each stream in `data`, for dialects with larger outputs than ours
DATA_LIMIT: Final = OutputLimit.of(DATA_CHARS, DATA_CHARS, head=1 / 3)
MAX_CHARS: Final = 48_000  # nothing longer reaches a model
MAX_LINES: Final = 2_000
TITLE_CHARS: Final = 50
SIGNAL_BASE: Final = 128  # what a shell adds to the number of the signal that ended a program

Keep = Callable[[str, bytes], str]


@frozen
class Facts:
    """The facts of a call besides its output. *notes* are lines for the model."""

    command: str
    limit_s: float
    output_chars: int
    cwd_is_gone: bool
    notes: tuple[str, ...] = ()


@frozen
class Output:
    """One stream as the model reads it, and the file that holds all of it when that is less."""

    stream: Stream
    text: str
    artifact: str = ""
    is_whole: bool = True


def report(facts: Facts, ended: Ended, stdout: Capture, stderr: Capture, keep: Keep) -> ToolResult:
    """Make the result; *keep* stores a full output under a name and returns its path, or ""."""
    # Standard error gets the room that standard output leaves, and at least a third of it.
    chars = min(facts.output_chars, MAX_CHARS)
    first = stdout.stream()
    share = max(chars // 3, chars - first.size)
    err = _shorten("stderr.txt", stderr, share, max(MAX_LINES // 3, MAX_LINES - first.lines), keep)
    rest = max(0, chars - len(err.text))
    out = _shorten("stdout.txt", stdout, rest, MAX_LINES - err.text.count("\n"), keep)
    error_class = _error_class(facts, ended)
    return ToolResult(
        "\n".join(_lines(facts, ended, out, err)),
        title=f"Bash: {facts.command[:TITLE_CHARS]}",
        data=_data(ended, out, err),
        metadata=_metadata(facts, ended, out, err),
        is_error=bool(error_class),
        error_class=error_class,
        artifact=out.artifact or err.artifact,
    )


def _shorten(name: str, capture: Capture, chars: int, lines: int, keep: Keep) -> Output:
    stream = capture.stream()
    # More of the end: errors sit there.
    limit = OutputLimit.of(chars, lines, head=1 / 3)
    text = last_states(stream.text)
    if not stream.is_binary and not stream.tail and limit.holds(text):
        return Output(stream, text)
    where = keep(name, capture.everything())
    return Output(stream, stream.shorten(limit, where), where, is_whole=False)


def _lines(facts: Facts, ended: Ended, out: Output, err: Output) -> list[str]:
    lines = [out.text.rstrip("\n")] if out.text else []
    if err.text:
        lines += ["STDERR:", err.text.rstrip("\n")]
    notes = [_ending(facts, ended), *facts.notes]
    if ended.leftovers and not (ended.timed_out or ended.cancelled):
        names = ", ".join(ended.leftovers)
        notes.append(f"left running in the background, and ended with the call: {names}")
    if facts.cwd_is_gone:
        notes.append("the working directory no longer exists; name another one with workdir")
    lines += [f"[{note}]" for note in notes if note]
    return lines or ["(no output)"]


def _ending(facts: Facts, ended: Ended) -> str:
    if ended.timed_out:
        return f"timed out after {facts.limit_s:g} s and was ended; this is its output until then"
    if ended.cancelled:
        return "Command was aborted"
    if not ended.returncode:
        return ""
    code = _exit_code(ended)
    name = _signal_name(code - SIGNAL_BASE)
    if ended.returncode < 0:
        return f"ended by signal {name} ({code})"
    return f"exit code {code}, as after signal {name}" if name else f"exit code {code}"


def _error_class(facts: Facts, ended: Ended) -> str:
    if ended.timed_out:
        return "timeout"
    if ended.cancelled:
        return "cancelled"
    if facts.cwd_is_gone:
        return "cwd_missing"
    return "exit_nonzero" if ended.returncode else ""


def _data(ended: Ended, out: Output, err: Output) -> dict[str, Any]:
    return {
        "stdout": out.stream.clip(DATA_LIMIT, out.artifact),
        "stderr": err.stream.clip(DATA_LIMIT, err.artifact),
        "exit_code": _exit_code(ended),
        "duration_s": round(ended.duration_s, 3),
        "timed_out": ended.timed_out,
    }


def _metadata(facts: Facts, ended: Ended, out: Output, err: Output) -> dict[str, Any]:
    return {
        "command": facts.command,
        "exit_code": _exit_code(ended),
        "duration_s": round(ended.duration_s, 3),
        "timed_out": ended.timed_out,
        "truncated": not (out.is_whole and err.is_whole),
        "binary": out.stream.is_binary or err.stream.is_binary,
        "bytes": out.stream.size + err.stream.size,
        "artifacts": [output.artifact for output in (out, err) if output.artifact],
        "ended": list(ended.leftovers),
    }


def _exit_code(ended: Ended) -> int:
    """Return the code as a shell shows it: 128 and the number of the signal that ended it."""
    return ended.returncode if ended.returncode >= 0 else SIGNAL_BASE - ended.returncode


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
