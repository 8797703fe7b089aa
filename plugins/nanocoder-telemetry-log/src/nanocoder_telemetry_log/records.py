"""Events become lines of the log: which keys of an event are written, and how important it is."""

from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final

from nanocoder import Event, SessionInfo, one_line
from nanocoder_kit_files.redact import Redactor

LEVEL_OF: Final[Mapping[str, str]] = {
    "call.approved": "info",
    "call.denied": "warning",
    "call.failed": "warning",
    "call.returned": "info",
    "plugin.failed": "error",
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
    *("stage", "status", "stop_reason", "truncated", "turn", "turns", "usage"),
)
"""The keys of an event's data that are written, without texts of a user, a model or a tool."""
UNKNOWN: Final = "unknown"
"""The name of a tool that does not exist: a model may have put anything there."""
TEXTS: Final = ("message", "reason", "text")
TEXT_CHARS: Final = 500
REDACTOR: Final = Redactor()


def record_of(
    event: Event, session: SessionInfo, tools: MutableMapping[str, str], *, has_texts: bool
) -> dict[str, Any]:
    """Return the line of *event*; *has_texts* adds reasons and messages, without secrets.

    *tools* has the tools of the calls to existing tools, by the call's id.
    """
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
        "tool": _tool_of(event, tools),
    }
    if has_texts:
        texts = {**data, **({"message": error["message"]} if error.get("message") else {})}
        record |= {key: _safe(texts[key]) for key in TEXTS if isinstance(texts.get(key), str)}
    return {key: value for key, value in record.items() if value not in ("", None)}


def _tool_of(event: Event, tools: MutableMapping[str, str]) -> str:
    """Return the tool of an event, or "" if it has none or it is not known yet."""
    if event.kind == "call.normalised":
        tools[event.call_id] = event.data["tool"]
    if "tool" not in event.data or event.kind == "call.received":
        return ""
    if event.kind == "call.returned":
        return tools.pop(event.call_id, UNKNOWN)
    return tools.get(event.call_id, UNKNOWN)


def _safe(text: str) -> str:
    return one_line(REDACTOR.redact(text), TEXT_CHARS)
