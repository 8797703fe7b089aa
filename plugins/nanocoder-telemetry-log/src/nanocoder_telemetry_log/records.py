"""Events become lines of the log: which keys of an event are written, and how important it is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from nanocoder import Event, SessionInfo, one_line
from nanocoder_kit_redact import Redactor

LEVEL_OF: Final[Mapping[str, str]] = {
    "call.approved": "info",
    "call.denied": "warning",
    "call.failed": "warning",
    "call.returned": "info",
    "request.finished": "info",
    "request.retrying": "warning",
    "run.finished": "info",
    "run.started": "info",
    "session.changed": "info",
    "session.finished": "info",
    "session.started": "info",
    "telemetry.failed": "error",
    "transcript.compacted": "info",
}
KEYS: Final = (
    *("after_tokens", "artifact", "asked_ms", "attempt", "before_tokens", "cost", "decision"),
    *("delay_s", "duration_ms", "error_class", "mode", "model", "of", "part", "plugin"),
    *("position", "queued_ms", "ran_ms", "resumed", "risk", "rule", "sandbox", "scope"),
    *("stage", "status", "stop_reason", "tool", "truncated", "turn", "turns", "usage"),
)
"""The keys of an event's data that are written: no text of a person, a model or a tool."""
TEXTS: Final = ("message", "reason", "text")
TEXT_CHARS: Final = 500
REDACTOR: Final = Redactor()


def record_of(event: Event, session: SessionInfo, *, has_texts: bool) -> dict[str, Any]:
    """Return the line of *event*; *has_texts* adds reasons and messages, without secrets."""
    data = event.data
    error = data.get("error") or {}
    record = {
        "at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds"),
        "level": "error" if error else LEVEL_OF.get(event.kind, "debug"),
        "event": event.kind,
        "session": session.id,
        "parent": session.parent,
        "agent": session.agent,
        "call": event.call_id,
        "error": error.get("class", ""),
        **{key: data[key] for key in KEYS if key in data},
    }
    if has_texts:
        texts = {**data, **({"message": error["message"]} if error.get("message") else {})}
        record |= {key: _safe(texts[key]) for key in TEXTS if isinstance(texts.get(key), str)}
    return {key: value for key, value in record.items() if value not in ("", None)}


def _safe(text: str) -> str:
    return one_line(REDACTOR.redact(text), TEXT_CHARS)
