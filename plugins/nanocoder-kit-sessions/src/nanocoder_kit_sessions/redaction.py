"""Redaction of journals on disk: keys, tokens and passwords in messages and calls.

A resumed session reads placeholders instead of secrets. Undo is not affected: it restores copies
of the files, and does not use the calls in the journal.
"""

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve
from nanocoder_kit_files.redact import Redactor, SecretFoundError, redact_value

from nanocoder_kit_sessions.records import Record, long_texts

REDACTED: Final = frozenset(
    (
        *("message", "notice", "run.started", "run.steered", "run.finished", "telemetry.failed"),
        *("call.started", "call.finished", "call.edited", "call.denied", "transcript.compacted"),
        "session.finished",
    )
)
"""Kinds of records with text; the others have paths of files, which must not change."""


def without_secrets(record: Record, redactor: Redactor) -> Record:
    """Return *record* without secrets, the very same if it has none."""
    if record.kind not in REDACTED:
        return record
    data = _without_secrets(record.data, redactor)
    return record if data is record.data else evolve(record, data=data)


def line_without_secrets(record: Record, redactor: Redactor) -> bytearray:
    """Return *record* without secrets as a line of a journal."""
    if record.kind not in REDACTED:
        return record.line()
    try:
        # One walk encodes and checks; nearly all records have no secret.
        if not any(map(redactor.holds_secret, long_texts(record.data).values())):
            return record.line(redactor.json_of)
    except SecretFoundError:
        pass
    return without_secrets(record, redactor).line()


def _without_secrets(data: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    if "messages" in data:
        messages = [_message(message, redactor) for message in data["messages"]]
        data = {**data, "messages": messages}
    return _message(data, redactor)


def _message(data: Mapping[str, Any], redactor: Redactor) -> Mapping[str, Any]:
    """Return a message, or other data, without secrets.

    A provider rejects changed signed content, so a message with a secret in it loses that content.
    """
    redacted: Mapping[str, Any] = redact_value(data, redactor)
    if "native" in data and redacted["native"] is not data["native"]:
        return {**redacted, "native": None}
    return redacted
