"""One call in one process: a line of JSON in, lines of JSON out, the last of which is the result.

In: `{"call": NAME, "arguments": {…}, "workspace": PATH}`. Out: any number of
`{"progress": TEXT}`, then `{"output": TEXT}` with optional `title`, `data`, `is_error` and
`error_class`.
"""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from attrs import frozen
from nanocoder import Cancel, Cancelled, ToolError, ToolResult, clip, one_line, parse_json

LOOK_S: Final = 0.05
PIECE_BYTES: Final = 65_536
STDERR_BYTES: Final = 2_000
SHOWN_CHARS: Final = 300
END_S: Final = 1.0
"""Timeout of a process to exit after its result, in seconds."""
KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "output": str,
    "title": str,
    "data": (dict, list, type(None)),
    "is_error": bool,
    "error_class": str,
}


@frozen
class Limits:
    """*timeout_s* seconds and *output_bytes* of standard output for one call; 0: no limit."""

    timeout_s: float
    output_bytes: int


class Crash(ToolError):
    """The process ended without a result."""

    error_class = "isolated_crash"


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    request: Mapping[str, Any],
    limits: Limits,
    cancelled: Cancel,
    progress: Callable[[str], None],
) -> ToolResult:
    """Run *argv* for one call and return its result; raises ToolError for any failure."""
    try:
        process = subprocess.Popen(
            list(argv),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        raise Crash(f"{argv[0]} cannot be started: {error.strerror}") from error
    with process:
        try:
            return _Exchange(process, limits, cancelled, progress).result(request)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class _Exchange:
    """Reads the messages of one process until its timeout."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        limits: Limits,
        cancelled: Cancel,
        progress: Callable[[str], None],
    ) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("the pipes of the process are missing")
        self._process = process
        self._limits = limits
        self._cancelled = cancelled
        self._progress = progress
        self._stdin = process.stdin
        self._out, self._err = process.stdout.fileno(), process.stderr.fileno()
        self._until = time.monotonic() + limits.timeout_s
        self._read_bytes, self._rest, self._stderr = 0, b"", b""

    def result(self, request: Mapping[str, Any]) -> ToolResult:
        with suppress(BrokenPipeError):  # it ended, or reads nothing: the answer has the reason
            self._stdin.write(json.dumps(request).encode() + b"\n")
            self._stdin.flush()
        while True:
            for line in self._lines():
                message = _message_of(line)
                if "progress" not in message:
                    self._wait_for_end()
                    return _result_of(message)
                self._progress(one_line(message["progress"], SHOWN_CHARS))

    def _lines(self) -> list[bytes]:
        """Return the lines that are complete now; raises ToolError when there are no more."""
        self._check()
        ready, _, _ = select.select([self._out, self._err], [], [], LOOK_S)
        if self._err in ready:
            piece = os.read(self._err, PIECE_BYTES)
            self._stderr = (self._stderr + piece)[-STDERR_BYTES:]
            if not piece and self._out not in ready:
                time.sleep(LOOK_S)  # it closed its standard error and continues
        if self._out not in ready:
            return []
        piece = os.read(self._out, PIECE_BYTES)
        if not piece:
            raise Crash(self._crash())
        self._read_bytes += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return lines

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled(self._cancelled.reason or "interrupted")
        if self._limits.timeout_s and time.monotonic() > self._until:
            message = f"no result came within {self._limits.timeout_s:g} s; the process was ended"
            raise ToolError(message, error_class="timeout")
        if self._limits.output_bytes and self._read_bytes > self._limits.output_bytes:
            raise ToolError(
                f"the process wrote more than {self._limits.output_bytes:,} bytes and was ended",
                error_class="output_too_large",
            )

    def _wait_for_end(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._stdin.close()
            self._process.wait(END_S)

    def _crash(self) -> str:
        code = self._process.wait() if self._process.poll() is None else self._process.returncode
        with suppress(OSError):
            os.set_blocking(self._err, False)
            self._stderr = (self._stderr + (os.read(self._err, PIECE_BYTES) or b""))[-STDERR_BYTES:]
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        why = f": {one_line(lines[-1], SHOWN_CHARS)}" if lines else ""
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process {ended} without a result{why}"


def _message_of(line: bytes) -> dict[str, Any]:
    """Return a line as an object of the protocol; raises ToolError (protocol_error)."""
    try:
        message = parse_json(line.decode())
    except (ValueError, ToolError) as error:
        raise _garbage(f"a line that is not JSON ({line[:60]!r})") from error
    if not isinstance(message, dict):
        raise _garbage("a line that is no object")
    if "progress" in message:
        if list(message) != ["progress"] or not isinstance(message["progress"], str):
            raise _garbage("a progress that is no text")
        return message
    if "output" not in message:
        raise _garbage("an object without output")
    for key, value in message.items():
        if key not in KEYS or not isinstance(value, KEYS[key]):
            raise _garbage(f"{key!r:.40} with the value {clip(repr(value), head=40, tail=10)}")
    return message


def _garbage(what: str) -> ToolError:
    message = f"the process broke the protocol and was ended: it wrote {what}"
    return ToolError(message, error_class="protocol_error")


def _result_of(message: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        message["output"],
        title=message.get("title", ""),
        data=message.get("data"),
        is_error=message.get("is_error", False),
        error_class=message.get("error_class", ""),
    )
