"""Answers to approval requests, read from standard input: one JSON object a line.

Each line that is not a clear yes to exactly this request, in time, is a refusal.
"""

import os
import select
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import ApprovalAnswer, ApprovalRequest, BadArguments, Cancel, parse_json

MAX_LINE_BYTES: Final = 4_194_304
LOOK_S: Final = 0.1


class _NoAnswerError(Exception):
    """There is no answer; the message has the reason."""


def read_answer(request: ApprovalRequest, timeout_s: float, cancelled: Cancel) -> ApprovalAnswer:
    """Wait for the line that answers *request*, at most *timeout_s* seconds.

    The wait ends as soon as *cancelled* is set. Lines with another request's id are late or early,
    so they are ignored.
    """
    deadline = time.monotonic() + timeout_s
    try:
        while True:
            values = _parse(_read_line(deadline, timeout_s, cancelled))
            if values.get("id") == request.id:
                return _answer(request, values)
    except _NoAnswerError as error:
        return _refuse(request, str(error))


def _answer(request: ApprovalRequest, values: Mapping[str, Any]) -> ApprovalAnswer:
    arguments, reason, digest = (values.get(name) for name in ("arguments", "reason", "digest"))
    actor = values.get("actor")
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
        actor=actor if isinstance(actor, str) else "",
        scope=values.get("scope", ""),
        lasts_s=values.get("lasts_s", 0.0),
        uses=values.get("uses", 0),
        group=_group(request, values.get("group")),
    )


def _group(request: ApprovalRequest, answers: Any) -> tuple[ApprovalAnswer, ...]:
    """Return the answers to requests of the request's group; others are ignored."""
    by_id = {each.id: each for each in request.group}
    rows = answers if isinstance(answers, list) else ()
    sound = [row for row in rows if isinstance(row, dict) and row.get("id") in by_id]
    return tuple(_answer(by_id[row["id"]], row) for row in sound)


def _refuse(request: ApprovalRequest, why: str) -> ApprovalAnswer:
    return ApprovalAnswer(request.id, request.digest, approved=False, reason=why)


def _parse(line: bytes) -> Mapping[str, Any]:
    try:
        values = parse_json(line.decode("utf-8"))
    except (BadArguments, UnicodeDecodeError) as error:
        raise _NoAnswerError("the answer is not JSON") from error
    if not isinstance(values, dict) or "id" not in values:
        raise _NoAnswerError("the answer is not a JSON object with an id")
    return values


def _read_line(deadline: float, timeout_s: float, cancelled: Cancel) -> bytes:
    """Return the next line, read byte by byte, since later bytes are for the next request."""
    if sys.stdin is None:
        raise _NoAnswerError("there is no standard input to answer on")
    descriptor = sys.stdin.fileno()
    line = bytearray()
    while len(line) < MAX_LINE_BYTES:
        # A signal only sets *cancelled*, which does not wake select; so the wait is short.
        while not select.select([descriptor], [], [], LOOK_S)[0]:
            if cancelled.is_set():
                raise _NoAnswerError("interrupted")
            if time.monotonic() >= deadline:
                raise _NoAnswerError(f"no answer came within {timeout_s:g} s")
        byte = os.read(descriptor, 1)
        if not byte:
            raise _NoAnswerError("standard input ended before an answer")
        if byte == b"\n":
            return bytes(line)
        line += byte
    raise _NoAnswerError(f"the answer is longer than {MAX_LINE_BYTES:,} bytes")
