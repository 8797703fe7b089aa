"""The result of a command that ended: text for the model, and the same as data."""

import re
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from attrs import frozen
from nanocoder import OutputLimit, ToolResult

from nanocoder_tool_bash.capture import Capture, Stream
from nanocoder_tool_bash.frames import last_states
from nanocoder_tool_bash.process import Ended

DATA_CHARS: Final = 100_000  # of each stream in `data`, for dialects with larger outputs than ours
DATA_LIMIT: Final = OutputLimit.of(DATA_CHARS, DATA_CHARS, head=1 / 3)
MAX_CHARS: Final = 48_000  # nothing longer reaches a model
MAX_LINES: Final = 2_000
TITLE_CHARS: Final = 50
LEFT: Final = "left running in the background"
"""Prefix of a note about processes that ended with the call; a sandbox uses the same words."""
KEEP_RUNNING: Final = "a server or other work that should go on: call again with background: true"
NO_INPUT: Final = (
    "no output; its input is empty: a program that reads input needs a script, a file or a pipe"
)
ASKS: Final = "it asked for input and got none: answer by its options, or by a pipe"
PROMPT: Final = re.compile(r"[?:>\])] +\Z")
"""The end of a text that asks: a mark and a blank, where an answer would be typed."""
NOT_FOUND: Final = re.compile(r"(?<![^\s:])(\w+): (?:command )?not found$", re.MULTILINE)
"""A shell's message about a program that does not exist."""
IS_TOOL: Final = (
    "{} is a tool and no program: call the tool {}, with what belongs to it as arguments"
)
STOPPED_BY: Final = {"interrupted": "the user"}
"""The actor that stopped a command, by the reason of the cancellation."""
SIGNAL_BASE: Final = 128  # a shell's exit code for a signal is this plus its number

Keep = Callable[[str, bytes], str]


@frozen
class Facts:
    """The facts of a call besides its output.

    *notes* are lines for the model, *stopped_by* is the reason of a cancellation, *tools* returns
    the names of the tools on offer.
    """

    command: str
    limit_s: float
    output_chars: int
    cwd_is_gone: bool
    notes: tuple[str, ...] = ()
    stopped_by: str = ""
    tools: Callable[[], Iterable[str]] = tuple


@frozen
class Output:
    """One stream as the model reads it, and the path of the whole output if it was cut."""

    stream: Stream
    text: str
    artifact: str = ""
    is_whole: bool = True


def report(facts: Facts, ended: Ended, stdout: Capture, stderr: Capture, keep: Keep) -> ToolResult:
    """Return the result; *keep* stores a full output under a name and returns its path, or ""."""
    # Standard error gets the characters that standard output leaves, at least a third of all.
    chars = min(facts.output_chars, MAX_CHARS)
    first = stdout.stream()
    share = max(chars // 3, chars - first.size)
    err = _shorten("stderr.txt", stderr, share, max(MAX_LINES // 3, MAX_LINES - first.lines), keep)
    rest = max(0, chars - len(err.text))
    out = _shorten("stdout.txt", stdout, rest, MAX_LINES - err.text.count("\n"), keep)
    named = _tool_as_program(facts, out, err)
    # A shell goes on after a program that does not exist, so its exit code may be 0.
    error_class = _error_class(facts, ended) or ("command_not_found" if named else "")
    notes = [IS_TOOL.format(*named)] if named else []
    return ToolResult(
        "\n".join(_lines(facts, ended, out, err, notes)),
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


def _tool_as_program(facts: Facts, out: Output, err: Output) -> tuple[str, str] | None:
    """Return a word of the command that a shell did not find, and the tool that it names."""
    missing = {name for each in (out, err) for name in NOT_FOUND.findall(each.text)}
    missing = {name for name in missing if name in facts.command}
    tools = {name.replace("_", ""): name for name in facts.tools()} if missing else {}
    words = ((name, tools.get(name.replace("_", "").lower(), "")) for name in sorted(missing))
    return next(((name, tool) for name, tool in words if tool), None)


def _lines(facts: Facts, ended: Ended, out: Output, err: Output, more: Iterable[str]) -> list[str]:
    lines = [out.text.rstrip("\n")] if out.text else []
    if err.text:
        lines += ["STDERR:", err.text.rstrip("\n")]
    notes = [_ending(facts, ended), *facts.notes, *more, *_advice(facts, ended, out, err)]
    if facts.cwd_is_gone:
        notes.append("the working directory no longer exists; name another one with workdir")
    return [*lines, *(f"[{note}]" for note in notes if note)] or ["(no output)"]


def _advice(facts: Facts, ended: Ended, out: Output, err: Output) -> Iterator[str]:
    """Yield advice for the next call."""
    if ended.leftovers and not ended.was_stopped:
        yield f"{LEFT}, and ended with the call: {', '.join(ended.leftovers)}"
    if (ended.leftovers and not ended.was_stopped) or f"[{LEFT}" in err.text:
        yield KEEP_RUNNING
    if any(PROMPT.search(output.text) for output in (out, err)):
        yield ASKS
    elif not (out.text or err.text or ended.returncode or len(facts.command.split()) > 1):
        yield NO_INPUT


def _ending(facts: Facts, ended: Ended) -> str:
    if ended.timed_out:
        return (
            f"timed out after {facts.limit_s:g} s and was ended; this is its output until then."
            " Work that takes longer: set timeout, or background: true"
        )
    if ended.cancelled:
        return f"stopped by {STOPPED_BY.get(facts.stopped_by, facts.stopped_by)}"
    if ended.needs_terminal:
        return (
            f"{ended.needs_terminal} waits for keys from a terminal, which a command does not have,"
            f" and was ended after {ended.duration_s:.0f} s: use a form of it that asks nothing,"
            " and the tools to read and edit files"
        )
    if not ended.returncode:
        return ""
    code = _exit_code(ended)
    name = _signal_name(code - SIGNAL_BASE)
    return f"exit code {code}, as after signal {name}" if name else f"exit code {code}"


def _error_class(facts: Facts, ended: Ended) -> str:
    if ended.timed_out:
        return "timeout"
    if ended.cancelled:
        return "cancelled"
    if ended.needs_terminal:
        return "needs_terminal"
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
