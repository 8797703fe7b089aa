"""Answers to approval requests, read from standard input: one JSON object a line.

Everything that is not a clear yes to exactly this request, in time, is a refusal.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from nanocoder import ApprovalAnswer, ApprovalRequest, BadArguments, parse_json

MAX_LINE_BYTES: Final = 4_194_304


class _NoAnswerError(Exception):
    """The message says why there is none."""


class _InterruptedError(BaseException):
    """A signal came while we waited; no `except Exception` may swallow it."""


def answer_to(request: ApprovalRequest, timeout_s: float) -> ApprovalAnswer:
    """Wait for the line that answers *request*, at most *timeout_s* seconds.

    Lines with another request's id are late or early and are passed over.
    """
    deadline = time.monotonic() + timeout_s
    try:
        with _interruptible():
            while True:
                values = _parsed(_line(deadline, timeout_s))
                if values.get("id") == request.id:
                    return _answer(request, values)
    except _NoAnswerError as error:
        return _refusal(request, str(error))
    except _InterruptedError:
        return _refusal(request, "interrupted")


def _answer(request: ApprovalRequest, values: Mapping[str, Any]) -> ApprovalAnswer:
    arguments, reason, digest = (values.get(name) for name in ("arguments", "reason", "digest"))
    if arguments is not None and not isinstance(arguments, dict):
        raise _NoAnswerError("the answer's arguments are not an object")
    if not isinstance(digest, str):
        raise _NoAnswerError("the answer has no digest")
    return ApprovalAnswer(
        id=request.id,
        digest=digest,
        approved=values.get("approved") is True,
        reason=reason if isinstance(reason, str) else "",
        arguments=arguments,
        always=values.get("always") is True,
    )


def _refusal(request: ApprovalRequest, why: str) -> ApprovalAnswer:
    return ApprovalAnswer(request.id, request.digest, approved=False, reason=why)


def _parsed(line: bytes) -> Mapping[str, Any]:
    try:
        values = parse_json(line.decode("utf-8"))
    except (BadArguments, UnicodeDecodeError) as error:
        raise _NoAnswerError("the answer is not JSON") from error
    if not isinstance(values, dict) or "id" not in values:
        raise _NoAnswerError("the answer is not a JSON object with an id")
    return values


def _line(deadline: float, timeout_s: float) -> bytes:
    """Return the next line. Byte by byte: what stands behind it belongs to the next request."""
    if sys.stdin is None:
        raise _NoAnswerError("there is no standard input to answer on")
    descriptor = sys.stdin.fileno()
    line = bytearray()
    while len(line) < MAX_LINE_BYTES:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise _NoAnswerError(f"nobody answered within {timeout_s:g} s")
        byte = os.read(descriptor, 1)
        if not byte:
            raise _NoAnswerError("standard input ended before an answer")
        if byte == b"\n":
            return bytes(line)
        line += byte
    raise _NoAnswerError(f"the answer is longer than {MAX_LINE_BYTES:,} bytes")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a signal end the wait, and then do what it does elsewhere: stop the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: Any) -> None:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        raise _InterruptedError

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
